"""The benchmark of shapes: its truths are true, and its figures are what they are called."""

from __future__ import annotations

import sys

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit
from sklearn.linear_model import LogisticRegression

from benchmarks.scoring import Draw, summarize
from benchmarks.shapes import SHAPES
from benchmarks.simulated_items import GAPS
from benchmarks.stress import draw, main, run


def counted_gap(made, labeler, group):
    """Return a labeler's gap by going through the rows one by one."""
    yes, all_of = {group: 0, "men": 0}, {group: 0, "men": 0}
    for whose, about, label, right in zip(
        made.labels["labeler"], made.labels["group"], made.labels["label"], made.right, strict=True
    ):
        if whose == labeler and about in yes and right == 1:
            yes[about] += label
            all_of[about] += 1
    return yes[group] / all_of[group] - yes["men"] / all_of["men"]


@pytest.mark.parametrize("name", SHAPES)
def test_the_truth_of_every_shape_is_what_counting_gives(name):
    made = draw(name, 0)
    assert len(made.right) == len(made.labels)
    row = made.truth.iloc[-1]
    assert row["gap"] == pytest.approx(counted_gap(made, row["labeler"], row["group"]))
    n_groups = made.labels["group"].nunique()
    assert len(made.truth) == made.labels["labeler"].nunique() * (n_groups - 1)


def test_the_same_number_gives_the_same_data_set():
    one, again, other = draw("xor", 1), draw("xor", 1), draw("xor", 2)
    pd.testing.assert_frame_equal(one.labels, again.labels)
    assert not one.labels.equals(other.labels)


def test_labels_scatter_round_the_tendency_they_are_drawn_from():
    truths = pd.concat([draw("few_discrete", number).truth for number in range(30)])
    by_labeler = truths.groupby("labeler")
    mean, error = by_labeler["gap"].mean(), by_labeler["gap"].std() / np.sqrt(30)
    tendency = by_labeler["tendency"].first()
    assert sorted(tendency) == sorted(GAPS)
    assert ((mean - tendency).abs() < 4 * error).all()


@pytest.mark.parametrize(("name", "share"), [("honeypots_third", 1 / 3), ("honeypots_half", 0.5)])
def test_gold_items_among_the_labels_have_the_right_answer_of_gold(name, share):
    made = draw(name, 0)
    answer = made.gold.set_index("item")["gold"]
    on_gold = made.labels["item"].isin(answer.index).to_numpy()
    np.testing.assert_array_equal(
        made.right[on_gold], answer.loc[made.labels["item"][on_gold]].to_numpy()
    )
    each = made.labels[on_gold].groupby("labeler").size()
    assert set(each) == {round(share * len(answer))}


def residual_correlation(name):
    """Return how much Y' - f and Y - g have in common among women, f and g being refitted.

    Merit is a line in the features, so both are logistic regressions.
    """
    ours = theirs = np.empty(0)
    for number in range(3):
        made = draw(name, number)
        rows = ((made.labels["group"] == "women") & (made.labels["labeler"] == "L6")).to_numpy()
        features = made.labels.loc[rows, [f"x{n}" for n in range(1, 7)]]
        left = []
        for target in (made.labels.loc[rows, "label"], made.right[rows]):
            model = LogisticRegression(C=1e6, max_iter=1000).fit(features, target)
            left.append(target - model.predict_proba(features)[:, 1])
        ours, theirs = np.append(ours, left[0]), np.append(theirs, left[1])
    return np.corrcoef(ours, theirs)[0, 1]


def test_given_the_features_labels_tell_about_right_answers_only_where_merit_is_hidden():
    assert abs(residual_correlation("plain")) < 0.08  # 2,250 rows: a standard error of 0.02
    assert residual_correlation("hidden_equal") > 0.2


def test_weights_make_chosen_gold_a_sample_of_the_labeled_items():
    made = draw("gold_mostly_positives_weighted", 0)
    assert made.gold["gold"].mean() == pytest.approx(0.7)
    weighted = np.average(made.gold["gold"], weights=made.gold["gold_weight"])
    assert weighted == pytest.approx(made.right.mean(), abs=0.01)
    made = draw("heavy_weights", 0)
    plain, weight = made.gold["x3"], made.gold["gold_weight"]
    assert plain.mean() < -0.8
    n_effective = weight.sum() ** 2 / (weight**2).sum()
    assert abs(np.average(plain, weights=weight)) < 4 / np.sqrt(n_effective)


def test_bars_are_placed_among_the_items_where_yes_is_right():
    # Two values of merit, half of the items each: both chances follow from two equations.
    made = draw("discrete_xor", 0)
    differ = (made.labels["x1"] != made.labels["x2"]).to_numpy()
    share_right = made.right[differ].mean()
    assert share_right == pytest.approx(expit(0.5 / 0.2), abs=0.02)
    men = (made.labels["group"] == "men").to_numpy() & (made.right == 1)
    assert made.labels["label"][men].mean() == pytest.approx(0.75, abs=0.02)


def findings(*rows):
    names = ["labeler", "group", "gap", "low", "high", "finding", "cause", "truth", "tendency"]
    return pd.DataFrame([("L", "women", *row) for row in rows], columns=names)


def test_the_summary_counts_what_it_says():
    one = findings(
        (-0.2, -0.25, -0.15, "biased", "", -0.05, -0.1),  # wrongly biased
        (-0.2, -0.25, -0.15, "biased", "", -0.2, -0.2),
        (0.0, -0.05, 0.05, "fair", "", 0.12, 0.05),  # wrongly fair, by luck of the labels
        (0.0, -0.05, 0.05, "fair", "", 0.1, 0.1),  # at the limit is not beyond it
    )
    other = findings(
        (-0.1, -0.2, 0.0, "inconclusive", "evidence", -0.05, 0.0),
        (-0.1, -0.2, 0.0, "inconclusive", "assumption", -0.3, -0.3),
    )
    found = summarize([Draw(one, {"fidelity": 0.5}, 1.0), Draw(other, {}, 3.0)])
    assert found["findings"] == 6
    assert (found["wrongly_biased"], found["wrongly_fair"]) == (1, 1)
    assert found["wrong"] == 2 / 4
    assert found["wrong_tendency"] == 1 / 4
    assert found["settled"] == pytest.approx(4 / 6)
    assert found["rightly"] == pytest.approx(2 / 6)
    assert found["coverage"] == pytest.approx(2 / 6)
    assert found["mae"] == pytest.approx((0.15 + 0 + 0.12 + 0.1 + 0.05 + 0.2) / 6)
    assert found["caught"] == pytest.approx(1 / 3)
    assert (found["evidence"], found["assumption"]) == (pytest.approx(1 / 6), pytest.approx(1 / 6))
    assert found["serious"] == "fidelity 50% of draws (25% of labelers)"


def test_one_draw_of_two_shapes_is_assessed_and_written_below_its_command(tmp_path, monkeypatch):
    output = tmp_path / "stress.csv"
    arguments = ["--only", "one_labeler", "few_gold", "--draws", "1", "--output", str(output)]
    monkeypatch.setattr(sys, "argv", ["stress", *arguments])
    main()
    assert output.read_text().startswith("# python -m benchmarks.stress --only one_labeler")
    assert "| few_gold | True |" in output.with_suffix(".md").read_text()
    table = pd.read_csv(output, comment="#").set_index("shape")
    assert table["findings"].to_dict() == {"few_gold": 8, "one_labeler": 1}
    found = run("one_labeler", 0).findings.iloc[0]
    assert table.loc["one_labeler", "mae"] == pytest.approx(
        abs(found["gap"] - found["truth"]), abs=1e-4
    )

"""What cannot be used is refused in one line that names the column, the value and the way out."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from mdba_checks.config import CheckConfig, Columns
from mdba_checks.errors import InputError
from mdba_checks.tables import load

CONFIG = CheckConfig()


def refusal(labels: object, gold: object, config: CheckConfig = CONFIG) -> str:
    with pytest.raises(InputError) as caught:
        load(labels, gold, config)  # type: ignore[arg-type]
    message = str(caught.value)
    assert "\n" not in message
    return message


def named(*parts: str, in_message: str) -> None:
    for part in parts:
        assert part in in_message, in_message


def test_a_missing_column_is_answered_with_the_nearest_name(
    labels: pd.DataFrame, gold: pd.DataFrame
) -> None:
    config = CheckConfig(columns=Columns(labeler="labeller"))
    message = refusal(labels, gold, config)
    named("labels", "'labeller'", "Did you mean 'labeler'?", "--labeler", in_message=message)
    message = refusal(labels, gold.rename(columns={"gold": "golden"}))
    named("gold has no", "'gold'", "'golden'", "--gold-label", in_message=message)
    config = CheckConfig(columns=Columns(item="items"))
    named("'items'", "Did you mean 'item'?", in_message=refusal(labels, gold, config))
    config = CheckConfig(columns=Columns(gold_weight="wieght"))
    named("'wieght'", in_message=refusal(labels, gold, config))


def test_the_item_column_that_is_found_by_its_name_cannot_have_another_role(
    labels: pd.DataFrame, gold: pd.DataFrame
) -> None:
    config = CheckConfig(columns=Columns(labeler="item"))
    renamed = labels.drop(columns="item", errors="ignore").rename(columns={"labeler": "item"})
    named("'item'", "labeler and item", in_message=refusal(renamed, gold, config))


def test_tables_without_rows_are_refused(labels: pd.DataFrame, gold: pd.DataFrame) -> None:
    assert refusal(labels.iloc[:0], gold) == "labels has no rows"
    assert refusal(labels, gold.iloc[:0]) == "gold has no rows"


def test_a_csv_file_with_a_header_only_is_refused(gold: pd.DataFrame, tmp_path: Path) -> None:
    (tmp_path / "labels.csv").write_text("labeler,label,group,age\n")
    assert refusal(tmp_path / "labels.csv", gold) == "labels has no rows"


@pytest.mark.parametrize("column", ["labeler", "label", "group"])
def test_missing_values_are_counted_and_the_first_row_is_named(
    column: str, labels: pd.DataFrame, gold: pd.DataFrame
) -> None:
    labels[column] = labels[column].astype(object)
    labels.loc[[4, 9, 11], column] = [None, np.nan, "  "]
    message = refusal(labels, gold)
    named(
        "labels", f"3 missing in column {column!r}", "row 5", "--drop-missing", in_message=message
    )


def test_missing_gold_values_are_refused_too(labels: pd.DataFrame, gold: pd.DataFrame) -> None:
    gold.loc[0, "gold"] = np.nan
    named("1 missing in column 'gold'", "row 1", in_message=refusal(labels, gold))


def test_incomplete_rows_are_dropped_and_reported_when_asked(
    labels: pd.DataFrame, gold: pd.DataFrame
) -> None:
    labels.loc[3, "label"] = np.nan
    labels.loc[[3, 8], "labeler"] = None
    labels.loc[20, ["labeler", "group", "label"]] = ["only here", None, np.nan]
    gold.loc[5, "gold"] = np.nan
    data = load(labels, gold, CheckConfig(drop_missing=True))
    assert (len(data.labels), len(data.gold), data.n_dropped) == (237, 79, 4)
    assert data.n_label_rows == 240
    assert set(range(240)) - set(data.labels.position) == {3, 8, 20}
    assert set(range(80)) - set(data.gold.position) == {5}
    assert "only here" not in data.labelers
    assert any("dropped 3 of 240" in m and "'labeler'" in m for m in data.messages)
    assert any("dropped 1 of 80" in m and "'gold'" in m for m in data.messages)


def test_dropping_every_row_is_refused(labels: pd.DataFrame, gold: pd.DataFrame) -> None:
    gold["gold"] = np.nan
    message = refusal(labels, gold, CheckConfig(drop_missing=True))
    named("gold has no rows left", "80 missing", "'gold'", in_message=message)


# --- Labels --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("zero", "one"),
    [(0, 1), (0.0, 1.0), (False, True), ("0", "1"), ("false", "TRUE"), ("0.0", "1.0")],
)
def test_labels_of_any_binary_spelling_mean_the_same(
    zero: object, one: object, labels: pd.DataFrame, gold: pd.DataFrame
) -> None:
    expected = load(labels, gold, CONFIG)
    labels["label"] = labels["label"].map({0: zero, 1: one})
    gold["gold"] = gold["gold"].map({0: zero, 1: one})
    data = load(labels, gold, CONFIG)
    np.testing.assert_array_equal(data.labels.decision, expected.labels.decision)
    np.testing.assert_array_equal(data.gold.correct, expected.gold.correct)


def test_named_labels_need_to_be_told_which_is_positive(
    labels: pd.DataFrame, gold: pd.DataFrame
) -> None:
    expected = load(labels, gold, CONFIG)
    labels["label"] = labels["label"].map({0: "reject", 1: "hire"})
    named("'label'", "'hire', 'reject'", "positive=", in_message=refusal(labels, gold))
    message = refusal(labels, gold, CheckConfig(positive="hired"))
    named("positive='hired'", "'hire', 'reject'", "'0', '1'", in_message=message)
    # Gold keeps its own spelling.
    data = load(labels, gold, CheckConfig(positive="hire"))
    np.testing.assert_array_equal(data.labels.decision, expected.labels.decision)
    np.testing.assert_array_equal(data.gold.correct, expected.gold.correct)


def test_positive_must_be_a_value_of_every_table_with_named_labels(
    labels: pd.DataFrame, gold: pd.DataFrame
) -> None:
    labels["label"] = labels["label"].map({0: "reject", 1: "hire"})
    gold["gold"] = gold["gold"].map({0: "bad", 1: "good"})
    message = refusal(labels, gold, CheckConfig(positive="hire"))
    named("'gold' of gold", "'bad', 'good'", "positive='hire'", in_message=message)


@pytest.mark.parametrize("positive", [0, "0", False])
def test_positive_zero_turns_both_tables_whatever_their_spelling(
    positive: object, labels: pd.DataFrame, gold: pd.DataFrame
) -> None:
    expected = load(labels, gold, CONFIG)
    gold["gold"] = gold["gold"].astype(bool)
    data = load(labels, gold, CheckConfig(positive=positive))
    assert data.labels.decision.sum() == (expected.labels.decision == 0).sum()
    assert data.gold.correct.sum() == (expected.gold.correct == 0).sum()


def test_a_single_label_value_is_fine_when_it_can_be_understood(
    labels: pd.DataFrame, gold: pd.DataFrame
) -> None:
    assert load(labels.assign(label=1), gold, CONFIG).labels.decision.all()
    gold["gold"] = gold["gold"].map({0: "reject", 1: "hire"})
    data = load(labels.assign(label="reject"), gold, CheckConfig(positive="hire"))
    assert not data.labels.decision.any()
    named("'reject'", in_message=refusal(labels.assign(label="reject"), gold))


def test_a_label_with_three_values_is_refused_with_examples(
    labels: pd.DataFrame, gold: pd.DataFrame
) -> None:
    labels.loc[0, "label"] = 2
    named("'label'", "has 3", "'0', '1', '2'", in_message=refusal(labels, gold))


def test_gold_needs_one_item_of_the_kind_the_metric_is_about(
    labels: pd.DataFrame, gold: pd.DataFrame
) -> None:
    named("'gold'", "no positive", "'tpr'", in_message=refusal(labels, gold.assign(gold=0)))
    message = refusal(labels, gold.assign(gold=1), CheckConfig(metric="fpr"))
    named("'gold'", "no negative", "'fpr'", in_message=message)
    assert load(labels, gold.assign(gold=0), CheckConfig(metric="tnr")).gold.correct.sum() == 0


# --- Groups --------------------------------------------------------------------------------------


def test_groups_must_be_in_both_tables(labels: pd.DataFrame, gold: pd.DataFrame) -> None:
    message = refusal(labels.replace({"group": {"men": "Men"}}), gold)
    named("'group' of labels", "'Men'", "gold", in_message=message)
    gold.loc[0, "group"] = "others"
    named("'group' of gold", "'others'", "labels", in_message=refusal(labels, gold))


def test_one_group_alone_cannot_be_compared(labels: pd.DataFrame, gold: pd.DataFrame) -> None:
    message = refusal(labels.assign(group="men"), gold.assign(group="men"))
    named("'group'", "'men'", "two are needed", in_message=message)


def test_a_reference_that_is_no_group_is_answered_with_the_nearest(
    labels: pd.DataFrame, gold: pd.DataFrame
) -> None:
    message = refusal(labels, gold, CheckConfig(reference="woman"))
    named("'woman'", "'group'", "Did you mean 'women'?", in_message=message)
    assert load(labels, gold, CheckConfig(reference="men")).reference == "men"


@pytest.mark.parametrize("reference", [True, "True", "true", "TRUE"])
def test_a_boolean_reference_is_found_in_any_spelling(
    reference: object, labels: pd.DataFrame, gold: pd.DataFrame
) -> None:
    for frame in (labels, gold):
        frame["group"] = frame["group"] == "women"
    data = load(labels, gold, CheckConfig(reference=reference))
    assert (data.groups, data.reference) == (("false", "true"), "true")


def test_a_group_column_of_measurements_is_refused() -> None:
    frame = pd.DataFrame(
        {"labeler": "a", "label": 1, "group": np.arange(1500), "x": [1, 2, 3] * 500}
    )
    gold = frame.rename(columns={"label": "gold"})
    named("'group'", "1500", "measurement", in_message=refusal(frame, gold))


# --- Weights -------------------------------------------------------------------------------------


def test_gold_weights_travel_with_their_rows_and_must_be_positive(
    labels: pd.DataFrame, gold: pd.DataFrame
) -> None:
    config = CheckConfig(columns=Columns(gold_weight="stands_for"))
    gold["stands_for"] = np.arange(1.0, 81.0)
    data = load(labels, gold, config)
    np.testing.assert_array_equal(data.gold.weight, data.gold.position + 1.0)
    assert "stands_for" not in data.features
    assert (load(labels, gold, CONFIG).gold.weight == 1).all()
    message = refusal(labels, gold.replace({"stands_for": {7.0: -2.0}}), config)
    named("'stands_for'", "row 7", "-2", in_message=message)
    named("'stands_for'", "text", in_message=refusal(labels, gold.assign(stands_for="x"), config))
    message = refusal(labels, gold.replace({"stands_for": {7.0: np.nan}}), config)
    named("1 missing in column 'stands_for'", "row 7", in_message=message)


# --- Features ------------------------------------------------------------------------------------


@pytest.mark.parametrize("value", [np.inf, -np.inf])
def test_infinite_values_are_refused_by_column_and_row(
    value: float, labels: pd.DataFrame, gold: pd.DataFrame
) -> None:
    gold.loc[[6, 9], "score"] = value
    named("'score' of gold", "2 infinite", "row 7", in_message=refusal(labels, gold))


def test_a_number_here_and_text_there_is_refused_with_the_odd_value(
    labels: pd.DataFrame, gold: pd.DataFrame
) -> None:
    gold["age"] = gold["age"].astype(str)
    gold.loc[3, "age"] = "NA"
    message = refusal(labels, gold)
    named(
        "'age'", "a number in labels", "text in gold", "'NA'", "missing_values", in_message=message
    )
    message = refusal(labels.assign(applied=1), gold.assign(age=30))
    named("'applied'", "a number in labels", "a date or time in gold", in_message=message)


def test_tables_that_share_no_feature_are_refused(labels: pd.DataFrame, gold: pd.DataFrame) -> None:
    assert "share no usable feature" in refusal(labels, gold[["gold", "group", "item"]])
    message = refusal(
        labels[["labeler", "label", "group"]].assign(note=None), gold.assign(note=None)
    )
    named("share no usable feature", "'note'", in_message=message)


def test_a_feature_asked_for_by_name_must_be_in_both_tables(
    labels: pd.DataFrame, gold: pd.DataFrame
) -> None:
    message = refusal(labels, gold, CheckConfig(features=("agee",)))
    named("labels", "'agee'", "Did you mean 'age'?", in_message=message)
    message = refusal(labels, gold.drop(columns="age"), CheckConfig(features=("age",)))
    named("gold has no", "'age'", in_message=message)
    message = refusal(labels, gold, CheckConfig(features=("age", "group")))
    named("'group'", "another role", in_message=message)


def test_a_ragged_row_is_named_by_its_number_and_not_quoted(
    gold: pd.DataFrame, tmp_path: Path
) -> None:
    rows = "labeler,label,group,age\nann,1,w,3\nsecret-name,1,w\n"
    (tmp_path / "labels.csv").write_text(rows)
    message = refusal(tmp_path / "labels.csv", gold)
    named("Row #3", "Expected 4 columns, got 3", in_message=message)
    assert "secret-name" not in message


@pytest.mark.parametrize("twin", ["Ann", "ann ", " an n", "ａｎｎ", "ANN"])
def test_names_that_look_alike_are_different_people_and_that_is_said(
    labels: pd.DataFrame, gold: pd.DataFrame, twin: str
) -> None:
    assert not [each for each in load(labels, gold, CONFIG).messages if "look alike" in each]
    rows = labels.index[labels["labeler"] == "ann"][::2]
    labels.loc[rows, "labeler"] = twin
    loaded = load(labels, gold, CONFIG)
    assert {"ann", twin} <= set(loaded.labelers)
    (said,) = (each for each in loaded.messages if "look alike" in each)
    named("'labeler'", "'ann'", repr(twin), in_message=said)
    hidden = load(labels, gold, CheckConfig(pseudonymize=True))
    (said,) = (each for each in hidden.messages if "look alike" in each)
    assert "ann" not in said


def test_groups_that_look_alike_are_compared_and_that_is_said(
    labels: pd.DataFrame, gold: pd.DataFrame
) -> None:
    for table in (labels, gold):
        table.loc[table.index[table["group"] == "men"][::2], "group"] = "Men"
    (said,) = (each for each in load(labels, gold, CONFIG).messages if "look alike" in each)
    named("'group'", "'Men' and 'men'", in_message=said)


@pytest.mark.parametrize("name", ["=1+1", "+cmd", "@sum", "-x", "\tx"])
def test_names_that_are_formulas_are_pointed_out(
    labels: pd.DataFrame, gold: pd.DataFrame, name: str
) -> None:
    labels["labeler"] = labels["labeler"].replace({"ann": "-7", "7": "+7.5"})
    assert not [each for each in load(labels, gold, CONFIG).messages if "formulas" in each]
    labels["labeler"] = labels["labeler"].replace({"-7": name})
    (said,) = (each for each in load(labels, gold, CONFIG).messages if "formulas" in each)
    named("'labeler'", repr(name), in_message=said)
    hidden = load(labels, gold, CheckConfig(pseudonymize=True))
    (said,) = (each for each in hidden.messages if "formulas" in each)
    assert repr(name) not in said

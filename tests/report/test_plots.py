from __future__ import annotations

import base64
import subprocess
import sys

import numpy as np
import pytest

from mdba_checks import Policy
from mdba_checks.errors import InputError
from mdba_checks.report.interval import COLOURS
from mdba_checks.report.plots import chance_biased, chance_fair, png_data_uri
from tests.report.builders import NASTY, SHARES, check, many

PNG = b"\x89PNG\r\n\x1a\n"


def names(axes) -> list[str]:
    return [label.get_text() for label in axes.get_yticklabels()]


def points(axes) -> list[float]:
    """Return where single marks stand, in the order of the rows."""
    marks = [line for line in axes.lines if len(line.get_xdata()) == 1]
    return [float(line.get_xdata()[0]) for line in marks]


def test_gaps_are_drawn_where_they_are_the_worst_first():
    (axes,) = check()[0].plot.gaps().axes
    assert names(axes) == ["Ada", "Cleo", "Ben"]
    assert points(axes) == pytest.approx([-0.4, -0.15, -0.01])


def test_rates_are_drawn_in_both_groups():
    (axes,) = check()[0].plot.rates().axes
    # The reference first, then the group, for each labeler.
    assert points(axes) == pytest.approx([0.6, 0.2, 0.65, 0.5, 0.51, 0.5])


def test_findings_have_their_colours_and_a_legend():
    figure = check()[0].plot.gaps()
    (axes,) = figure.axes
    marks = [line.get_color() for line in axes.lines if len(line.get_xdata()) == 1]
    assert marks == [COLOURS[each] for each in ("biased", "inconclusive", "fair")]
    assert [each.get_text() for each in figure.legends[0].texts] == [
        "biased",
        "inconclusive",
        "fair",
    ]


def test_every_group_has_a_panel():
    shares = {"Ada": {"a": (30, 100), "b": (60, 100), "c": (60, 100)}}
    figure = check(shares, reference=None)[0].plot.gaps()
    titles = {axes.get_title(loc="left") for axes in figure.axes}
    assert titles == {f"{each} compared with everyone else" for each in "abc"}


def test_a_name_is_no_formula_and_no_glyph_is_a_reason_to_stop():
    shares = dict.fromkeys([*NASTY, r"$\frac$", "李小龙", "🙂"], SHARES["Ada"])
    figure = check(shares)[0].plot.gaps()
    uri = png_data_uri(figure)
    assert base64.b64decode(uri.removeprefix("data:image/png;base64,")).startswith(PNG)


def test_a_notebook_shows_a_figure_as_it_is():
    figure = check()[0].plot.power()
    assert figure._repr_png_().startswith(PNG)


def test_more_rows_than_fit_are_left_out_and_that_is_said():
    (axes,) = many(60)[0].plot.gaps(max_rows=12).axes
    assert len(names(axes)) == 12
    assert axes.get_title(loc="right") == "the worst 12 of 60 comparisons"


def test_nothing_to_plot_is_said():
    assessment, _ = check({"Eve": {"women": (5, 40)}, "Ida": {"men": (5, 40)}})
    with pytest.raises(InputError, match="nothing to plot"):
        assessment.plot.power()


@pytest.mark.parametrize("gap", [0.0, 0.08, 0.15, 0.3])
def test_chances_are_those_of_drawn_estimates(gap):
    rng = np.random.default_rng(5)
    error, z, policy = 0.04, 1.645, Policy(max_gap=0.1)
    drawn = rng.normal(gap, error, 200_000)
    low, high = drawn - z * error, drawn + z * error
    biased = ((low > policy.max_gap) | (high < -policy.max_gap)).mean()
    fair = ((low >= -policy.max_gap) & (high <= policy.max_gap)).mean()
    at = np.array([gap])
    assert chance_biased(at, error, policy, z)[0] == pytest.approx(biased, abs=0.005)
    assert chance_fair(at, error, policy, z)[0] == pytest.approx(fair, abs=0.005)


def test_more_labels_make_a_gap_easier_to_find():
    plot = check()[0].plot
    now, later = plot.typical_error(), plot.typical_error(labels=4)
    # Shares of yes have no part from gold: four times the rows are half the standard error.
    assert later == pytest.approx(now / 2)
    assert len(plot.power().axes[0].lines) == 4


def test_without_matplotlib_the_report_works_and_plots_say_what_to_install():
    script = """
import sys
import mdba_checks.report
assert "matplotlib" not in sys.modules
sys.modules["matplotlib"] = sys.modules["matplotlib.figure"] = None
from mdba_checks.errors import MissingExtraError
from tests.report.builders import check
assessment, _ = check()
assert assessment.to_html().startswith("<!doctype html>")
assert "<svg" in assessment._repr_html_()
for name in ("gaps", "rates", "power"):
    try:
        getattr(assessment.plot, name)()
    except MissingExtraError as error:
        print(error)
"""
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=False
    )
    assert done.stderr == ""
    wanted = "plots needs an optional part: pip install 'mdba-checks[report]'"
    assert done.stdout.splitlines() == [wanted] * 3

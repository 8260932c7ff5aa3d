"""Four drawings of one interval: each lies where the numbers say, on its side of every limit."""

from __future__ import annotations

import math
import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.figure import Figure

from mdba_checks.findings import SEVERITY
from mdba_checks.report import COLOURS, Axis, Interval

NOTHING = Interval(math.nan, math.nan, math.nan, "inconclusive", tested=False)
CASES = [
    (-0.5, -0.3, -0.2, "biased"),
    (-0.2, 0.0, 0.3, "inconclusive"),
    (0.02, 0.08, 0.12, "borderline"),
    (-0.05, 0.01, 0.04, "fair"),
]


def made(low: float, gap: float, high: float, finding: str = "fair") -> Interval:
    return Interval(gap, low, high, finding)


@given(
    ends=st.tuples(st.floats(-1, 1), st.floats(-1, 1)).map(sorted),
    share=st.floats(0, 1),
    limit=st.sampled_from([0.0, 0.02, 0.1, 0.35, 0.9]),
    width=st.integers(11, 61),
)
def test_the_text_never_contradicts_the_numbers(ends, share, limit, width):
    low, high = ends
    gap = low + share * (high - low)
    axis = Axis.over([gap, low, high], limit)
    drawn = made(low, gap, high).text(axis, width)
    empty = NOTHING.text(axis, width)
    first, zero, last = (empty.index(sign) for sign in "├┼┤")
    assert len(drawn) == len(empty) == width
    assert first < zero < last
    filled = [column for column, sign in enumerate(drawn) if sign in "━●┿"]
    begin, end = filled[0], filled[-1]
    assert (begin < first) == (low < -limit)
    assert (begin > last) == (low > limit)
    assert (end < first) == (high < -limit)
    assert (end > last) == (high > limit)
    assert begin <= drawn.index("●") <= end


def test_without_unicode_the_same_columns_are_used():
    axis = Axis.over([-0.5, 0.3], 0.1)
    signs = str.maketrans("├┼┤─┿━●", "|+|-|=o")
    for case in CASES:
        drawn = made(*case)
        assert drawn.text(axis, 40).translate(signs) == drawn.text(axis, 40, unicode=False)


@pytest.mark.parametrize("case", CASES)
def test_svg_matplotlib_and_spans_put_the_ends_where_the_text_does(case):
    """Text is exact to a column, spans and SVG to a part of a percent, matplotlib to the number."""
    low, gap, high, finding = case
    axis, drawn = Axis.over([-0.5, 0.5], 0.1), made(*case)
    expected = [100 * (value + 0.5) / 1.0 for value in (low, high, gap)]  # the axis is 1 wide

    line = re.search(r'<line x1="([\d.]+)%" x2="([\d.]+)%"', drawn.svg(axis, 11))
    marker = re.search(r'<svg x="([\d.]+)%"', drawn.svg(axis, 11))
    assert [float(line[1]), float(line[2]), float(marker[1])] == pytest.approx(expected, abs=0.006)

    spans = re.findall(r"left:([\d.]+)%;width:([\d.]+)(%|px)", drawn.spans(axis))
    tolerated, zero, bar, point = [(float(left), float(width)) for left, width, _ in spans]
    assert tolerated == (40.0, 20.0)
    assert zero[0] == 50.0
    assert [bar[0], sum(bar), point[0]] == pytest.approx(expected, abs=0.11)

    axes = Figure().subplots()
    drawn.plot(axes, 3)
    whisker, mark = axes.lines
    np.testing.assert_array_equal(whisker.get_xdata(), [low, high])
    np.testing.assert_array_equal([*mark.get_xdata(), *mark.get_ydata()], [gap, 3])
    assert mark.get_color() == COLOURS[finding]

    columns = [round(place / 100 * 100) for place in expected]  # of 101
    text = drawn.text(axis, 101)
    filled = [column for column, sign in enumerate(text) if sign in "━●┿"]
    assert [filled[0], filled[-1], text.index("●")] == columns


def test_every_finding_has_a_look_of_its_own():
    axis = Axis.over([], 0.1)
    looks = {each: made(0.0, 0.01, 0.02, each).svg(axis, 1) for each in SEVERITY}
    assert len(set(looks.values())) == len(SEVERITY)
    assert all(COLOURS[each] in look for each, look in looks.items())


def test_what_was_not_tested_is_dashed():
    axis = Axis.over([], 0.1)
    row = {"gap": 0.0, "ci_low": -0.1, "ci_high": 0.1, "finding": "inconclusive", "p_value": None}
    assert Interval.of(row).svg(axis, 1).count("stroke-dasharray") == 2
    assert "dasharray" not in Interval.of(row | {"p_value": 0.3}).svg(axis, 1)


def test_without_numbers_only_the_limits_are_drawn():
    axis = Axis.over([], 0.1)
    assert NOTHING.svg(axis, 1) == ""
    assert NOTHING.spans(axis).count("<span") == 3  # the frame, what is tolerated, zero
    assert set(NOTHING.text(axis, 21)) <= set(" ├─┼┤")
    without_ends = Interval(0.05, math.nan, math.nan, "inconclusive")
    assert without_ends.text(axis, 21).count("●") == 1
    assert "whisker" not in without_ends.svg(axis, 1)


def test_ticks_are_round_and_inside():
    axis = Axis.over([-0.62, 0.1], 0.1, room=0.03)
    assert axis.ticks == pytest.approx([-0.6, -0.4, -0.2, 0.0])
    assert Axis.over([], 0.09).ticks == pytest.approx([-0.1, -0.05, 0.0, 0.05, 0.1])

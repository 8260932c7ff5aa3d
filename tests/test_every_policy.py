"""Every combination of settings, in every situation, is decided as the documents say."""

from __future__ import annotations

from itertools import product

import pytest

from mdba_checks import gate
from mdba_checks.findings import BIASED, BORDERLINE, FAIR, INCONCLUSIVE
from tests.situations import EXIT, FACTORS, assessed, by_the_book, settings


def test_the_situations_are_what_they_are_called():
    found = {
        name: [set(table["finding"]) for table in (each.gaps, each.overall) if table is not None]
        for name in FACTORS["situation"]
        for each in [assessed(name)]
    }
    assert found == {
        "all fair": [{FAIR}],
        "undecided": [{FAIR, INCONCLUSIVE}],
        "biased": [{FAIR, BIASED, INCONCLUSIVE}],
        "borderline": [{FAIR, BORDERLINE}],
        "everybody a little": [{FAIR}, {FAIR}],
        "failed assumption": [{INCONCLUSIVE}, {INCONCLUSIVE}],
    }
    assert set(assessed("failed assumption").gaps["cause"]) == {"assumption"}
    strict = settings(("everybody a little", "block", None, 0.1, None, 0.05)).policy
    assert set(assessed("everybody a little").with_policy(strict).overall["finding"]) == {BIASED}


@pytest.mark.parametrize("situation", FACTORS["situation"])
def test_every_combination_is_decided_by_the_book(situation):
    for values in product(*list(FACTORS.values())[1:]):
        case = (situation, *values)
        judged = assessed(situation).with_policy(settings(case).policy)
        decision = gate(judged)
        verdict, gone = by_the_book(case, judged)
        assert decision.verdict == verdict, case
        assert {who for who, *_ in decision.removes} == (gone if verdict == "quarantine" else set())
        assert decision.lets_through == (verdict == "pass")
        assert decision.stops == (EXIT[verdict] != 0)

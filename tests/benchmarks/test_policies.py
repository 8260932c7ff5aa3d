"""The figures in docs/policies.md are those of the committed results.

`python tests/benchmarks/test_policies.py` writes them into the page.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pandas as pd

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "policies.md"
RESULTS = ROOT / "benchmarks" / "results"
KINDS = ("all fair", "one biased", "whole biased")


def results(name: str) -> pd.DataFrame:
    return pd.read_csv(RESULTS / name, comment="#")


def _line(*cells: str) -> str:
    return f"| {' | '.join(cells)} |"


def share(value: float) -> str:
    return "–" if pd.isna(value) else f"{value:.0%}"


def by_size(name: str = "policies.csv") -> str:
    """Return how often the default policy passes, by size."""
    lines = results(name).query("policy == 'default'")
    best = results("policy_bounds.csv").set_index(["labelers", "labels_each"])["best_pass"]
    table = [
        _line(
            "labelers × labels, gold items",
            "data sets of each kind",
            "fair: whole decided",
            "fair: passed where decided",
            "one far beyond: passed",
            "whole beyond: passed",
            "fair: best possible",
        ),
        "|---|---|---|---|---|---|---|",
    ]
    for size, rows in lines.groupby(["labelers", "labels_each", "gold"], sort=False):
        found = rows.set_index("kind").reindex(KINDS)
        fair, one, whole = (found.loc[kind] for kind in KINDS)
        runs = "/".join("0" if pd.isna(each) else str(int(each)) for each in found["runs"])
        cells = [f"{size[0]:,} × {size[1]:,}, {size[2]:,}", runs, share(fair["whole_decided"])]
        cells += [share(fair["passed_where_decided"]), share(one["passed"])]
        cells += [share(whole["passed"]), share(best.get(size[:2], float("nan")))]
        table.append(_line(*cells))
    return "\n".join(table)


def by_policy() -> str:
    """Return how often each policy passes, and how often it leaves something usable."""
    found = results("policy_summary.csv").set_index(["policy", "kind"])
    table = [
        _line(
            "policy",
            "fair: passed",
            "one far beyond: passed",
            "whole beyond: passed",
            "fair: usable",
            "one far beyond: usable",
            "whole beyond: usable",
        ),
        "|---|---|---|---|---|---|---|",
    ]
    for policy in found.index.unique("policy"):
        cells = [
            share(found.loc[(policy, kind), what])
            for what in ("passed", "usable")
            for kind in KINDS
        ]
        table.append(_line(f"`{policy}`", *cells))
    return "\n".join(table)


TABLES: dict[str, Callable[[], str]] = {
    "by size": by_size,
    "crowds": lambda: by_size("crowds_policies.csv"),
    "large": lambda: by_size("large_policies.csv"),
    "by policy": by_policy,
}


def renewed(page: str) -> str:
    for name, make in TABLES.items():
        before, _, after = page.partition(f"<!-- {name} -->\n")
        _, end, rest = after.partition("<!-- end -->")
        page = f"{before}<!-- {name} -->\n\n{make()}\n\n{end}{rest}"
    return page


def test_the_page_shows_the_committed_results():
    page = PAGE.read_text(encoding="utf-8")
    assert page.count("<!-- end -->") == len(TABLES)
    assert renewed(page) == page


# Where a rule that knows everything could pass enough fair data sets, and the default passes none.
MISSED = {(10, 50)}


def test_nothing_biased_passes_and_fair_labels_do_where_any_rule_could():
    names = ("policies.csv", "crowds_policies.csv", "large_policies.csv")
    lines = pd.concat(map(results, names)).query("policy == 'default'")
    assert lines[lines["kind"] != "all fair"]["passed"].max() <= 0.05
    best = results("policy_bounds.csv").set_index(["labelers", "labels_each"])["best_pass"]
    fair = lines.query("kind == 'all fair'")
    sizes = pd.MultiIndex.from_frame(fair[["labelers", "labels_each"]])
    possible = best.reindex(sizes).fillna(1).to_numpy() >= 0.8 * fair["whole_decided"].to_numpy()
    missed = (fair["passed_where_decided"] < 0.8).to_numpy()
    assert set(sizes[possible & missed]) == MISSED
    assert (possible & ~missed).sum() >= 5


if __name__ == "__main__":
    PAGE.write_text(renewed(PAGE.read_text(encoding="utf-8")), encoding="utf-8")

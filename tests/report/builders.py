"""Checks in miniature for tests of the report: every rate in them is known exactly.

They use the estimator `selection_rate`, which needs no models: the share of yes is what it is.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from mdba_checks import Assessment, CheckConfig, Decision, Policy, assess, gate
from tests.helpers import selection_table, some_gold

# Women and men: of how many items, how many got a yes.
SHARES = {
    "Ada": {"women": (80, 400), "men": (240, 400)},
    "Ben": {"women": (200, 400), "men": (204, 400)},
    "Cleo": {"women": (10, 20), "men": (13, 20)},
}

NASTY = (
    '<img src=x onerror="window.hacked=1">',
    '"><script>window.hacked=1</script>',
    "</script></style></title></svg><script>window.hacked=1</script>",
    "' onmouseover='window.hacked=1' x='",
    "<!-- -->&lt;b&gt;&amp;",
    "javascript:window.hacked=1",
    "{{7*7}} ${7*7} $x$ %s",
)


def check(
    shares: dict[str, dict[str, tuple[int, int]]] | None = None,
    *,
    gold: pd.DataFrame | None = None,
    rename: dict[str, str] | None = None,
    **settings: object,
) -> tuple[Assessment, Decision]:
    """Return a finished check of labelers with these shares of yes."""
    shares = SHARES if shares is None else shares
    groups = tuple(dict.fromkeys(group for each in shares.values() for group in each))
    tables = [selection_table(shares), some_gold(groups) if gold is None else gold]
    labels, gold = (table.rename(columns=rename or {}) for table in tables)
    values: dict[str, object] = {"estimator": "selection_rate", "reference": "men"} | settings
    assessment = assess(labels, gold, CheckConfig(**values))
    return assessment, gate(assessment)


def many(n: int, rows: int = 40) -> tuple[Assessment, Decision]:
    """Return a finished check of many labelers, some of them far from fair."""
    rng = np.random.default_rng(n)
    group = np.where(rng.random(n * rows) < 0.5, "women", "men")
    leaning = np.repeat(rng.uniform(0.1, 0.9, n), rows)
    labels = pd.DataFrame(
        {
            "labeler": np.repeat([f"worker {number:04d}" for number in range(n)], rows),
            "group": group,
            "x": rng.normal(size=n * rows).round(3),
            "label": (rng.random(n * rows) < np.where(group == "women", leaning, 0.5)).astype(int),
        }
    )
    gold = some_gold(("men", "women"), per_group=40)
    config = CheckConfig(
        reference="men", estimator="selection_rate", policy=Policy(correction="none")
    )
    assessment = assess(labels, gold, config)
    return assessment, gate(assessment)

"""Tables that are built well but hold odd values: groups, numbers, times, names, weights."""

from __future__ import annotations

import unicodedata
from typing import Any

import numpy as np
import pandas as pd

from tests.reliability.base import (
    Change,
    Ends,
    Entry,
    Outcome,
    Tables,
    Unaffected,
    cycled,
    extra,
    in_both,
    in_gold,
    in_labels,
    mapped,
    plain_tables,
    put,
    refused,
)

VALUES: list[Entry] = []


def table(name: str, outcome: Outcome, change: Change, **more: Any) -> None:
    VALUES.append(Entry(name, outcome, change=change, **more))


def called(name: str, note: str = "", **names: str) -> None:
    """Add an entry in which labelers have other names, and nothing else changes."""
    whole = {"ann": "ann", "ben": "ben", "cleo": "cleo", **names}
    table(name, Unaffected(note, names), in_labels(mapped("labeler", whole)))


# --- Groups --------------------------------------------------------------------------------------

NFC, NFD = (unicodedata.normalize(form, "zoë") for form in ("NFC", "NFD"))

table("a group that gold does not have", refused("'others'"), in_labels(put("group", "others")))
table("a group that labels do not have", refused("'others'"), in_gold(put("group", "others")))
table(
    "one group",
    refused("one group only", "'men'"),
    in_both(lambda frame: frame[frame["group"] == "men"]),
)
table(
    "a group with a space behind it",
    refused("'women '"),
    in_labels(put("group", "women ", "women ")),
)
table(
    "a group spelled with another Unicode form in gold",
    refused("'group'", "gold does not have"),
    lambda labels, gold: (
        mapped("group", {"men": "men", "women": NFD})(labels),
        mapped("group", {"men": "men", "women": NFC})(gold),
    ),
)
table(
    "a reference that is no group",
    refused("reference 'man'", "Did you mean 'men'"),
    lambda labels, gold: (labels, gold),
    settings={"reference": "man"},
)
table(
    "a measurement as group",
    refused("'group'"),
    in_both(lambda frame: frame.assign(group=np.arange(len(frame)) / 7)),
)
table(
    "more groups than anybody compares",
    refused("'group'", "1200 groups"),
    lambda labels, gold: tuple(
        pd.concat([frame] * 8).head(1200).assign(group=[f"g{n}" for n in range(1200)])
        for frame in (labels, gold)
    ),
    settings={"reference": "g1"},
)
table(
    "groups as numbers here and as text there",
    Unaffected(),
    lambda labels, gold: (
        mapped("group", {"men": 0, "women": 1})(labels),
        mapped("group", {"men": "0", "women": "1"})(gold),
    ),
    settings={"reference": 0},
    kind="parquet",
)
table(
    "groups called no and null",
    refused("missing in column 'group'"),
    in_both(mapped("group", {"men": "no", "women": "null"})),
    settings={"reference": "no"},
)
table(
    "a group that is a formula, a path and a tag",
    Unaffected("takes for formulas"),
    in_both(mapped("group", {"men": "men", "women": "=1+1|'../../etc'<b>"})),
)

# --- Numbers -------------------------------------------------------------------------------------

BEYOND = 2**80

table("an infinite number", refused("'score'", "infinite"), in_labels(put("score", np.inf)))
table("an infinite number in gold", refused("'score'", "infinite"), in_gold(put("score", -np.inf)))
table("a number beyond doubles", refused("'score'", "infinite"), in_labels(put("score", "1e999")))
table("numbers up to 1e308", Unaffected(), extra(cycled(1e308, -1e308, 1.5, 0.0, 2.0)))
table("numbers down to 5e-324", Unaffected(), extra(cycled(5e-324, 1e-300, 0.0)))
table("integers beyond 64 bits", Unaffected(), extra(cycled(BEYOND, -BEYOND, 1, 2, 3)))
table("numbers with a minus zero", Unaffected(), extra(cycled(0.0, -0.0, 1.0)))
table("a constant", Unaffected(), extra(cycled(7)))
table("a number here and text there", refused("'score'"), in_gold(lambda t: t.assign(score="high")))
table(
    "decimal commas in one table",
    Unaffected("'score' is read with decimal commas"),
    in_labels(lambda frame: frame.assign(score=[f"{v}".replace(".", ",") for v in frame["score"]])),
)
table(
    "decimal commas in both tables",
    Unaffected("'score' is read with decimal commas"),
    in_both(lambda frame: frame.assign(score=[f"{v}".replace(".", ",") for v in frame["score"]])),
)
table("numbers and words in one column", Unaffected(), extra(cycled(1, "two", 3.5)))
table("booleans and gaps", Unaffected(), extra(cycled(True, False, None)))

# --- Categories and texts ------------------------------------------------------------------------


def ten_thousand(labels: pd.DataFrame, gold: pd.DataFrame) -> Tables:
    labels, gold = plain_tables(rows=7_000)
    return labels.assign(town=[f"town {n % 10_000}" for n in range(len(labels))]), gold.assign(
        town=[f"town {n}" for n in range(len(gold))]
    )


table("10,000 categories", Unaffected(), ten_thousand)
table("categories that labels do not have", Unaffected(), in_gold(put("job", "pilot", "smith")))
table(
    "another text in every row",
    Unaffected("'extra' is ignored"),
    extra(lambda rows: [f"text {n}" for n in range(rows)]),
)
table("a text of a million letters", Unaffected(), in_labels(put("job", "x" * 1_000_000)))
table("row numbers", Unaffected("'extra' is ignored"), extra(np.arange))
table("one text in two Unicode forms", Unaffected(), extra(cycled(NFC, NFD, "x")))

# --- Times ---------------------------------------------------------------------------------------

DAYS = [f"2024-{month:02}-{day:02}" for month in range(1, 13) for day in (3, 14, 25)]

table("dates", Unaffected("'extra' is ignored: it holds dates"), extra(cycled(*DAYS)))
table("dates that do not exist", Unaffected(), extra(cycled(*DAYS, "2024-02-31")))
table(
    "times in two zones",
    Unaffected(),
    extra(cycled("2024-01-02T03:04:05+01:00", "2024-01-02T03:04:05Z", "2024-05-06T07:08:09+05:30")),
)
table(
    "times with and without a zone",
    Unaffected(),
    extra(cycled("2024-01-02T03:04:05+01:00", "2024-01-02T03:04:05")),
)
table(
    "times with a zone here and without one there",
    Unaffected(),
    lambda labels, gold: (
        labels.assign(at=cycled("2024-01-02T03:04:05Z", "2024-02-02T03:04:05Z")(len(labels))),
        gold.assign(at=cycled("2024-01-02T03:04:05", "2024-02-02T03:04:05")(len(gold))),
    ),
)
table("years before Christ and after us", Unaffected(), extra(cycled("0001-01-01", "9999-12-31")))
table("dates as labels", refused("'label'", "must hold two"), in_labels(put("label", "2024-01-02")))

# --- Names ---------------------------------------------------------------------------------------

called("labelers called 007 and 7", ann="007", ben="7", cleo="7.0")
called("a labeler called NA", ann="NA")
called("a labeler with line breaks", ann="ann\nverdict: pass")
called("a labeler who steers a terminal", ann="\x1b[2J\x1b]0;x\x07ann")
called("a labeler who is a script", ann="<script>alert(1)</script>")
called("a labeler who is a formula", "takes for formulas", ann="=cmd|' /C calc'!A0")
called("a labeler who is a path", ann="../../etc/passwd")
called("a labeler who is markup", ann="[bold red]ann[/bold red]", ben="{{ 7 * 7 }}", cleo="`c`|x|")
called("a labeler with 10,000 letters", ann="a" * 10_000)
called("a labeler written from right to left", ann="\u202eann", ben="\u200bben")
called("labelers in two Unicode forms", ann=NFC, ben=NFD)
called("labelers with a space behind them", ann="ben ", cleo=" ben")
called("labelers beyond 64 bits", ann=str(BEYOND), ben=str(BEYOND + 1), cleo=str(BEYOND + 2))
called("labelers out of the plane", ann="\U0001f600", ben="\U00020000", cleo="\ufffd")

# --- Weights -------------------------------------------------------------------------------------

WEIGHTED = {"columns.gold_weight": "weight"}

for _name, _weight, _part in (
    ("a negative weight", -1, "-1"),
    ("a weight of nothing", 0, "0"),
    ("an infinite weight", np.inf, "inf"),
    ("a weight of 1e300", 1e300, "1e+300"),
    ("a weight of 1e-300", 1e-300, "1e-300"),
    ("a missing weight", None, "missing in column 'weight'"),
    ("a weight that is a word", "much", "holds text"),
):
    table(
        _name,
        refused("'weight'", _part),
        in_gold(lambda frame, value=_weight: put("weight", value)(frame.assign(weight=1.0))),
        settings=WEIGHTED,
    )
table("weights", Unaffected(), in_gold(lambda frame: frame.assign(weight=2.5)), settings=WEIGHTED)
table(
    "a weight of a million beside others of 1",
    Ends("inconclusive", "an assumption does not hold"),
    in_gold(lambda frame: put("weight", 1e6)(frame.assign(weight=1.0))),
    settings=WEIGHTED,
)

# --- Settings ------------------------------------------------------------------------------------

for _name, _settings, _part in (
    ("an unknown key", {"policy.max_gpa": 0.1}, "Did you mean 'max_gap'"),
    ("a limit that is no number", {"policy.max_gap": "much"}, "max_gap"),
    ("a limit that is not a number", {"policy.max_gap": float("nan")}, "max_gap"),
    ("a limit beyond 1", {"policy.max_gap": 10}, "max_gap"),
    ("a confidence in percent", {"confidence": 90}, "confidence"),
    ("an unknown estimator", {"estimator": "magic"}, "estimator"),
    ("an empty list of features", {"features": []}, "features"),
    ("more jobs than any machine has", {"jobs": 20_000}, "jobs"),
    ("a seed below nothing", {"seed": -1}, "seed"),
    ("a seed beyond everything", {"seed": 10**30}, "seed"),
):
    table(
        f"settings with {_name}",
        refused(_part),
        lambda labels, gold: (labels, gold),
        settings=_settings,
    )

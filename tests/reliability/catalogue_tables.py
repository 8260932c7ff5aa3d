"""Tables that are read well but are built wrongly: columns, rows, gaps, labels and gold."""

from __future__ import annotations

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
    put,
    refused,
)

TABLES: list[Entry] = []


def table(name: str, outcome: Outcome, change: Change, **more: Any) -> None:
    TABLES.append(Entry(name, outcome, change=change, **more))


# --- Columns -------------------------------------------------------------------------------------

table("plain tables", Unaffected(), lambda labels, gold: (labels, gold))
for _column in ("labeler", "label", "group"):
    table(
        f"no column for the {_column}",
        refused(f"no column '{_column}'"),
        in_labels(lambda frame, gone=_column: frame.drop(columns=gone)),
    )
for _column in ("gold", "group"):
    table(
        f"no column for the {_column} in gold",
        refused("gold has no column", f"'{_column}'"),
        in_gold(lambda frame, gone=_column: frame.drop(columns=gone)),
    )
table(
    "a column in capitals",
    refused("'labeler'", "Did you mean 'LABELER'"),
    in_labels(lambda frame: frame.rename(columns={"labeler": "LABELER"})),
)
table(
    "column names with spaces around them",
    refused("'labeler'", 'Known in labels: " labeler "'),
    in_labels(lambda frame: frame.rename(columns=lambda name: f" {name} ")),
)
table(
    "a column name with a line break and none for the group",
    refused("no column 'group'"),
    lambda labels, gold: (
        labels.drop(columns="group").rename(columns={"score": "sc\nmdba: passed\x1b[2J"}),
        gold,
    ),
)
table(
    "one column for label and group",
    refused("'group'", "cannot be both"),
    lambda labels, gold: (labels, gold),
    settings={"columns.label": "group"},
)
table(
    "one column for labeler and item",
    refused("'labeler'", "cannot be both"),
    lambda labels, gold: (labels, gold),
    settings={"columns.item": "labeler"},
)
table(
    "the gold column called as the label column",
    Unaffected(),
    in_gold(lambda frame: frame.rename(columns={"gold": "label"})),
    settings={"columns.gold": "label"},
)
table(
    "no shared feature",
    refused("share no usable feature"),
    in_gold(lambda frame: frame.drop(columns=["score", "job"])),
)
table(
    "a feature that is not there",
    refused("'salary'"),
    lambda labels, gold: (labels, gold),
    settings={"features": ["score", "salary"]},
)
table(
    "a feature that has a role",
    refused("'group'", "role"),
    lambda labels, gold: (labels, gold),
    settings={"features": ["score", "group"]},
)
table(
    "the labels given as gold too",
    refused("gold has no column 'gold'"),
    lambda labels, _: (labels, labels),
)
table(
    "column names for a browser, a spreadsheet and a terminal",
    Unaffected(),
    in_both(
        lambda frame: frame.rename(
            columns={"score": "=HYPERLINK(1)", "job": "<script>alert(1)</script>\x1b[2J"}
        )
    ),
)

# --- Rows ----------------------------------------------------------------------------------------

table("no row in gold", refused("gold has no rows"), in_gold(lambda frame: frame.head(0)))
table("one gold row", refused("'group'", "'women'"), in_gold(lambda frame: frame.head(1)))
table(
    "one gold row per group",
    Ends("inconclusive", "gold"),
    in_gold(lambda frame: frame[frame["gold"] == 1].groupby("group").head(1)),
)
table("one row of labels", refused("'group'", "'women'"), in_labels(lambda frame: frame.head(1)))
table(
    "one labeler",
    Ends("pass", "all 1 comparisons"),
    in_labels(lambda frame: frame[frame["labeler"] == "ben"]),
)
table(
    "one row per labeler",
    Ends("block", "all labels together: biased"),
    in_labels(lambda frame: frame.head(90).assign(labeler=[f"L{n}" for n in range(90)])),
)
table(
    "one more labeler with two rows",
    Ends("block", "new"),
    in_labels(lambda frame: pd.concat([frame, frame.tail(2).assign(labeler="new")])),
)
table(
    "a labeler who saw one group only",
    Ends("block", "one-sided"),
    in_labels(
        lambda frame: pd.concat(
            [frame, frame[frame["group"] == "men"].head(90).assign(labeler="one-sided")]
        )
    ),
)
table(
    "every row twice",
    Ends("inconclusive", "repeat an earlier one"),
    in_labels(lambda frame: pd.concat([frame, frame])),
)


def with_items(labels: pd.DataFrame, gold: pd.DataFrame) -> Tables:
    return (
        labels.assign(item=[f"i{n}" for n in range(len(labels))]),
        gold.assign(item=[f"g{n}" for n in range(len(gold))]),
    )


def some_items_missing(labels: pd.DataFrame, gold: pd.DataFrame) -> Tables:
    labels, gold = with_items(labels, gold)
    return put("item", None, None, "")(labels), gold


def items_twice(labels: pd.DataFrame, gold: pd.DataFrame) -> Tables:
    labels, gold = with_items(labels, gold)
    return pd.concat([labels, labels.head(60)]), gold


def gold_twice(labels: pd.DataFrame, gold: pd.DataFrame) -> Tables:
    labels, gold = with_items(labels, gold)
    return labels, pd.concat([gold, gold])


def gold_that_contradicts_itself(labels: pd.DataFrame, gold: pd.DataFrame) -> Tables:
    labels, gold = with_items(labels, gold)
    return labels, pd.concat([gold, gold.head(4).assign(gold=lambda t: 1 - t["gold"])])


def gold_among_labels(labels: pd.DataFrame, gold: pd.DataFrame) -> Tables:
    """Half of the gold items were labeled by ben, who was right about them."""
    labels, gold = with_items(labels, gold)
    half = gold.head(len(gold) // 2)
    judged = half.drop(columns="gold").assign(labeler="ben", label=half["gold"])
    return pd.concat([labels, judged]), gold


table("items of all rows", Unaffected(), with_items)
table(
    "rows without an item", Unaffected("3 rows have no value in column 'item'"), some_items_missing
)
table("items labeled twice by one person", Unaffected(), items_twice)
table("gold items twice", Unaffected(), gold_twice)
table("gold that contradicts itself", Unaffected(), gold_that_contradicts_itself)
table("gold items among the labeled ones", Unaffected(), gold_among_labels)

# --- Missing values ------------------------------------------------------------------------------

for _text in ("", "NaN", "null", "#N/A", "  "):
    table(
        f"a label that is {_text!r}",
        refused("1 missing in column 'label'", "row 1"),
        in_labels(put("label", _text)),
    )
for _column in ("labeler", "group"):
    table(
        f"a missing {_column}",
        refused(f"1 missing in column '{_column}'", "row 1"),
        in_labels(put(_column, None)),
    )
table("no label at all", refused("'label'"), in_labels(lambda frame: frame.assign(label=None)))
table(
    "rows dropped because they miss something",
    Unaffected("dropped 2 of 600 rows"),
    in_labels(put("label", None, None)),
    settings={"drop_missing": True},
)
table(
    "every row dropped",
    refused("no rows left"),
    in_labels(lambda frame: frame.assign(label=None)),
    settings={"drop_missing": True},
)
table("a missing gold", refused("missing in column 'gold'"), in_gold(put("gold", None)))
table(
    "a group called None that gold does not have",
    refused("'group'", "'None'"),
    in_labels(put("group", "None")),
)
table("a feature without values", Unaffected("'extra' is ignored"), extra(cycled(None)))
table("a feature with gaps", Unaffected(), in_labels(put("score", None, None, None)))
table(
    "a gap written as a text that is not listed",
    refused("'score'", "'n/a'"),
    in_labels(put("score", "n/a")),
)
table(
    "a gap written as a text that is listed",
    Unaffected(),
    in_labels(put("score", "n/a")),
    settings={"missing_values": ["", "n/a"]},
)

# --- Labels and gold -----------------------------------------------------------------------------

table("three labels", refused("'label'", "has 3", "'2'"), in_labels(put("label", 2)))
table("three golds", refused("'gold'", "has 3", "'0.5'"), in_gold(put("gold", "0.5")))
table(
    "gold as probabilities",
    refused("'gold'", "must hold two values"),
    in_gold(lambda frame: frame.assign(gold=np.linspace(0.01, 0.99, len(frame)))),
)
table(
    "labels as words",
    refused("'label'", "--positive"),
    in_labels(mapped("label", {0: "no", 1: "yes"})),
)
table(
    "labels as words of which one is chosen",
    Unaffected(),
    in_labels(mapped("label", {0: "no", 1: "yes"})),
    settings={"positive": "yes"},
)
table(
    "a word chosen that is not there",
    refused("positive='yep'"),
    in_labels(mapped("label", {0: "no", 1: "yes"})),
    settings={"positive": "yep"},
)
table(
    "labels in two spellings",
    refused("'label'", "'Yes'"),
    in_labels(lambda frame: put("label", "Yes")(mapped("label", {0: "no", 1: "yes"})(frame))),
    settings={"positive": "yes"},
)
table("labels -1 and 1", refused("'label'", "'-1'"), in_labels(mapped("label", {0: -1, 1: 1})))
table("labels as True and False", Unaffected(), in_labels(mapped("label", {0: "False", 1: "True"})))
table("labels with a .0", Unaffected(), in_labels(lambda frame: frame.astype({"label": float})))
table(
    "labels that are always yes",
    Ends("inconclusive", "nothing to compare"),
    in_labels(lambda frame: frame.assign(label=1)),
)
table(
    "gold without a yes",
    refused("'gold'", "no positive at all"),
    in_gold(lambda frame: frame.assign(gold=0)),
)
table(
    "gold that is always yes",
    Ends("inconclusive", "where no is right"),
    in_gold(lambda frame: frame.assign(gold=1)),
)
table(
    "no yes in the gold of one group",
    Ends("inconclusive", "gold"),
    in_gold(lambda frame: frame[(frame["group"] == "men") | (frame["gold"] == 0)]),
)

"""A page for the labeler concerned: what was compared, how sure it is, and how to object.

The report is for whoever decides about a data set, and names everybody. This page is about one
labeler and names nobody else, so that it can be handed over. It is made from the record of a check
alone: nothing is estimated again, and it can be made a year later. A labeler may be a model; the
page then is for whoever answers for it.
"""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import pandas as pd

from mdba_checks.config import Policy
from mdba_checks.errors import InputError, did_you_mean, listed
from mdba_checks.estimation import ESTIMATORS
from mdba_checks.findings import (
    BIASED,
    BORDERLINE,
    FAIR,
    INCONCLUSIVE,
    by_severity,
    each,
    with_sides,
)
from mdba_checks.outputs import Record
from mdba_checks.report import explanations
from mdba_checks.report.forest import forest
from mdba_checks.report.formatting import count, interval, signed
from mdba_checks.report.html import whole_page
from mdba_checks.report.markup import fill

_NUMBERS = ("gap", "ci_low", "ci_high", "p_value", "rate", "rate_reference", "table_gap")
_SAME = 0.005  # gaps that are shown with two digits look alike when they are closer
_SAFE_NAME = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9 ._-]{0,58}[A-Za-z0-9_-])?")
# Files of these names, with any ending, cannot be made on Windows.
_RESERVED = re.compile(r"(?i)(con|prn|aux|nul|com\d|lpt\d)(\..*)?")


def labelers_of(record: Record, finding: str | None = None) -> list[str]:
    """Return the labelers of a check, or those with some finding in a comparison at least.

    Examples
    --------
    >>> row = {"group": "women", "reference": "men", "finding": "fair"}
    >>> row |= dict.fromkeys(("gap", "std_error", "ci_low", "ci_high"), 0.0)
    >>> about = {"metric": "tpr", "estimator": "mdba_dr", "confidence": 0.9}
    >>> rows = [{**row, "labeler": "Ann"}, {**row, "labeler": "Bob", "finding": "biased"}]
    >>> record = Record.read({**about, "gaps": rows})
    >>> labelers_of(record), labelers_of(record, "biased")
    (['Ann', 'Bob'], ['Bob'])
    """
    rows = [row for row in record.gaps if finding in {None, row.finding}]
    return list(dict.fromkeys(row.labeler for row in rows))


def file_names(labelers: Iterable[str]) -> dict[str, str]:
    """Return a file name for every labeler that every file system takes, each a different one.

    A plain name stays as it is. Others, and names that differ in case alone, get a part of their
    hash, so that a name never leads to another folder.

    Examples
    --------
    >>> file_names(["Ann", "007", "../x", "nul"])
    {'Ann': 'Ann.html', '007': '007.html', '../x': 'x-....html', 'nul': 'nul-....html'}
    """
    found: dict[str, str] = {}
    taken: set[str] = set()
    for name in labelers:
        stem = name
        known = _SAFE_NAME.fullmatch(name) and not _RESERVED.fullmatch(name)
        if not known or name.casefold() in taken:
            plain = re.sub(r"[^A-Za-z0-9]+", "-", name).strip("-")[:40] or "labeler"
            stem = f"{plain}-{hashlib.blake2b(name.encode(), digest_size=6).hexdigest()}"
        taken.add(stem.casefold())
        found[name] = f"{stem}.html"
    return found


def labeler_page(
    record: Record | Mapping[str, Any], labeler: str, *, contact: str | None = None
) -> str:
    """Return a page about one labeler as the text of one HTML file; it names no other labeler.

    Parameters
    ----------
    record
        The record of a check: what `to_record` returned, or `read_check` read from a file.
    labeler
        Whom it is about: the name in the record, which is a pseudonym where the check used them.
    contact
        Where objections go; without it the page leaves a line to fill in.

    Raises
    ------
    InputError
        When the record does not know the labeler, or does not say what was tolerated.

    Examples
    --------
    >>> from mdba_checks import CheckConfig, assess, gate
    >>> from mdba_checks.outputs import to_record
    >>> from mdba_checks.simulation import simulate
    >>> made = simulate(n_items=3000, n_labelers=2, tprs=[0.5, 0.94], seed=1)
    >>> assessment = assess(made.labels, made.gold, CheckConfig(reference="men"))
    >>> page = labeler_page(to_record(assessment, gate(assessment)), "L1")
    >>> "<h1>These labels treat women and men differently by more than 10 percentage" in page
    True
    """
    record = record if isinstance(record, Record) else Record.read(record)
    rows = [row.model_dump(by_alias=True) for row in record.gaps if row.labeler == labeler]
    if not rows:
        way_out = did_you_mean(labeler, labelers_of(record))
        raise InputError(f"the record has no labeler {labeler!r}.{way_out}")
    gaps = by_severity(with_sides(_table(rows)))
    policy = _policy(record)
    mine = each(gaps)
    found = str(gaps["finding"].iloc[0])
    wording = record.wording
    title = f"About the labels of {labeler}"
    main = fill(
        "labeler_page.html",
        title=title,
        labeler=labeler,
        finding=found,
        headline=_headline(found, mine, policy),
        meaning=explanations.findings(policy)[found],
        rate=wording.title,
        counts=wording.question(),
        limit=f"{policy.max_gap:g}",
        confidence=f"{record.confidence:.0%}",
        rows=mine,
        forest=forest(gaps.assign(labeler=gaps["side"]), max_gap=policy.max_gap),
        compared=_compared(record, mine),
        sure=list(_how_sure(record, mine, policy)),
        checks=_checks(record, labeler, mine),
        consequence=explanations.consequence(record.verdict),
        not_said=explanations.NOT_SAID,
        features=listed(record.data.features, most=40) if record.data else "",
        groups=listed(dict.fromkeys(row.side for row in mine), most=10),
        contact=contact,
        facts=_facts(record),
    )
    return whole_page(title, main)


def _table(rows: list[dict[str, Any]]) -> pd.DataFrame:
    table = pd.DataFrame(rows)
    for column in ("attribute", "class"):  # what the check does not know must not look like names
        if table[column].isna().all():
            table = table.drop(columns=column)
    return table.astype(dict.fromkeys(_NUMBERS, float))


def _policy(record: Record) -> Policy:
    known = {
        key: record.policy[key]
        for key in ("max_gap", "correction", "decide_on")
        if key in record.policy
    }
    if "max_gap" not in known:
        raise InputError("the record does not say which gap was tolerated: check again")
    try:
        return Policy.model_validate(known)
    except ValueError:
        raise InputError("the record is damaged: its policy cannot be") from None


def _headline(found: str, rows: Sequence[Any], policy: Policy) -> str:
    limit = f"{100 * policy.max_gap:g} percentage points"
    who = f"{rows[0].side} and {rows[0].reference}" if len(rows) == 1 else "groups"
    of = sum(row.finding == found for row in rows)
    part = f" in {of} of {len(rows)} comparisons" if len(rows) > 1 else ""
    return {
        BIASED: f"These labels treat {who} differently by more than {limit}{part}.",
        INCONCLUSIVE: f"It is undecided whether these labels treat {who} differently by more than "
        f"{limit}{part}.",
        BORDERLINE: f"These labels treat {who} about as differently as is tolerated{part}.",
        FAIR: f"These labels treat {who} alike, within {limit}.",
    }[found]


def _compared(record: Record, rows: Sequence[Any]) -> Iterator[str]:
    """Yield what the comparison rests on, row by row."""
    wording = record.wording
    known, right = not wording.of_all, wording.words.is_right(wording.metric.right)
    for row in rows:
        said = [f"{row.side} compared with {row.reference}"]
        if row.n_labels is not None:
            said.append(f"{count(int(row.n_labels), 'label')} by this labeler")
        if known and row.n_gold is not None:
            said.append(f"{count(int(row.n_gold), 'gold item')} of {row.side}")
        if known and row.n_gold_positive is not None:
            said.append(f"{right} for {int(row.n_gold_positive):,} of them")
        yield f"{said[0]}: {', '.join(said[1:])}" if len(said) > 1 else said[0]


def _how_sure(record: Record, rows: Sequence[Any], policy: Policy) -> Iterator[str]:
    worst = rows[0]
    ends = interval(worst.ci_low, worst.ci_high)
    if math.isfinite(worst.ci_low):
        yield (
            f"The data do not rule out gaps from {ends} ({worst.side}). Of 100 such intervals, "
            f"about {100 * record.confidence:.0f} hold the true gap"
        )
    else:
        yield f"There is no estimate ({worst.side}): {worst.reason}"
    if ESTIMATORS[record.estimator].ignores_right_answers:
        yield "Right answers were not used: all decisions were compared, right or wrong"
    elif direct := max(int(row.n_direct or 0) for row in rows):
        yield (
            f"{count(direct, 'gold item')} had a label by this labeler: direct evidence. For the "
            "others a model predicts the decision from the columns of the table"
        )
    else:
        yield (
            "No gold item had a label by this labeler. A model predicts, from the columns of the "
            "table, how this labeler would have decided about the gold items"
        )
    for row in rows:
        if math.isfinite(row.table_gap) and abs(row.table_gap - row.gap) > _SAME:
            yield (
                f"What is known of all labelers was used as well, because one labeler's labels are "
                f"few: these labels alone give a gap of {signed(row.table_gap)} ({row.side})"
            )
    n = record.data.n_labelers if record.data else None
    if n and n > 1 and policy.correction != "none" and policy.decide_on != "estimate":
        yield (
            f"{n:,} labelers were compared. Among so many some stand out by chance; the limit for "
            "calling one biased was made stricter for that reason"
        )


def _checks(record: Record, labeler: str, rows: Sequence[Any]) -> list[Any]:
    """Return what the checks of assumptions say about this labeler, and about the data in general.

    What they say in general counts labelers and names none.
    """
    groups = {None, *(row.group for row in rows), *(row.reference for row in rows)}
    own = [said for said in record.diagnostics if said.labeler == labeler]
    general = [
        said
        for said in record.diagnostics
        if said.labeler is None and said.group in groups and said.level != "ok"
    ]
    return own + general


def _facts(record: Record) -> list[tuple[str, str]]:
    data = record.data
    facts = [
        ("checked", (record.created or "")[:10]),
        ("verdict", record.verdict or ""),
        ("tolerated gap", f"±{record.policy['max_gap']:g}"),
        ("rate compared", record.metric),
        ("estimator", record.estimator),
        ("labels hash", data.labels_hash if data else ""),
        ("gold hash", data.gold_hash if data else ""),
        ("mdba-checks", record.version or ""),
    ]
    return [(name, value) for name, value in facts if value]

"""What was decided: which values of the label and of gold mean yes, and which mean no.

Each table has its own values. They are read strictly, because a wrong reading is a wrong verdict
about a person: a value that cannot be understood stops the check, and the message says where it is.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa

from mdba_checks.config import CheckConfig, Values
from mdba_checks.errors import InputError
from mdba_checks.metrics import METRICS
from mdba_checks.tables.arrays import IntArray
from mdba_checks.tables.questions import Question
from mdba_checks.tables.text import canonical, match_name

_BINARY = {"0": 0, "0.0": 0, "false": 0, "1": 1, "1.0": 1, "true": 1}
_NUMBER = re.compile(r"[-+]?\d+(\.\d+)?")
_ORDER = re.compile(rf"\s*(>=|<=|>|<)\s*({_NUMBER.pattern})\s*")
_COMPARISONS = {">=": operator.ge, "<=": operator.le, ">": operator.gt, "<": operator.lt}
_SHOWN = 5


def decisions(
    labels: pa.DictionaryArray,
    gold: pa.DictionaryArray,
    question: Question,
    config: CheckConfig,
    messages: list[str],
) -> tuple[IntArray, IntArray]:
    """Return both tables' decisions as 0/1: whether they are positive, or of one class."""
    if question.label_class is None:
        found = binary(labels, gold, config, messages)
        _check_gold(found[1], config)
        return found
    of_class = []
    for names in (labels, gold):
        yes = np.array([each == question.label_class for each in names.dictionary.to_pylist()])
        of_class.append(yes.astype(np.int8)[names.indices.to_numpy()])
    return of_class[0], of_class[1]


def binary(
    labels: pa.DictionaryArray,
    gold: pa.DictionaryArray,
    config: CheckConfig,
    messages: list[str],
) -> tuple[IntArray, IntArray]:
    """Return both tables' decisions as 0/1, each table by its own values.

    Where a column holds more than two values, those that are not positive count as negative; what
    counts as what is added to `messages`.
    """
    columns, own = config.columns, config.gold_positive
    parts = (
        _Decisions(labels, f"column {columns.label!r} of labels", config.positive, "positive"),
        _Decisions(gold, f"column {columns.gold!r} of gold", config.positive, "positive")
        if own is None
        else _Decisions(gold, f"column {columns.gold!r} of gold", own, "gold_positive"),
    )
    _refuse_unknown(parts, config)
    decisions = []
    for each in parts:
        meaning = _meaning(each.values, each.positive)
        if meaning is None:
            raise InputError(_not_binary(each, config))
        if len(each.values) > 2 and not _all_binary(each.values):
            yes = [value for value in each.values if meaning[value]]
            no = [value for value in each.values if not meaning[value]]
            messages.append(
                f"{each.where} holds {len(each.values)} values: {some_values(yes, config)} "
                f"{'counts' if len(yes) == 1 else 'count'} as positive, "
                f"{some_values(no, config)} as negative"
            )
        lookup = [meaning[value] for value in each.names.dictionary.to_pylist()]
        decisions.append(np.array(lookup, dtype=np.int8)[each.names.indices.to_numpy()])
    return decisions[0], decisions[1]


@dataclass(frozen=True)
class _Decisions:
    """A column of decisions, and the setting that says which of them are positive."""

    names: pa.DictionaryArray
    where: str
    positive: Values | None
    setting: str

    @cached_property
    def values(self) -> list[str]:
        return sorted(self.names.dictionary.to_pylist())


def _refuse_unknown(parts: Sequence[_Decisions], config: CheckConfig) -> None:
    """Refuse a positive value that no column holds: it is a slip, and would change what is yes."""
    for setting in dict.fromkeys(part.setting for part in parts):
        used = [part for part in parts if part.setting == setting]
        for value in listed(used[0].positive):
            if not any(_names_one(value, part.values) for part in used):
                held = (f"{part.where} ({some_values(part.values, config)})" for part in used)
                raise InputError(
                    f"{setting}={canonical(value)!r} is not a value of {' nor of '.join(held)}"
                )


def listed(values: Values | None) -> tuple[bool | int | str, ...]:
    """Return the values of a setting that takes one or several."""
    if values is None:
        return ()
    return values if isinstance(values, tuple) else (values,)


def _names_one(positive: object, values: list[str]) -> bool:
    """Return whether `positive` is one of the values, if perhaps as 1 where they say true."""
    if _as_binary(canonical(positive)) is not None and _all_binary(values):
        return True
    return match_name(positive, values) is not None or _by_order(positive, values) is not None


def _meaning(values: list[str], positive: Values | None) -> dict[str, int] | None:
    """Map each value of a column to 0 or 1; None if that cannot be told."""
    wanted = listed(positive)
    if _all_binary(values):
        # positive=0 turns the meaning of 0/1 and of false/true alike.
        named = {_as_binary(canonical(each)) for each in wanted} - {None}
        counted = named or {1}
        return {value: int(_as_binary(value) in counted) for value in values}
    if not wanted:
        return None
    chosen = {name for each in wanted if (name := match_name(each, values)) is not None}
    ordered = [
        order
        for each in wanted
        if match_name(each, values) is None and (order := _by_order(each, values)) is not None
    ]
    if not chosen and not ordered and len(values) >= 2:
        return None
    if not ordered and len({value.strip().casefold() for value in values}) < len(values):
        return None  # "Yes" beside "yes" would count as no
    return {
        value: int(value in chosen or any(order[value] for order in ordered)) for value in values
    }


def _by_order(positive: object, values: list[str]) -> dict[str, int] | None:
    """Map numbers to 1 where they are on the positive side of an order such as ``>= 4``."""
    order = _ORDER.fullmatch(str(positive))
    if order is None or not all(_NUMBER.fullmatch(value.strip()) for value in values):
        return None
    limit, compare = float(order[2]), _COMPARISONS[order[1]]
    return {value: int(compare(float(value), limit)) for value in values}


def _not_binary(column: _Decisions, config: CheckConfig) -> str:
    where, values, wanted = column.where, column.values, listed(column.positive)
    held = some_values(values, config)
    if not wanted and len(values) > 2:
        return (
            f"{where} must hold two values but has {len(values)}: {held}; or say which of them is "
            "positive (--positive VALUE, or --positive '>= 4' on a scale): the others count as "
            "negative"
        )
    if any(match_name(each, values) is not None for each in wanted):
        return f"{where} holds one value in two spellings: {held}; spell it in one way"
    if not wanted:
        example = f", such as positive={values[-1]!r} (--positive {values[-1]})"
        return (
            f"{where} holds {held}: say which value counts as positive"
            f"{' (--positive)' if config.pseudonymize else example}"
        )
    said = ", ".join(repr(canonical(each)) for each in wanted)
    text = f"{where} holds {held}: {column.setting}={said} is not among them"
    if column.setting == "positive":
        text += "; where gold uses other words than labels, set gold_positive (--gold-positive)"
    return text


def _as_binary(value: str) -> int | None:
    return _BINARY.get(value.strip().lower())


def _all_binary(values: list[str]) -> bool:
    return all(_as_binary(value) is not None for value in values)


def _check_gold(correct: IntArray, config: CheckConfig) -> None:
    """Refuse gold without a single item of the kind the metric is about."""
    metric = METRICS[config.metric]
    if not (correct == metric.right_code).any():
        raise InputError(
            f"column {config.columns.gold!r} of gold has no {metric.kind} at all, and metric "
            f"{config.metric!r} is a rate among {metric.kind}s: add gold items"
        )


def some_values(values: Sequence[str], config: CheckConfig) -> str:
    """Return some values for a message, if they may be shown."""
    if config.pseudonymize:  # the wrong column may have been named, and it may be that of labelers
        return "values that are not shown, as they could be names"
    shown = ", ".join(repr(value[:40]) for value in values[:_SHOWN])
    return f"{shown}, …" if len(values) > _SHOWN else shown

"""An assessment as plain values, for caches: written as JSON, read back the same to the last digit.

The types that `Assessment` declares say how to put the values together again, so nothing has to be
unpickled. Fields that say so in their metadata stay out, and three things more: what is known of
every single row, which is as long as the data and goes into a file of its own; the names behind
pseudonyms; and where the tables were, because the same content may come from elsewhere next time.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import fields, is_dataclass, replace
from types import NoneType
from typing import Any, Literal, get_args, get_origin, get_type_hints

import numpy as np
import pandas as pd
from pydantic import BaseModel

from mdba_checks.assessment import Assessment
from mdba_checks.tables import Origin


def to_cache(assessment: Assessment) -> dict[str, Any]:
    """Return an assessment as dicts, lists, texts and numbers; without rows, pseudonyms and origin.

    Examples
    --------
    >>> from mdba_checks import CheckConfig, assess
    >>> from mdba_checks.simulation import simulate
    >>> made = simulate(n_items=3000, n_labelers=2, tprs=[0.5, 0.94], seed=1)
    >>> assessment = assess(made.labels, made.gold, CheckConfig(reference="men"))
    >>> from_cache(to_cache(assessment)).gaps.equals(assessment.gaps)
    True
    """
    without_rows = {name: rows[:0] for name, rows in row_arrays(assessment).items()}
    without = with_row_arrays(assessment, without_rows)
    plain: dict[str, Any] = _plain(replace(without, pseudonyms=None, origin=Origin()))
    return plain


def from_cache(values: Mapping[str, Any]) -> Assessment:
    """Return the assessment that `to_cache` was given, without what stays out."""
    assessment: Assessment = _restored(Assessment, values)
    return assessment


def row_arrays(assessment: Assessment) -> dict[str, np.ndarray[Any, Any]]:
    """Return what an assessment knows of every row of the labels, by the name of the attribute.

    Names of what a question knows begin with its number.
    """
    found = _arrays(assessment)
    for number, each in enumerate(assessment.estimated):
        found |= {f"{number}.{name}": value for name, value in _arrays(each).items()}
    return found


def with_row_arrays(
    assessment: Assessment, arrays: Mapping[str, np.ndarray[Any, Any]]
) -> Assessment:
    """Return an assessment with what is known of every row, as from `row_arrays`."""
    estimated = []
    for number, each in enumerate(assessment.estimated):
        own: dict[str, Any] = {name: arrays[f"{number}.{name}"] for name in _arrays(each)}
        estimated.append(replace(each, **own))
    shared: dict[str, Any] = {name: arrays[name] for name in _arrays(assessment)}
    return replace(assessment, estimated=tuple(estimated), **shared)


def _arrays(known: Any) -> dict[str, np.ndarray[Any, Any]]:
    values = {each.name: getattr(known, each.name) for each in fields(known)}
    return {name: value for name, value in values.items() if isinstance(value, np.ndarray)}


def _plain(value: Any) -> Any:
    if isinstance(value, BaseModel):
        return value.model_dump(mode="json")
    if is_dataclass(value):
        return {
            each.name: _plain(getattr(value, each.name))
            for each in fields(value)
            if each.metadata.get("cached", True)
        }
    if isinstance(value, pd.DataFrame):
        return {
            "columns": [str(name) for name in value.columns],
            "dtypes": [str(dtype) for dtype in value.dtypes],
            "values": [_plain(value[name].tolist()) for name in value.columns],
        }
    if isinstance(value, np.ndarray):
        return {
            "dtype": str(value.dtype),
            "shape": list(value.shape),
            "values": _plain(value.ravel().tolist()),
        }
    if isinstance(value, Mapping):
        return {str(key): _plain(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return None if math.isnan(value) else str(value)  # JSON has no such numbers
    return value


def _restored(hint: Any, value: Any) -> Any:
    origin, inside = get_origin(hint), get_args(hint)
    if NoneType in inside:
        if value is None:
            return None
        (kind,) = (each for each in inside if each is not NoneType)
        return _restored(kind, value)
    if origin is np.ndarray:
        numbers = [float(each) if isinstance(each, str) else each for each in value["values"]]
        return np.array(numbers, dtype=value["dtype"]).reshape(value["shape"])
    if hint is pd.DataFrame:
        columns = zip(value["columns"], value["dtypes"], value["values"], strict=True)
        return pd.DataFrame({name: pd.Series(each, dtype=dtype) for name, dtype, each in columns})
    if isinstance(hint, type) and issubclass(hint, BaseModel):
        return hint.model_validate(value)
    if isinstance(hint, type) and is_dataclass(hint):
        hints = get_type_hints(hint)
        cached = [each.name for each in fields(hint) if each.metadata.get("cached", True)]
        return hint(**{name: _restored(hints[name], value[name]) for name in cached})
    if origin is tuple:
        kinds = [inside[0]] * len(value) if inside[-1] is ... else inside
        return tuple(_restored(kind, each) for kind, each in zip(kinds, value, strict=True))
    if origin in (dict, Mapping):
        return {key: _restored(inside[1], each) for key, each in value.items()}
    if hint is float:
        return math.nan if value is None else float(value)
    if hint in (str, int, bool) or origin is Literal:
        return value
    msg = f"a cached assessment cannot hold {hint}"
    raise TypeError(msg)

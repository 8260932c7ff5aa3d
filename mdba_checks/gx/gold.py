"""Gold by name: an expectation says where the right decisions are and never holds them.

Great Expectations writes the arguments of an expectation into the suite, into every stored result
and into Data Docs. Gold is therefore named by a path or by a reference to a batch definition of the
same context, and a DataFrame is refused.
"""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
from great_expectations.execution_engine.pandas_execution_engine import PandasExecutionEngine

from mdba_checks.config import MISSING_VALUES
from mdba_checks.errors import InputError, did_you_mean
from mdba_checks.gx.fetching import one_line, rows_of
from mdba_checks.tables import read_table

REFERENCE = ("data_source", "asset", "batch_definition")
PARAMETER = "$PARAMETER"

_URL = re.compile(r"[\w+]{2,}:/")  # a path made of a URL has one slash only
_FORM = "{" + ", ".join(f"{key!r}: …" for key in REFERENCE) + "}"


def check_place(gold: Any) -> str | dict[str, str]:
    """Return where gold is, in the form that a suite stores; refuse everything else.

    Raises
    ------
    ValueError
        With the reason and the way out; pydantic turns it into its own error.

    Examples
    --------
    >>> check_place("gold.csv")
    'gold.csv'
    >>> check_place({"data_source": "files", "asset": "gold"})
    Traceback (most recent call last):
    ...
    ValueError: gold: a reference needs 'batch_definition' as well, ...
    """
    if isinstance(gold, os.PathLike):
        gold = os.fspath(gold)
    if isinstance(gold, str):
        if _URL.match(gold):
            msg = (
                "gold: a URL would be stored with its password in every result; add the table as "
                f"an asset to the context and give {_FORM}"
            )
            raise ValueError(msg)
        if not gold.strip():
            msg = "gold: the path is empty"
            raise ValueError(msg)
        return gold
    if isinstance(gold, Mapping):
        if PARAMETER not in gold:
            _check_reference(gold)
        return dict(gold)
    msg = (
        f"gold: a path or {_FORM} is needed, not a {type(gold).__name__}; Great Expectations "
        "stores the arguments of an expectation with every result, and all gold rows with them: "
        "save gold to a file, or make it an asset of the context"
    )
    raise ValueError(msg)


def _check_reference(gold: Mapping[Any, Any]) -> None:
    for key in gold:
        if key not in REFERENCE:
            msg = f"gold: a reference has no key {key!r}.{did_you_mean(str(key), REFERENCE)}"
            raise ValueError(msg)
    for key in REFERENCE:
        if key not in gold:
            msg = f"gold: a reference needs {key!r} as well, in the form {_FORM}"
            raise ValueError(msg)
        if not isinstance(gold[key], str):
            msg = f"gold: {key!r} is {gold[key]!r}: it is the name of a {key}, so text is needed"
            raise ValueError(msg)  # noqa: TRY004  what pydantic takes for a validation error


def read_gold(
    place: str | Mapping[str, str],
    context: Any,
    *,
    text_columns: Collection[str],
    missing_values: Collection[str] = MISSING_VALUES,
) -> pa.Table:
    """Read gold from where an expectation says it is."""
    source = path_in(context, place) if isinstance(place, str) else _referenced(place, context)
    try:
        return read_table(source, text_columns=text_columns, missing_values=tuple(missing_values))
    except InputError as error:
        raise InputError(f"gold: {error}") from None


def filtered(gold: pa.Table, row_condition: Any, condition_parser: str | None) -> pa.Table:
    """Return the gold rows that meet the row condition of a batch, as pandas understands it."""
    if not row_condition:
        return gold
    numbered = gold.to_pandas().reset_index(drop=True)
    try:
        engine = PandasExecutionEngine(batch_data_dict={"gold": numbered})
        chosen = engine.get_domain_records(
            {
                "batch_id": "gold",
                "row_condition": row_condition,
                "condition_parser": condition_parser,
            }
        )
    except Exception as error:  # noqa: BLE001  a condition can be anything
        raise InputError(
            f"gold cannot be filtered by the row_condition ({one_line(error)}): gold needs the "
            "columns that it names, or leave filter_gold out"
        ) from None
    if chosen.empty:
        raise InputError("no gold row meets the row_condition: leave filter_gold out, or add gold")
    return gold.take(pa.array(chosen.index.to_numpy()))


def path_in(context: Any, path: str) -> Path:
    """Return a path made absolute.

    A relative path starts at the project: the folder that holds the `gx` folder of a file context.
    Without one it starts at the working directory. A suite that is loaded from a file must not mean
    another file wherever it is run.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> path_in(SimpleNamespace(root_directory="/project/gx"), "data/gold.csv").as_posix()
    '/project/data/gold.csv'
    """
    root = getattr(context, "root_directory", None)
    start = Path(root).absolute().parent if root else Path.cwd()
    return start / Path(path).expanduser()


def _referenced(place: Mapping[str, str], context: Any) -> Any:
    name, asset, definition = (place[key] for key in REFERENCE)
    where = f"gold: data source {name!r}, asset {asset!r}, batch definition {definition!r}"
    if context is None:
        raise InputError(f"{where}: there is no data context to find it in; give a path instead")
    try:
        batch = (
            context.data_sources.get(name)
            .get_asset(asset)
            .get_batch_definition(definition)
            .get_batch()
        )
        rows = rows_of(batch)
        return rows.fetch(rows.names())
    except InputError as error:
        raise InputError(f"{where}: {error}") from None
    except Exception as error:  # noqa: BLE001  every kind of data source fails in its own way
        raise InputError(f"{where}: {one_line(error)}") from None

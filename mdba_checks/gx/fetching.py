"""From a batch to a table: only the columns that are needed, from pandas, SQL or Spark.

What comes back is something `mdba_checks.tables` reads. Labels on Spark stay there. Where a rule
needs all rows in one place (free text, pseudonyms, several group columns), and for gold, they are
collected, up to a limit that is checked before.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import pandas as pd
import pyarrow as pa

from mdba_checks.errors import InputError
from mdba_checks.tables import Source

# More than this is not collected from a Spark cluster into one process.
SPARK_ROW_LIMIT = 5_000_000


def one_line(error: BaseException) -> str:
    r"""Return the first line that an error says, or its type where it says nothing.

    Examples
    --------
    >>> one_line(ValueError("first\nsecond")), one_line(MemoryError())
    ('first', 'MemoryError')
    """
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return lines[0][:300] if lines else type(error).__name__


class Rows(Protocol):
    """The rows of a batch, wherever they are."""

    def names(self) -> list[str]:
        """Return the names of the columns."""

    def fetch(self, names: Sequence[str]) -> Source:
        """Bring some of the columns into this process."""


@dataclass(frozen=True)
class PandasRows:
    """A DataFrame."""

    frame: pd.DataFrame

    def names(self) -> list[str]:
        """Return the names of the columns; labels that are not text, by their text."""
        return [str(name) for name in self.frame.columns]

    def fetch(self, names: Sequence[str]) -> pd.DataFrame:
        """Return some columns; two of one name stay two, for the reader to complain about."""
        return self.frame.loc[:, [name in names for name in self.names()]]


@dataclass(frozen=True)
class SqlRows:
    """A table, view or query of a database.

    Attributes
    ----------
    data
        The batch as the engine knows it.
    selectable
        The batch or, under a row condition, a part of it.
    """

    data: Any
    selectable: Any

    def names(self) -> list[str]:
        """Return the names of the columns by asking for no rows, which every database allows."""
        import sqlalchemy as sa

        nothing = sa.select(sa.text("*")).select_from(self._from()).limit(0)
        with self._engine.get_connection() as connection:
            return list(connection.execute(nothing).keys())

    def fetch(self, names: Sequence[str]) -> pd.DataFrame:
        """Fetch some columns, with the values that the database gives."""
        import sqlalchemy as sa

        types = self._booleans_of_sqlite()
        columns = [sa.column(name, types.get(name)) for name in names]
        query = sa.select(*columns).select_from(self._from())
        with self._engine.get_connection() as connection:
            rows = [tuple(row) for row in connection.execute(query)]
        # As objects, because pandas would turn integers with a gap into floats.
        return pd.DataFrame(rows, columns=list(names), dtype=object)

    @property
    def _engine(self) -> Any:
        return self.data.execution_engine

    def _from(self) -> Any:
        import sqlalchemy as sa

        # A row condition or a partition makes a select of a table; SQL wants a name for that, and
        # for the text of a query.
        chosen = self.selectable
        if isinstance(chosen, sa.TextClause):
            chosen = sa.text(f"{chosen.text}\n").columns()  # the query may end in a comment
        return chosen.subquery() if isinstance(chosen, (sa.Select, sa.TextualSelect)) else chosen

    def _booleans_of_sqlite(self) -> dict[str, Any]:
        """Return the columns that SQLite declares to be boolean but gives as 0 and 1."""
        if self._engine.dialect_name != "sqlite" or not self.data.source_table_name:
            return {}
        import sqlalchemy as sa

        described = sa.inspect(self._engine.engine).get_columns(
            str(self.data.source_table_name), self.data.source_schema_name
        )
        types = {column["name"]: column["type"] for column in described}
        return {name: kind for name, kind in types.items() if isinstance(kind, sa.Boolean)}


@dataclass(frozen=True)
class SparkRows:
    """A Spark DataFrame."""

    frame: Any

    def names(self) -> list[str]:
        """Return the names of the columns."""
        return list(self.frame.columns)

    def chosen(self, names: Sequence[str]) -> Any:
        """Return some columns, where they are."""
        # Backticks, because a dot in a name would ask for a part of a struct.
        return self.frame.select(*(f"`{name.replace('`', '``')}`" for name in names))

    def fetch(self, names: Sequence[str]) -> Any:
        """Collect some columns as an Arrow table; refuse what is too large for one process."""
        return collected(self.chosen(names))


def collected(frame: Any) -> pa.Table:
    """Return a Spark DataFrame as an Arrow table; refuse what is too large for one process."""
    if frame.limit(SPARK_ROW_LIMIT + 1).count() > SPARK_ROW_LIMIT:
        raise InputError(
            f"the Spark batch has more than {SPARK_ROW_LIMIT:,} rows, the most that are collected "
            "into one process: choose fewer with row_condition or a narrower batch definition"
        )
    return frame.toArrow()


def rows_of(batch: Any) -> Rows:
    """Return the rows of a whole batch, without making it the active one of its engine."""
    data = batch.data
    if hasattr(data, "selectable"):
        return SqlRows(data, data.selectable)
    if isinstance(data.dataframe, pd.DataFrame):
        return PandasRows(data.dataframe)
    return SparkRows(data.dataframe)

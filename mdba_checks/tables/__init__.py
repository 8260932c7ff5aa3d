"""Labels and gold: read them from where they are, check them, encode them for the models.

The labels table has one row per decision: who decided, what, about a member of which group, and
the features the decision may have depended on. The gold table has the right decision for a few
items with the same features. `load` turns both into arrays in an order that depends on their
content only; everything that cannot be used is an `InputError` with the way out.
"""

from mdba_checks.tables.arrays import BoolArray, FloatArray, IntArray
from mdba_checks.tables.blocks import Table
from mdba_checks.tables.data import Data, GoldRows, LabelRows
from mdba_checks.tables.exports import Imported, Wishes, read_export
from mdba_checks.tables.hashing import (
    ROWS_HASH,
    RowsTotal,
    content,
    content_hash,
    order_mark,
    row_fingerprints,
)
from mdba_checks.tables.kinds import Kind, kind_of
from mdba_checks.tables.loading import Opened, load, open_tables
from mdba_checks.tables.matrix import Matrix
from mdba_checks.tables.origin import Origin
from mdba_checks.tables.partitions import (
    ROWS_CHANGED,
    KeptRows,
    LocalPartitions,
    Partitions,
    PartsRead,
    Remote,
    RemoteMatrix,
    RemoteRows,
    TakenOut,
    needs_dask,
    parts_of,
)
from mdba_checks.tables.pseudonyms import KEY_VARIABLE, pseudonym, read_key, under_pseudonyms
from mdba_checks.tables.questions import Question, attributes_of, combined_names
from mdba_checks.tables.roles import GOLD_ROUND, GOLD_WEIGHT, text_columns
from mdba_checks.tables.sources import (
    SUFFIXES,
    Source,
    first_line,
    is_database,
    is_remote,
    json_records,
    local_copy,
    open_csv,
    open_parquet,
    open_table,
    read_csv,
    read_source,
    read_table,
    source_name,
    without_file_scheme,
    without_secrets,
)
from mdba_checks.tables.summary import DataSummary
from mdba_checks.tables.text import as_names, canonical, match_name
from mdba_checks.tables.text_models import TextModel

__all__ = [
    "GOLD_ROUND",
    "GOLD_WEIGHT",
    "KEY_VARIABLE",
    "ROWS_CHANGED",
    "ROWS_HASH",
    "SUFFIXES",
    "BoolArray",
    "Data",
    "DataSummary",
    "FloatArray",
    "GoldRows",
    "Imported",
    "IntArray",
    "KeptRows",
    "Kind",
    "LabelRows",
    "LocalPartitions",
    "Matrix",
    "Opened",
    "Origin",
    "Partitions",
    "PartsRead",
    "Question",
    "Remote",
    "RemoteMatrix",
    "RemoteRows",
    "RowsTotal",
    "Source",
    "Table",
    "TakenOut",
    "TextModel",
    "Wishes",
    "as_names",
    "attributes_of",
    "canonical",
    "combined_names",
    "content",
    "content_hash",
    "first_line",
    "is_database",
    "is_remote",
    "json_records",
    "kind_of",
    "load",
    "local_copy",
    "match_name",
    "needs_dask",
    "open_csv",
    "open_parquet",
    "open_table",
    "open_tables",
    "order_mark",
    "parts_of",
    "pseudonym",
    "read_csv",
    "read_export",
    "read_key",
    "read_source",
    "read_table",
    "row_fingerprints",
    "source_name",
    "text_columns",
    "under_pseudonyms",
    "without_file_scheme",
    "without_secrets",
]

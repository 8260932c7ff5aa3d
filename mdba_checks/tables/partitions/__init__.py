"""Labels that stay in the parts in which they are: on a Spark or Dask cluster, or in files.

Workers turn rows into arrays, and the deciding process asks for summaries, a bounded sample of
features, and what a function makes of the rows of a bucket of labelers.
"""

from mdba_checks.tables.partitions.kept import KeptRows, TakenOut
from mdba_checks.tables.partitions.opening import load_parts, needs_dask, parts_of
from mdba_checks.tables.partitions.partitioned import (
    BUCKET,
    ROWS_CHANGED,
    LocalPartitions,
    Partitions,
    PartsRead,
)
from mdba_checks.tables.partitions.remote import Remote, RemoteMatrix, RemoteRows

__all__ = [
    "BUCKET",
    "ROWS_CHANGED",
    "KeptRows",
    "LocalPartitions",
    "Partitions",
    "PartsRead",
    "Remote",
    "RemoteMatrix",
    "RemoteRows",
    "TakenOut",
    "load_parts",
    "needs_dask",
    "parts_of",
]

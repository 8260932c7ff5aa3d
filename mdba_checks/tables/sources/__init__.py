"""Where tables are: data frames, CSV, Parquet, Excel and JSON files, object storage, databases."""

from mdba_checks.tables.sources.csv_files import read_csv
from mdba_checks.tables.sources.database import first_line, is_database, without_secrets
from mdba_checks.tables.sources.excel_files import split_sheet
from mdba_checks.tables.sources.json_files import json_records
from mdba_checks.tables.sources.object_storage import is_remote, local_copy, without_file_scheme
from mdba_checks.tables.sources.parquet_files import LargeParquet, columns_of, files_of
from mdba_checks.tables.sources.reading import (
    SUFFIXES,
    Source,
    dates_in_text,
    open_csv,
    open_parquet,
    open_table,
    read_source,
    read_table,
    source_name,
)
from mdba_checks.tables.sources.values import typed

__all__ = [
    "SUFFIXES",
    "LargeParquet",
    "Source",
    "columns_of",
    "dates_in_text",
    "files_of",
    "first_line",
    "is_database",
    "is_remote",
    "json_records",
    "local_copy",
    "open_csv",
    "open_parquet",
    "open_table",
    "read_csv",
    "read_source",
    "read_table",
    "source_name",
    "split_sheet",
    "typed",
    "without_file_scheme",
    "without_secrets",
]

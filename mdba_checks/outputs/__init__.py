"""What a check leaves behind: its record, the data set with its findings, the history of checks.

Files appear whole or not at all. A data set leaves with a sidecar that says what was decided about
it; `verify` compares the two, and `rerun` makes the check again from its record. What leaves is
decided by `decide_release`, whoever asks.
"""

from mdba_checks.outputs.annotate import (
    annotate,
    refuse_annotated,
    rows_of_biased,
    values_of_biased,
)
from mdba_checks.outputs.cached_assessment import (
    from_cache,
    row_arrays,
    to_cache,
    with_row_arrays,
)
from mdba_checks.outputs.copied_rows import ArrowRows, column_names, format_of
from mdba_checks.outputs.files import check_target, make_folder, whole_file, write_whole
from mdba_checks.outputs.findings_csv import as_csv, findings_csv, rules_csv
from mdba_checks.outputs.gold_sheets import (
    DEFAULT_ROUNDS,
    Answers,
    GoldChoice,
    choose_gold,
    read_answers,
    sheet_format,
    write_sheet,
)
from mdba_checks.outputs.history import History, read_check, trend
from mdba_checks.outputs.json_text import parse_json, to_json, to_plain_value
from mdba_checks.outputs.lineage import openlineage_facets
from mdba_checks.outputs.mapping import write_mapping
from mdba_checks.outputs.object_storage import address, is_there, remove
from mdba_checks.outputs.quarantine import Quarantine, quarantine, removed_path, takes_rows_out
from mdba_checks.outputs.record import Record, to_record
from mdba_checks.outputs.release_rule import (
    Blocked,
    Release,
    decide_release,
    release,
    write_release,
)
from mdba_checks.outputs.released import Released, read_released
from mdba_checks.outputs.rerun import Rerun, rerun
from mdba_checks.outputs.row_findings import ADDED_COLUMNS
from mdba_checks.outputs.side_by_side import SideBySide, side_by_side
from mdba_checks.outputs.sidecar import Published, check_outputs, sidecar_path
from mdba_checks.outputs.verification import Verification, supersede, verify

__all__ = [
    "ADDED_COLUMNS",
    "DEFAULT_ROUNDS",
    "Answers",
    "ArrowRows",
    "Blocked",
    "GoldChoice",
    "History",
    "Published",
    "Quarantine",
    "Record",
    "Release",
    "Released",
    "Rerun",
    "SideBySide",
    "Verification",
    "address",
    "annotate",
    "as_csv",
    "check_outputs",
    "check_target",
    "choose_gold",
    "column_names",
    "decide_release",
    "findings_csv",
    "format_of",
    "from_cache",
    "is_there",
    "make_folder",
    "openlineage_facets",
    "parse_json",
    "quarantine",
    "read_answers",
    "read_check",
    "read_released",
    "refuse_annotated",
    "release",
    "remove",
    "removed_path",
    "rerun",
    "row_arrays",
    "rows_of_biased",
    "rules_csv",
    "sheet_format",
    "side_by_side",
    "sidecar_path",
    "supersede",
    "takes_rows_out",
    "to_cache",
    "to_json",
    "to_plain_value",
    "to_record",
    "trend",
    "values_of_biased",
    "verify",
    "whole_file",
    "with_row_arrays",
    "write_mapping",
    "write_release",
    "write_sheet",
    "write_whole",
]

"""Gold by design: which items experts should judge, sheets for them, and their answers.

`choose_gold` draws items and makes a sheet, `write_sheet` writes it as CSV, Excel or Label Studio
tasks, and `read_answers` makes a gold table of what comes back.
"""

from mdba_checks.outputs.gold_sheets.answers import Answers, read_answers
from mdba_checks.outputs.gold_sheets.choosing import DEFAULT_ROUNDS, GoldChoice, choose_gold
from mdba_checks.outputs.gold_sheets.sheet import sheet_format, write_sheet

__all__ = [
    "DEFAULT_ROUNDS",
    "Answers",
    "GoldChoice",
    "choose_gold",
    "read_answers",
    "sheet_format",
    "write_sheet",
]

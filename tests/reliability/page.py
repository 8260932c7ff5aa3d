"""The tables of docs/reliability.md, made from what the tests try and from committed runs.

python -m tests.reliability.page    # renews them
"""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path

from tests.reliability.base import Ends, Entry, Refused, Unaffected
from tests.reliability.catalogue import ENTRIES

ROOT = Path(__file__).parents[2]
RESULTS = ROOT / "benchmarks" / "results"
PAGE = ROOT / "docs" / "reliability.md"


def catalogue() -> str:
    """Return how many kinds of input go through which door, and what has to come out."""
    from tests.reliability.test_catalogue_gx import expressible

    doors: dict[str, Callable[[Entry], bool]] = {
        "Python": lambda _: True,
        "command line": lambda _: True,
        "Great Expectations": expressible,
        "Prefect": lambda _: True,
    }
    rows = []
    for door, enters in doors.items():
        tried = [entry for entry in ENTRIES if enters(entry)]
        count = Counter(type(entry.outcome) for entry in tried)
        ends = [count[kind] for kind in (Refused, Unaffected, Ends)]
        rows.append([door, *map(str, (len(tried), *ends))])
    head = ["door", "kinds tried", "refused", "the same findings", "another verdict"]
    return _table([head, *rows])


def rows_of(name: str) -> list[dict[str, str]]:
    """Return the lines of a committed CSV file."""
    lines = (RESULTS / name).read_text(encoding="utf-8").splitlines()
    return list(csv.DictReader(line for line in lines if not line.startswith("#")))


def of_results(name: str) -> str:
    """Return a committed CSV file as a table."""
    rows = rows_of(name)
    head = [each.replace("_", " ") for each in rows[0]]
    return _table([head, *(list(row.values()) for row in rows)])


TABLES: dict[str, Callable[[], str]] = {
    "catalogue": catalogue,
    "draws": lambda: of_results("draws.csv"),
    "fuzz": lambda: of_results("fuzz.csv"),
    "faults": lambda: of_results("faults.csv"),
}


def shown(name: str) -> str:
    """Return what the page shows."""
    begin, end = _marks(name)
    return PAGE.read_text(encoding="utf-8").partition(begin)[2].partition(end)[0]


def renew(*names: str) -> None:
    """Put tables into the page as they are now."""
    for name in names:
        begin, end = _marks(name)
        before, _, rest = PAGE.read_text(encoding="utf-8").partition(begin)
        text = before + begin + TABLES[name]() + end + rest.partition(end)[2]
        PAGE.write_text(text, encoding="utf-8")


def _marks(name: str) -> tuple[str, str]:
    return f"<!-- {name}: written by python -m tests.reliability.page -->\n", f"<!-- end of {name}"


def _table(rows: Iterable[list[str]]) -> str:
    head, *rest = rows
    return "".join(f"| {' | '.join(each)} |\n" for each in (head, ["---"] * len(head), *rest))


if __name__ == "__main__":
    renew(*TABLES)

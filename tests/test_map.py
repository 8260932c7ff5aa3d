"""The map in CONTRIBUTING.md is the house: every room is on it, and uses only rooms above it."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "mdba_checks"
NO_ROOMS = {"__init__.py", "__main__.py", "__pycache__", "py.typed"}

text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
inside = text.partition("    mdba_checks/\n")[2].partition("    flows/")[0]
MAP = re.findall(r"^      ([a-z_]+(?:\.py|/)) ", inside, re.MULTILINE)


def test_every_room_is_on_the_map_once():
    rooms = {f"{each.name}/" if each.is_dir() else each.name for each in PACKAGE.iterdir()}
    rooms = {each for each in rooms if each.rstrip("/") not in NO_ROOMS}
    assert sorted(MAP) == sorted(rooms)


def room_of(module: str) -> str | None:
    first, _, rest = module.partition(".")
    if first != "mdba_checks" or not rest:
        return None
    name = rest.partition(".")[0]
    return f"{name}/" if (PACKAGE / name).is_dir() else f"{name}.py"


def imported(path: Path) -> set[str]:
    """Return the rooms that a file imports at its top."""
    found = set()
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.ImportFrom) and node.module:
            found.add(room_of(node.module))
        elif isinstance(node, ast.Import):
            found |= {room_of(each.name) for each in node.names}
    return {each for each in found if each is not None}


@pytest.mark.parametrize("room", MAP)
def test_a_room_imports_rooms_above_it_only(room):
    here = PACKAGE / room.rstrip("/")
    used = set()
    for path in here.rglob("*.py") if here.is_dir() else [here]:
        used |= imported(path)
    above = set(MAP[: MAP.index(room) + 1])
    assert used <= above, f"{room} imports {sorted(used - above)}"

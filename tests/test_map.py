"""The layout in CONTRIBUTING.md is the one there is; data goes one way; packages are private.

A package uses entries of the layout above it. What a package's `__init__` does not export is
private to it, and so it is for the packages inside it.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "mdba_checks"
NOT_LISTED = {"__init__.py", "__main__.py", "__pycache__", "py.typed"}
MOST_ENTRIES = 16  # py.typed and __pycache__ not counted

text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
inside = text.partition("    mdba_checks/\n")[2].partition("    flows/")[0]
LAYOUT = re.findall(r"^      ([a-z_]+(?:\.py|/)) ", inside, re.MULTILINE)

# Tests that need something private to a package they do not mirror.
EXCEPTIONS = {
    "tests/docs/test_command_line.py",  # the page is made from the commands themselves
    "tests/docs/test_commands.py",
    "tests/gx/test_validate.py",  # the tables of the demo, in small
    "tests/reliability/faults/bench.py",  # imports before it forks
    "tests/reliability/test_catalogue_gx.py",  # which field stands for which setting
    "tests/reliability/test_secrets.py",  # tries every command there is
    "tests/tables/test_larger_than_memory.py",  # makes the pool smaller than it would be
    "tests/test_assessment.py",  # makes buckets and pool smaller than they would be
}


@dataclass(frozen=True)
class Import:
    """A name that a file imports from a module of ours; no name for a whole module."""

    module: str
    name: str | None
    at_the_top: bool


def imports(path: Path) -> Iterator[Import]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    top = set(map(id, tree.body))
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module:
            for each in node.names:
                yield Import(node.module, each.name, id(node) in top)
        elif isinstance(node, ast.Import):
            for each in node.names:
                yield Import(each.name, None, id(node) in top)


def entry_of(module: str) -> str | None:
    first, _, rest = module.partition(".")
    if first != "mdba_checks" or not rest:
        return None
    name = rest.partition(".")[0]
    return f"{name}/" if (PACKAGE / name).is_dir() else f"{name}.py"


def exports(package: str) -> set[str]:
    """Return the names in ``__all__`` of a package."""
    tree = ast.parse((ROOT / package.replace(".", "/") / "__init__.py").read_text(encoding="utf-8"))
    for node in tree.body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__":
            return set(ast.literal_eval(node.value))
    return set()


def is_inside(path: Path, package: str) -> bool:
    """Return whether a file is part of a package, or mirrors it or a package around it."""
    here = path.relative_to(ROOT)
    home = ".".join(("mdba_checks", *here.parent.parts[1:]))
    if here.parts[0] == "mdba_checks":
        return f"{home}.".startswith(f"{package}.")
    mirrors = here.parts[0] == "tests" and home != "mdba_checks"
    return mirrors and (
        f"{home}.".startswith(f"{package}.") or f"{package}.".startswith(f"{home}.")
    )


def what_is_private(path: Path) -> Iterator[str]:
    """Yield what a file imports from inside a package that it is not part of."""
    for each in imports(path):
        parts = each.module.split(".")
        if parts[0] != "mdba_checks":
            continue
        for length in range(2, len(parts) + 1):
            package = ".".join(parts[:length])
            if not (ROOT / package.replace(".", "/")).is_dir() or is_inside(path, package):
                continue
            if length < len(parts):
                yield each.module
            elif each.name is not None and each.name not in exports(package):
                yield f"{each.module}.{each.name}"
            break


SOURCES = [
    path
    for folder in ("mdba_checks", "flows", "examples", "benchmarks", "tests")
    for path in sorted((ROOT / folder).rglob("*.py"))
]


def test_every_entry_is_in_the_layout_once():
    found = {f"{each.name}/" if each.is_dir() else each.name for each in PACKAGE.iterdir()}
    found = {each for each in found if each.rstrip("/") not in NOT_LISTED}
    assert sorted(LAYOUT) == sorted(found)
    assert len(LAYOUT) <= MOST_ENTRIES


@pytest.mark.parametrize("entry", LAYOUT)
def test_an_entry_imports_entries_above_it_only(entry):
    here = PACKAGE / entry.rstrip("/")
    used = {
        entry_of(each.module)
        for path in (here.rglob("*.py") if here.is_dir() else [here])
        for each in imports(path)
        if each.at_the_top
    }
    above = {None, *LAYOUT[: LAYOUT.index(entry) + 1]}
    assert used <= above, f"{entry} imports {sorted(map(str, used - above))}"


@pytest.mark.parametrize(
    "package", sorted({".".join(p.parent.relative_to(ROOT).parts) for p in PACKAGE.rglob("*.py")})
)
def test_a_package_says_what_is_public(package):
    assert exports(package)


def test_nobody_imports_what_is_private_to_another_package():
    found = {
        str(path.relative_to(ROOT)): names
        for path in SOURCES
        if (names := sorted(set(what_is_private(path))))
    }
    assert {name: found[name] for name in found if name not in EXCEPTIONS} == {}
    assert set(found) >= EXCEPTIONS, "an exception is not needed any more"

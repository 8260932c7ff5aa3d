"""Functions and modules stay small enough to be read in one go, and calls say what they pass.

A command's parameters are its options, and a flow's the fields of a form: they are as many as users
need. Whatever else is on a list here says why.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
MOST_LINES, MOST_PARAMETERS, MOST_POSITIONAL, MOST_IN_A_FILE = 120, 8, 4, 500
MOST_IN_AN_ADAPTER = 150
Function = ast.FunctionDef | ast.AsyncFunctionDef

# Functions whose parameters are what users choose.
MANY_PARAMETERS = {
    "simulation/generator.py: simulate": "public and by keyword: what a simulated data set is like",
    "estimation/rates.py: estimate_rates": "by keyword: everything that a check can change",
    "findings/judge.py: judge": "by keyword: what is known about every comparison",
}
LONG_FILES = {
    "mdba_checks/config.py": "declares every setting, once",
}

LIBRARY = sorted((ROOT / "mdba_checks").rglob("*.py"))
TESTS = sorted((ROOT / "tests").rglob("*.py"))


def functions(path: Path) -> Iterator[Function]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, Function):
            yield node


def is_for_users(path: Path, function: Function) -> bool:
    """Return whether the parameters are options of a command or fields of a flow."""
    if path.parent.name == "cli":
        return any("typer." in ast.unparse(each) for each in function.args.args if each.annotation)
    return any(ast.unparse(each).startswith(("task(", "flow(")) for each in function.decorator_list)


def name_of(path: Path, function: Function) -> str:
    return f"{path.relative_to(ROOT / 'mdba_checks').as_posix()}: {function.name}"


def n_parameters(function: Function) -> int:
    given = function.args
    names = [each.arg for each in (*given.posonlyargs, *given.args, *given.kwonlyargs)]
    return len([name for name in names if name not in ("self", "cls")])


def n_lines(path: Path, function: Function) -> int:
    """Return how long a function is; of a command, what comes behind its options."""
    first = function.body[0].lineno if is_for_users(path, function) else function.lineno
    return (function.end_lineno or first) - first + 1


def test_no_function_is_longer_than_a_page():
    long = {
        name_of(path, each): n_lines(path, each)
        for path in LIBRARY
        for each in functions(path)
        if n_lines(path, each) > MOST_LINES
    }
    assert long == {}


def test_no_function_has_more_parameters_than_a_reader_keeps_in_mind():
    many = {
        name_of(path, each)
        for path in LIBRARY
        for each in functions(path)
        if n_parameters(each) > MOST_PARAMETERS and not is_for_users(path, each)
    }
    assert many == set(MANY_PARAMETERS)


@pytest.mark.parametrize("folder", ["mdba_checks", "tests", "benchmarks", "flows", "examples"])
def test_no_module_is_longer_than_500_lines(folder):
    long = {
        path.relative_to(ROOT).as_posix()
        for path in sorted((ROOT / folder).rglob("*.py"))
        if len(path.read_text(encoding="utf-8").splitlines()) > MOST_IN_A_FILE
    }
    assert long == {each for each in LONG_FILES if each.startswith(f"{folder}/")}


def test_an_adapter_to_another_tool_only_translates():
    adapters = ROOT / "mdba_checks" / "integrations"
    lines = {
        path.name: len(path.read_text(encoding="utf-8").splitlines())
        for path in adapters.glob("*.py")
    }
    assert {"airflow.py", "dagster.py", "mlflow.py", "openlineage.py"} < set(lines)
    assert max(lines.values()) <= MOST_IN_AN_ADAPTER


def test_objects_with_many_parts_are_made_by_the_names_of_the_parts():
    classes = {
        node.name
        for path in LIBRARY
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.ClassDef)
    }
    by_position = [
        f"{path.relative_to(ROOT)}:{node.lineno} {ast.unparse(node.func)}"
        for path in LIBRARY
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call)
        and ast.unparse(node.func) in classes
        and len(node.args) > MOST_POSITIONAL
    ]
    assert by_position == []

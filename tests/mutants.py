"""Whether the tests notice: change one thing at a time in a module, and run that module's tests.

A mutant is the module with one operator, comparison, constant or condition changed. It is noticed
when a test fails. What survives is either not tested or means the same. Every module runs in a copy
of the repository, against its own tests only, so that a line is tested where a reader looks for it.

    python tests/mutants.py                      # all modules, a sample of each
    python tests/mutants.py --only verdict --all --survivors
"""

from __future__ import annotations

import argparse
import ast
import compileall
import copy
import csv
import importlib
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from py_compile import PycInvalidationMode

import pytest

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "benchmarks" / "results" / "mutants.csv"
SECONDS = 240  # a mutant that never ends is noticed

# Module: the tests that mirror it.
MODULES = {
    "estimation/right_answers.py": ("tests/estimation/test_right_answers.py",),
    "estimation/estimators/mdba_dr.py": ("tests/estimation/estimators/test_mdba_dr.py",),
    "estimation/estimators/mdba.py": ("tests/estimation/estimators/test_mdba.py",),
    "estimation/estimators/evidence.py": (
        "tests/estimation/estimators/test_evidence.py",
        "tests/estimation/estimators/test_baselines.py",
    ),
    "estimation/lack_of_fit.py": ("tests/estimation/test_lack_of_fit.py",),
    "findings/judge.py": ("tests/findings/test_judge.py",),
    "findings/inference.py": ("tests/findings/test_inference.py",),
    "findings/sensitivity.py": ("tests/findings/test_sensitivity.py",),
    "verdict.py": ("tests/test_verdict.py",),
    "metrics.py": ("tests/test_metrics.py",),
    "outputs/record.py": ("tests/outputs/test_record.py",),
    "outputs/history.py": ("tests/outputs/test_history.py",),
    "outputs/quarantine.py": ("tests/outputs/test_quarantine.py",),
    "outputs/sidecar.py": ("tests/outputs/test_sidecar.py",),
    "outputs/annotate.py": ("tests/outputs/test_annotate.py",),
    "tables/roles.py": ("tests/tables/test_bad_input.py",),
    "tables/encoding.py": ("tests/tables/test_encoding.py",),
    "tables/features.py": ("tests/tables/test_features.py",),
}

_COMPARISONS: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq, ast.In: ast.NotIn, ast.NotIn: ast.In, ast.Is: ast.IsNot, ast.IsNot: ast.Is,
}  # fmt: skip
_OPERATORS: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult, ast.Pow: ast.Mult,
    ast.BitAnd: ast.BitOr, ast.BitOr: ast.BitAnd, ast.FloorDiv: ast.Mult, ast.Mod: ast.Mult,
}  # fmt: skip


@dataclass(frozen=True)
class Mutant:
    """A module with one thing changed: the change numbered `choice` of the node `number`."""

    source: str
    line: int
    change: str
    number: int
    choice: int

    def text(self) -> str:
        """Return the changed module.

        Examples
        --------
        >>> mutants("x = 1 if a < b else 2")[1].text()
        'x = 1 if a <= b else 2'
        """
        tree = ast.parse(self.source)
        node = list(ast.walk(tree))[self.number]
        _replace(tree, node, list(_changes(node))[self.choice][1])
        return ast.unparse(ast.fix_missing_locations(tree))


def mutants(source: str) -> list[Mutant]:
    """Return every mutant of a module.

    Examples
    --------
    >>> [each.change for each in mutants("x = 1 if a < b else 2")]
    ['a < b becomes its opposite', 'a < b becomes a <= b', '1 becomes 2', '2 becomes 3']
    """
    tree = ast.parse(source)
    left_out = _left_out(tree)
    return [
        Mutant(source, getattr(node, "lineno", 0), change, number, choice)
        for number, node in enumerate(ast.walk(tree))
        if id(node) not in left_out
        for choice, (change, _) in enumerate(_changes(node))
    ]


def _left_out(tree: ast.AST) -> set[int]:
    """Return what no test can or should notice: types, docstrings and texts for people."""
    out: set[int] = set()
    for node in ast.walk(tree):
        skipped: list[ast.AST | None] = []
        if isinstance(node, (ast.arg, ast.AnnAssign)):
            skipped.append(node.annotation)
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            skipped += [node.returns, *node.decorator_list]
        if isinstance(node, ast.ClassDef):
            skipped += [*node.decorator_list, *node.bases]
        if isinstance(node, ast.JoinedStr):
            skipped.append(node)
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            skipped.append(node)
        for each in skipped:
            if each is not None:
                out |= {id(inner) for inner in ast.walk(each)}
    return out


def _changes(node: ast.AST) -> Iterator[tuple[str, ast.AST]]:
    """Yield what a node can be changed to, and how to say it."""
    if isinstance(node, ast.Compare):
        for place, operator in enumerate(node.ops):
            other = copy.deepcopy(node)
            other.ops[place] = _COMPARISONS[type(operator)]()
            yield f"{ast.unparse(node)} becomes {ast.unparse(other)}", other
    elif isinstance(node, ast.BinOp) and type(node.op) in _OPERATORS:
        if isinstance(node.left, ast.Constant) and isinstance(node.left.value, str):
            return
        other_op = copy.deepcopy(node)
        other_op.op = _OPERATORS[type(node.op)]()
        yield f"{ast.unparse(node)} becomes {ast.unparse(other_op)}", other_op
    elif isinstance(node, ast.BoolOp):
        other_bool = copy.deepcopy(node)
        other_bool.op = ast.Or() if isinstance(node.op, ast.And) else ast.And()
        yield f"{ast.unparse(node)} becomes {ast.unparse(other_bool)}", other_bool
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, (ast.Not, ast.Invert, ast.USub)):
        yield f"{ast.unparse(node)} becomes {ast.unparse(node.operand)}", node.operand
    elif isinstance(node, ast.Constant) and isinstance(node.value, (bool, int, float)):
        value = not node.value if isinstance(node.value, bool) else node.value + 1
        yield f"{node.value} becomes {value}", ast.Constant(value)
    elif isinstance(node, (ast.If, ast.IfExp, ast.While)):
        other_if = copy.deepcopy(node)
        other_if.test = ast.UnaryOp(ast.Not(), other_if.test)
        yield f"{ast.unparse(node.test)} becomes its opposite", other_if


def _replace(tree: ast.AST, old: ast.AST, new: ast.AST) -> None:
    for parent in ast.walk(tree):
        for name, value in ast.iter_fields(parent):
            if value is old:
                setattr(parent, name, new)
            elif isinstance(value, list):
                setattr(parent, name, [new if each is old else each for each in value])


class Copy:
    """The repository in a folder of its own, where modules are changed and tests run.

    A process there has imported what takes long to import, and makes a copy of itself for every
    run of the tests.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        skipped = shutil.ignore_patterns("__pycache__", ".git", ".venv*", "results", "site")
        shutil.copytree(ROOT, folder, ignore=skipped, dirs_exist_ok=True)
        # Compiled once, and found by content: a changed module is compiled anew.
        compileall.compile_dir(
            folder / "mdba_checks", quiet=2, invalidation_mode=PycInvalidationMode.CHECKED_HASH
        )
        self.process = subprocess.Popen(
            [sys.executable, "-B", str(folder / "tests" / "mutants.py"), "--serve"],
            cwd=folder,
            env={**os.environ, "PYTHONPATH": str(folder), "PYTHONHASHSEED": "0"},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def passes(self, module: str, source: str, tests: tuple[str, ...]) -> bool:
        """Return whether the tests of a module pass with this source, and put it back."""
        path = self.folder / "mdba_checks" / module
        original = path.read_text(encoding="utf-8")
        path.write_text(source, encoding="utf-8")
        if self.process.stdin is None or self.process.stdout is None:
            raise RuntimeError
        self.process.stdin.write(" ".join(tests) + "\n")
        self.process.stdin.flush()
        passed = self.process.stdout.readline().strip() == "0"
        path.write_text(original, encoding="utf-8")
        return passed


def serve() -> None:
    """Read tests from stdin, run them in a copy of this process, and write how it ended."""
    for name in ("xgboost", "mdba_checks.report", "mdba_checks.simulation"):
        importlib.import_module(name)
    # What these have imported stays; our own modules are imported anew by every run.
    for name in [each for each in sys.modules if each.partition(".")[0] == "mdba_checks"]:
        del sys.modules[name]
    for line in sys.stdin:
        child = os.fork()
        if not child:
            signal.alarm(SECONDS)
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, 1)
            os.dup2(nowhere, 2)
            options = ["-q", "-x", "-p", "no:xdist", "-p", "no:cacheprovider"]
            os._exit(int(pytest.main([*options, *line.split()])))
        sys.stdout.write(f"{os.waitpid(child, 0)[1]}\n")
        sys.stdout.flush()


def main() -> None:
    """Write which share of mutants is noticed, per module."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--only", default="", help="modules whose path holds this text")
    parser.add_argument("--sample", type=int, default=40, help="mutants per module")
    parser.add_argument("--all", action="store_true", help="every mutant instead of a sample")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--survivors", action="store_true", help="print what no test noticed")
    asked = parser.parse_args()
    if asked.serve:
        serve()
        return
    rows = {}
    if RESULTS.exists():
        with RESULTS.open(encoding="utf-8") as file:
            rows = {row["module"]: row for row in csv.DictReader(file)}
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(asked.jobs) as pool:
        copies = [Copy(Path(folder) / str(number)) for number in range(asked.jobs)]
        for module, tests in MODULES.items():
            if asked.only not in module:
                continue
            source = (ROOT / "mdba_checks" / module).read_text(encoding="utf-8")
            if not copies[0].passes(module, source, tests):
                sys.stderr.write(f"{module}: its tests fail without any change\n")
                continue
            every = mutants(source)
            chosen = every if asked.all else _sample(every, asked.sample)

            def run(number: int, chosen=chosen, module=module, tests=tests) -> list[bool]:
                mine = chosen[number :: asked.jobs]
                return [copies[number].passes(module, each.text(), tests) for each in mine]

            parts = list(pool.map(run, range(asked.jobs)))
            survived = [
                each
                for number, part in enumerate(parts)
                for each, passed in zip(chosen[number :: asked.jobs], part, strict=True)
                if passed
            ]
            noticed = len(chosen) - len(survived)
            rows[module] = {
                "module": module,
                "mutants": str(len(every)),
                "tried": str(len(chosen)),
                "noticed": str(noticed),
                "share": f"{noticed / max(len(chosen), 1):.3f}",
            }
            _say(f"{module}: {noticed} of {len(chosen)} noticed ({len(every)} there are)")
            if asked.survivors:
                for each in survived:
                    _say(f"  line {each.line}: {each.change}")
            _write(rows)
        for each in copies:
            each.process.terminate()


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def _sample(every: list[Mutant], n: int) -> list[Mutant]:
    return random.Random(0).sample(every, min(n, len(every)))  # noqa: S311


def _write(rows: dict[str, dict[str, str]]) -> None:
    known = [rows[module] for module in MODULES if module in rows]
    with RESULTS.open("w", encoding="utf-8", newline="") as file:
        names = ["module", "mutants", "tried", "noticed", "share"]
        writer = csv.DictWriter(file, names, lineterminator="\n")
        writer.writeheader()
        writer.writerows(known)


if __name__ == "__main__":
    main()

"""Nothing that comes from outside is run: not by the library, not through settings or records."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest
import yaml

from mdba_checks import CheckConfig
from mdba_checks.cli import main
from mdba_checks.config import StrictLoader
from mdba_checks.errors import InputError

ROOT = Path(__file__).parents[2]
SOURCES = sorted((ROOT / "mdba_checks").rglob("*.py")) + sorted((ROOT / "flows").rglob("*.py"))


DANGEROUS_MODULES = {"pickle", "cPickle", "dill", "cloudpickle", "marshal", "shelve", "code", "pty"}
DANGEROUS_CALLS = {
    "eval",
    "exec",
    "compile",
    "__import__",
    "os.system",
    "os.popen",
    "joblib.load",
    "pd.read_pickle",
    "pandas.read_pickle",
    "yaml.full_load",
    "yaml.unsafe_load",
    "yaml.load_all",
}


def dangers(source: str) -> list[str]:
    """Return what a module does that could run what it is given."""
    found = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            found += [a.name for a in node.names if a.name.split(".")[0] in DANGEROUS_MODULES]
        elif isinstance(node, ast.ImportFrom):
            module = node.module or ""
            named = {f"{module}.{alias.name}" for alias in node.names}
            if module.split(".")[0] in DANGEROUS_MODULES:
                found.append(module)
            found += sorted(named & (DANGEROUS_CALLS | {"joblib.load", "pandas.read_pickle"}))
        elif isinstance(node, ast.Call):
            called = ast.unparse(node.func)
            given_ = {each.arg: each.value for each in node.keywords}
            if called in DANGEROUS_CALLS or called.endswith((".read_pickle", ".to_pickle")):
                found.append(called)
            loader = given_.get("Loader")
            if called == "yaml.load" and (not loader or ast.unparse(loader) != "StrictLoader"):
                found.append(called)
            for name in ("shell", "allow_pickle"):
                value = given_.get(name)
                if value is not None and ast.unparse(value) != "False":
                    found.append(f"{name}={ast.unparse(value)}")
            if called.startswith("subprocess."):
                found.append(called)
    return found


def test_nothing_in_the_library_runs_what_it_is_given():
    assert len(SOURCES) > 50
    found = {path.name: dangers(path.read_text(encoding="utf-8")) for path in SOURCES}
    assert {name: each for name, each in found.items() if each} == {}


@pytest.mark.parametrize(
    "source",
    [
        "import pickle",
        "from pickle import loads",
        "import joblib\njoblib.load(path)",
        "from joblib import load",
        "import pandas as pd\npd.read_pickle(path)",
        "eval(text)",
        "exec(text)",
        "import yaml\nyaml.load(text, Loader=yaml.Loader)",
        "import yaml\nyaml.load(text)",
        "import yaml\nyaml.unsafe_load(text)",
        "import numpy as np\nnp.load(path, allow_pickle=True)",
        "import subprocess\nsubprocess.run(['ls'])",
        "Popen(command, shell=True)",
        "import os\nos.system(command)",
    ],
)
def test_the_scan_sees_what_it_looks_for(source):
    assert dangers(source)


def test_the_loader_of_settings_is_a_safe_one():
    assert issubclass(StrictLoader, yaml.SafeLoader)
    constructors = {str(tag) for tag in StrictLoader.yaml_constructors}
    assert not [tag for tag in constructors if "python" in tag]


@pytest.mark.parametrize(
    "text",
    [
        "reference: !!python/object/apply:os.system ['touch hacked']",
        "reference: !!python/name:os.system",
        "!!python/object/new:type {args: [z, !!python/tuple [], {}]}",
    ],
)
def test_settings_cannot_make_objects(text, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mdba.yaml").write_text(text)
    with pytest.raises(InputError, match="not valid YAML"):
        CheckConfig.from_yaml(tmp_path / "mdba.yaml")
    assert [each.name for each in tmp_path.iterdir()] == ["mdba.yaml"]


def test_settings_that_unfold_without_end_are_one_line(tmp_path):
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 12)]
    (tmp_path / "mdba.yaml").write_text("\n".join([*lines, "features: *a11"]))
    with pytest.raises(InputError) as caught:
        CheckConfig.from_yaml(tmp_path / "mdba.yaml")
    assert len(str(caught.value)) < 10_000


@pytest.mark.parametrize("text", ["[" * 200_000, "{" + '"a":{' * 200_000, "null", "9" * 10_000])
def test_records_of_strangers_are_refused_in_one_line(text, tmp_path, capsys):
    (tmp_path / "labels.csv").write_text("labeler,label\n")
    record = tmp_path / "labels.csv.mdba.json"
    record.write_text(text)
    assert main(["verify", str(tmp_path / "labels.csv")]) == 1
    assert main(["trend", str(record)]) == 2
    captured = capsys.readouterr()
    assert "internal error" not in captured.err
    assert len(captured.err.splitlines()) == 1

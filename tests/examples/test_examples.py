"""Examples run as they are, and find what was put into their data.

Those for Great Expectations and for corrected labels are run beside the tests of their packages.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from mdba_checks.config import CheckConfig

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples"
ELSEWHERE = {"corrected_labels.py", "gx_checkpoint.py", "gx_contract.py", "gx_expectation.py"}
OURS = {"content_moderation.py", "hiring.py", "llm_judges.py", "medical_triage.py"}


def run(name: str, *arguments: str) -> str:
    done = subprocess.run(
        [sys.executable, "-W", "error", str(EXAMPLES / name), *arguments],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_hiring_finds_the_gaps_that_were_put_in(tmp_path):
    out = run("hiring.py", str(tmp_path / "report.html"))
    rows = re.findall(r"^ *(L\d) +women +(\S+) .* (\w+) +(\S+)$", out, re.MULTILINE)
    assert [finding for _, _, finding, _ in rows] == ["biased", "biased", "fair", "fair"]
    for _, gap, _, truth in rows:
        assert float(gap) == pytest.approx(float(truth), abs=0.06)
    assert "\nblock:" in out
    assert (tmp_path / "report.html").read_text(encoding="utf-8").startswith("<!")


def test_moderation_finds_who_removes_harmless_speech():
    out = run("content_moderation.py")
    assert re.search(
        r"^L1: biased: removes 3\d\.\d% of harmless dialect and \d\.\d% of harmless standard: ",
        out,
        re.MULTILINE,
    )
    assert out.count(": fair: ") == 2
    assert out.endswith("verdict: annotate\n")


def test_the_model_that_is_biased_is_found_among_models_and_people():
    out = run("llm_judges.py")
    rows = re.findall(r"^ *(.+?) +dialect +(\S+) .* (\w+)$", out, re.MULTILINE)
    found = {name: finding for name, _, finding in rows}
    gaps = {name: float(gap) for name, gap, _ in rows}
    # 65% of the helpful answers in the dialect were put in, about 95% of the others.
    assert gaps["judge-a, prompt 3"] == pytest.approx(0.65 - 0.95, abs=0.04)
    assert {name for name in found if found[name] == "biased"} == {"judge-a, prompt 3", "model"}
    assert {name for name in found if found[name] == "fair"} == {
        *("judge-b, prompt 3", "Ines", "Jonas", "Kim", "person")
    }
    page = (ROOT / "docs" / "model-judges.md").read_text(encoding="utf-8")
    assert out.partition("\n\n")[0] in page


def test_triage_says_what_would_settle_the_rest():
    out = run("medical_triage.py")
    assert re.search(r"L1 .* biased", out)
    assert "inconclusive\n" in out
    assert re.search(r"^- .* more gold items of women", out, re.MULTILINE)


def test_every_example_is_run_somewhere():
    assert {path.name for path in EXAMPLES.glob("*.py")} == OURS | ELSEWHERE
    assert {path.name for path in EXAMPLES.glob("*.ipynb")} == {"first_look.ipynb"}


def test_the_commented_settings_are_all_settings_with_their_defaults():
    config = CheckConfig.from_yaml(EXAMPLES / "mdba.yaml")
    assert config == CheckConfig(reference="men")
    written = (EXAMPLES / "mdba.yaml").read_text(encoding="utf-8")
    for name in [*CheckConfig.model_fields, *type(config.policy).model_fields]:
        assert re.search(rf"^ *{name}:", written, re.MULTILINE), name
    for name in type(config.columns).model_fields:
        assert re.search(rf"^  {name}:", written, re.MULTILINE), name


@pytest.fixture(scope="module")
def notebook():
    """Return the notebook as it is stored, and as it is after a run in a kernel of its own."""
    nbformat = pytest.importorskip("nbformat")
    nbclient = pytest.importorskip("nbclient")
    path = EXAMPLES / "first_look.ipynb"
    stored, again = nbformat.read(path, 4), nbformat.read(path, 4)
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("PYTHONPATH", str(ROOT))
        nbclient.NotebookClient(again, timeout=120, kernel_name="python3").execute()
    return stored, again


def printed(notebook) -> list[str]:
    """Return what each cell printed; a kernel may send it in several pieces."""
    streams = (
        [out["text"] for out in cell.get("outputs", ()) if out["output_type"] == "stream"]
        for cell in notebook.cells
    )
    return ["".join(pieces) for pieces in streams if pieces]


@pytest.mark.filterwarnings("default")  # of the kernel's client, which is not ours
def test_the_notebook_runs_and_says_what_it_shows(notebook):
    stored, again = notebook
    assert printed(again)[0] == printed(stored)[0] == "0.1 block\n0.3 block\n0.6 pass\n"
    pictures = [
        output
        for cell in again.cells
        for output in cell.get("outputs", ())
        if "image/png" in output.get("data", {})
    ]
    assert len(pictures) == 1


def test_the_notebook_stays_small():
    assert (EXAMPLES / "first_look.ipynb").stat().st_size < 100_000

"""One rule: every policy gives the same verdict, rows and files, whoever asks."""

from __future__ import annotations

import json
from functools import cache
from itertools import product
from pathlib import Path

import pandas as pd
import pytest

from mdba_checks import Blocked, CheckConfig, assess, read_released, release
from mdba_checks.cli import main
from mdba_checks.outputs import decide_release
from tests.helpers import selection_table, some_gold

# Shares of yes are counted, so the findings follow from the counts.
PEOPLE = {
    "fair": {"men": (1000, 2000), "women": (1000, 2000)},
    "biased": {"men": (1600, 2000), "women": (400, 2000)},
    "open": {"men": (5, 10), "women": (6, 10)},
}
DATA = {"clean": ("fair",), "unsure": ("fair", "open"), "mixed": ("fair", "biased", "open")}
MODES = ("block", "annotate", "quarantine")
ON_INCONCLUSIVE = (None, "block", "annotate", "quarantine", "pass")
EVERYBODY, STOPPED = "all", ""
# (data, mode): for every value of on_inconclusive the verdict, and whose rows may be trained on.
EXPECTED = {("clean", mode): [("pass", EVERYBODY)] * 5 for mode in MODES} | {
    ("unsure", "block"): [
        ("inconclusive", STOPPED),
        ("inconclusive", STOPPED),
        ("annotate", EVERYBODY),
        ("quarantine", "fair"),
        ("pass", EVERYBODY),
    ],
    ("unsure", "annotate"): [
        ("annotate", EVERYBODY),
        ("inconclusive", STOPPED),
        ("annotate", EVERYBODY),
        ("quarantine", "fair"),
        ("pass", EVERYBODY),
    ],
    ("unsure", "quarantine"): [
        ("quarantine", "fair"),
        ("inconclusive", STOPPED),
        ("annotate", EVERYBODY),
        ("quarantine", "fair"),
        ("pass", EVERYBODY),
    ],
    ("mixed", "block"): [("block", STOPPED)] * 5,
    ("mixed", "annotate"): [
        ("annotate", EVERYBODY),
        ("inconclusive", STOPPED),
        ("annotate", EVERYBODY),
        ("quarantine", "biased fair"),
        ("annotate", EVERYBODY),
    ],
    ("mixed", "quarantine"): [
        ("quarantine", "fair"),
        ("inconclusive", STOPPED),
        ("quarantine", "fair open"),
        ("quarantine", "fair"),
        ("quarantine", "fair open"),
    ],
}
EXIT = {"pass": 0, "annotate": 0, "quarantine": 0, "block": 1, "inconclusive": 3}
CASES = [
    (data, mode, on_inconclusive, *EXPECTED[data, mode][place])
    for data, mode in product(DATA, MODES)
    for place, on_inconclusive in enumerate(ON_INCONCLUSIVE)
]
every_policy = pytest.mark.parametrize(("data", "mode", "on_inconclusive", "verdict", "who"), CASES)


def settings(mode: str, on_inconclusive: str | None) -> CheckConfig:
    policy = {"mode": mode, "on_inconclusive": on_inconclusive, "max_undecided": 0}
    return CheckConfig(estimator="selection_rate", reference="men", jobs=1, policy=policy)


def people(who: str, data: str) -> set[str]:
    return set(DATA[data]) if who == EVERYBODY else set(who.split())


@pytest.fixture(scope="module")
def folders(tmp_path_factory) -> dict[str, Path]:
    made = {}
    for data, names in DATA.items():
        made[data] = tmp_path_factory.mktemp(data)
        labels = selection_table({name: PEOPLE[name] for name in names})
        labels.to_csv(made[data] / "labels.csv", index=False)
        some_gold().to_csv(made[data] / "gold.csv", index=False)
    return made


@cache
def reasons(data: str, mode: str, on_inconclusive: str | None) -> list[str]:
    """Return what Python is told; everybody else has to be told the same."""
    labels = selection_table({name: PEOPLE[name] for name in DATA[data]})
    assessment = assess(labels, some_gold(), settings(mode, on_inconclusive))
    return list(decide_release(labels, some_gold(), assessment).decision.reasons)


def written(folder: Path, mode: str, on_inconclusive: str | None, verdict: str) -> set[str]:
    """Return the files that should be there; rows can leave only where a quarantine is possible."""
    if verdict in ("block", "inconclusive"):
        return set()
    names = {"out.csv", "out.csv.mdba.json"}
    if "quarantine" in (mode, on_inconclusive):
        names.add("out.removed.csv")
    return names


@every_policy
def test_on_the_command_line(folders, tmp_path, capsys, data, mode, on_inconclusive, verdict, who):
    config = tmp_path / "mdba.yaml"
    settings(mode, on_inconclusive).to_yaml(config)
    folder, out = folders[data], tmp_path / "out"
    out.mkdir()
    command = ["check", str(folder / "labels.csv"), "--gold", str(folder / "gold.csv")]
    command += ["--config", str(config)]
    assert main(command) == EXIT[verdict]  # without an output it says what would happen
    said = " ".join(capsys.readouterr().out.split())
    assert f"Verdict: {verdict.upper()}" in said
    assert ("would be taken out" in said) == (verdict == "quarantine")
    assert main([*command, "--json", "-"]) == EXIT[verdict]
    told = json.loads(capsys.readouterr().out)
    assert (told["verdict"], told["reasons"]) == (verdict, reasons(data, mode, on_inconclusive))
    assert main([*command, "--output", str(out / "out.csv"), "--quiet"]) == EXIT[verdict]
    assert {each.name for each in out.iterdir()} == written(out, mode, on_inconclusive, verdict)
    if who:
        released = read_released(out / "out.csv")
        assert released.decision.verdict == verdict
        assert set(released.table["labeler"]) == people(who, data)


@every_policy
def test_in_python(folders, data, mode, on_inconclusive, verdict, who):
    tables = folders[data] / "labels.csv", folders[data] / "gold.csv"
    if not who:
        with pytest.raises(Blocked) as caught:
            release(*tables, settings(mode, on_inconclusive))
        assert caught.value.decision.verdict == verdict
        assert list(caught.value.decision.reasons) == reasons(data, mode, on_inconclusive)
        return
    released = release(*tables, settings(mode, on_inconclusive))
    assert released.decision.verdict == verdict
    assert released.decision.lets_through == (verdict == "pass")
    assert set(released.table["labeler"]) == people(who, data)


@every_policy
def test_in_prefect(folders, tmp_path, data, mode, on_inconclusive, verdict, who):
    pytest.importorskip("prefect", reason="needs mdba-checks[prefect]")
    from prefect.settings import PREFECT_LOCAL_STORAGE_PATH, temporary_settings

    from mdba_checks.prefect import (
        OUTCOMES,
        STOPPED_STATES,
        assess_labels,
        fingerprint,
        write_outputs,
    )

    config = settings(mode, on_inconclusive).model_dump(mode="json")
    tables = [str(folders[data] / name) for name in ("labels.csv", "gold.csv")]
    out = tmp_path / "out"
    out.mkdir()
    with temporary_settings({PREFECT_LOCAL_STORAGE_PATH: tmp_path / "storage"}):
        prints = fingerprint.fn(*tables, config)
        kept = assess_labels.fn(*tables, config, prints)
        planned = write_outputs.fn(*tables, kept, config["policy"], None)
        ended = write_outputs.fn(*tables, kept, config["policy"], str(out / "out.csv"))
    assert planned["verdict"] == ended["verdict"] == verdict
    assert planned["reasons"] == ended["reasons"] == reasons(data, mode, on_inconclusive)
    assert (OUTCOMES[ended["verdict"]] in STOPPED_STATES) == (EXIT[verdict] != 0)
    assert {each.name for each in out.iterdir()} == written(out, mode, on_inconclusive, verdict)
    assert {Path(each).name for each in ended["files"].values()} == {
        each.name for each in out.iterdir()
    }
    if who:
        assert set(read_released(out / "out.csv").table["labeler"]) == people(who, data)


@every_policy
def test_in_great_expectations(folders, data, mode, on_inconclusive, verdict, who):
    pytest.importorskip("great_expectations", reason="needs mdba-checks[gx]")
    from great_expectations import get_context

    from mdba_checks.gx import ExpectLabelerTprGapToBeWithin

    source = get_context(mode="ephemeral").data_sources.add_pandas("mdba")
    asset = source.add_dataframe_asset("labels").add_batch_definition_whole_dataframe("labels")
    batch = asset.get_batch({"dataframe": pd.read_csv(folders[data] / "labels.csv")})
    result = batch.validate(
        ExpectLabelerTprGapToBeWithin(
            max_gap=0.1,
            gold=str(folders[data] / "gold.csv"),
            reference_group="men",
            estimator="selection_rate",
            mode=mode,
            on_inconclusive=on_inconclusive,
            max_undecided=0,
        )
    )
    assert result["result"]["details"]["verdict"] == verdict
    assert result["result"]["details"]["reasons"] == reasons(data, mode, on_inconclusive)
    # A batch is used whole: rows that have to go are still in it.
    assert result["success"] == (verdict in ("pass", "annotate"))
    assert result["success"] == (who == EVERYBODY)


@every_policy
def test_in_a_suite_on_the_command_line(
    folders, tmp_path, capsys, data, mode, on_inconclusive, verdict, who
):
    pytest.importorskip("great_expectations", reason="needs mdba-checks[gx]")
    rule = {
        "type": "expect_labeler_tpr_gap_to_be_within",
        "kwargs": {
            "max_gap": 0.1,
            "gold": str(folders[data] / "gold.csv"),
            "reference_group": "men",
            "estimator": "selection_rate",
            "mode": mode,
            "on_inconclusive": on_inconclusive,
            "max_undecided": 0,
        },
    }
    suite = tmp_path / "suite.json"
    suite.write_text(json.dumps({"name": "s", "expectations": [rule]}))
    command = ["validate", "--suite", str(suite), "--labels", str(folders[data] / "labels.csv")]
    # The table is used whole afterwards, so that rows which would have to go stop it.
    expected = 1 if verdict == "quarantine" else EXIT[verdict]
    assert main([*command, "--json", "-"]) == expected
    (found,) = json.loads(capsys.readouterr().out)["rules"]
    assert found["details"]["verdict"] == verdict
    assert (expected == 0) == (who == EVERYBODY)

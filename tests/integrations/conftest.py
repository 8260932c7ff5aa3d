"""Labels that are stopped, and labels that pass, as files."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

import pytest
import yaml

from mdba_checks.simulation import simulate

# Each of these tools has an environment of its own, in which `make test-adapters` runs its tests.
collect_ignore = [
    f"test_{name}.py" for name in ("airflow", "dagster", "mlflow") if find_spec(name) is None
]


@dataclass(frozen=True)
class Files:
    """The paths of two tables and of the settings for them."""

    labels: str
    gold: str
    config: str


def _written(folder: Path, tprs: list[float], **policy: object) -> Files:
    made = simulate(n_items=6_000, n_labelers=3, gold_per_group=300, tprs=tprs, seed=1)
    made.labels.to_parquet(folder / "labels.parquet")
    made.gold.to_csv(folder / "gold.csv", index=False)
    settings = {"reference": "men", "policy": policy}
    (folder / "mdba.yaml").write_text(yaml.safe_dump(settings), encoding="utf-8")
    return Files(*(str(folder / name) for name in ("labels.parquet", "gold.csv", "mdba.yaml")))


@pytest.fixture(scope="session")
def biased(tmp_path_factory) -> Files:
    """L1 finds 50% of the suitable women: 94% of the men."""
    return _written(tmp_path_factory.mktemp("biased"), [0.5, 0.94, 0.94], max_gap=0.2)


@pytest.fixture(scope="session")
def partly(tmp_path_factory) -> Files:
    """The same labels under a policy that takes biased labelers out."""
    folder = tmp_path_factory.mktemp("partly")
    return _written(folder, [0.5, 0.94, 0.94], max_gap=0.2, mode="quarantine")


@pytest.fixture(scope="session")
def fair(tmp_path_factory) -> Files:
    return _written(tmp_path_factory.mktemp("fair"), [0.94, 0.94, 0.94], max_gap=0.2)

"""Embeddings: every form gives the same features, and dimensions that are noise do no harm."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from mdba_checks import CheckConfig, assess
from mdba_checks.errors import InputError
from mdba_checks.simulation import simulate
from mdba_checks.tables import Data, load

WIDTH = 60
ROWS = 500


@pytest.fixture(scope="module")
def made() -> tuple[pd.DataFrame, pd.DataFrame, np.ndarray]:
    rng = np.random.default_rng(3)
    vectors = (rng.normal(size=(ROWS, 5)) @ rng.normal(size=(5, WIDTH))).astype(np.float32)
    right = (vectors[:, 0] > 0).astype(int)
    base = pd.DataFrame(
        {"group": np.where(np.arange(ROWS) % 2, "women", "men"), "item": range(ROWS)}
    )
    labels = base.assign(labeler=rng.choice(["Ann", "Bo"], ROWS), label=right).iloc[:300]
    return labels, base.assign(gold=right).iloc[300:], vectors


def lists(table: pd.DataFrame, vectors: np.ndarray, folder: Path) -> Path:
    column = pa.array(list(vectors), pa.list_(pa.float32()))
    return parquet(pa.Table.from_pandas(table, preserve_index=False), column, folder)


def fixed_lists(table: pd.DataFrame, vectors: np.ndarray, folder: Path) -> Path:
    column = pa.FixedSizeListArray.from_arrays(pa.array(vectors.ravel()), WIDTH)
    return parquet(pa.Table.from_pandas(table, preserve_index=False), column, folder)


def parquet(table: pa.Table, column: pa.Array, folder: Path) -> Path:
    path = folder / f"{'labels' if 'label' in table.column_names else 'gold'}.parquet"
    pq.write_table(table.append_column("emb", column), path)
    return path


def arrays(table: pd.DataFrame, vectors: np.ndarray, _: Path) -> pd.DataFrame:
    return table.assign(emb=list(vectors))


def records(table: pd.DataFrame, vectors: np.ndarray, folder: Path) -> Path:
    path = folder / f"{'labels' if 'label' in table else 'gold'}.jsonl"
    rows = table.assign(emb=[[float(each) for each in row] for row in vectors])
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows.to_dict("records")))
    return path


def columns(table: pd.DataFrame, vectors: np.ndarray, _: Path) -> pd.DataFrame:
    wide = pd.DataFrame(vectors, columns=[f"emb_{n}" for n in range(WIDTH)], index=table.index)
    return pd.concat([table, wide], axis=1)


def read(made: tuple, form, folder: Path) -> Data:
    labels, gold, vectors = made
    return load(
        form(labels, vectors[:300], folder), form(gold, vectors[300:], folder), CheckConfig()
    )


@pytest.mark.parametrize("form", [fixed_lists, arrays, records, columns])
def test_every_form_of_an_embedding_gives_the_same_features(made, form, tmp_path):
    expected, found = read(made, lists, tmp_path), read(made, form, tmp_path)
    assert any(f"vectors of {WIDTH} numbers" in each.holds for each in found.columns)
    # Five directions hold all there is; they were mixed into sixty numbers.
    assert found.labels.trees.shape == expected.labels.trees.shape
    assert found.labels.trees.shape[1] <= 12
    for ours, theirs in ((found.labels, expected.labels), (found.gold, expected.gold)):
        place = np.argsort(ours.position), np.argsort(theirs.position)
        np.testing.assert_allclose(
            ours.trees[:][place[0]], theirs.trees[:][place[1]], rtol=1e-4, atol=1e-4
        )


def test_vectors_of_different_models_are_refused_in_one_line(made, tmp_path):
    labels, gold, vectors = made
    tables = (
        arrays(labels, vectors[:300], tmp_path),
        arrays(gold, vectors[300:, :30], tmp_path),
    )
    with pytest.raises(InputError, match="60 numbers in labels and of 30 in gold"):
        load(*tables, CheckConfig())


def test_300_dimensions_of_noise_do_not_widen_the_interval():
    made = simulate(n_items=2500, n_labelers=2, tprs=[0.5, 0.94], gold_per_group=200, seed=1)
    config = CheckConfig(reference="men", jobs=1)
    plain = assess(made.labels, made.gold, config).gaps
    rng = np.random.default_rng(5)
    noisy = [
        table.assign(emb=list(rng.normal(size=(len(table), 300)).astype(np.float32)))
        for table in (made.labels, made.gold)
    ]
    # Rows about one item have one embedding.
    if "item" in made.labels:
        noisy = [table.drop(columns="item") for table in noisy]
        plain = assess(*(t.drop(columns="item") for t in (made.labels, made.gold)), config).gaps
    found = assess(*noisy, config).gaps
    assert found["finding"].tolist() == plain["finding"].tolist()
    width, before = (each["ci_high"] - each["ci_low"] for each in (found, plain))
    assert (width / before).max() < 1.15
    assert (found["gap"] - plain["gap"]).abs().max() < 0.02

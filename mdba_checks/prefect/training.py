"""Training behind the gate: ingest, check, train on what was released, judge the model on gold.

Two barriers stand before the training task. The gate has to end Completed; after a block, a crash
or anything else the training task is not even created. And training reads its data through the
sidecar: it cannot be pointed at a file that the gate did not release exactly so.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, Literal

import numpy as np
import xgboost
from prefect import flow, task
from prefect.artifacts import create_markdown_artifact
from prefect.cache_policies import NO_CACHE
from prefect.client.schemas.objects import State
from prefect.states import Completed, Failed

from mdba_checks.config import CheckConfig
from mdba_checks.errors import InputError
from mdba_checks.outputs import Released, read_released, whole_file
from mdba_checks.prefect.gate import label_bias_gate
from mdba_checks.prefect.outputs import verify_released
from mdba_checks.report import artifact_key, training_page
from mdba_checks.tables import Data, load

Target = Literal["raw", "corrected"]
CORRECTED = "mdba_p_positive"


@flow(name="gated-training", persist_result=True, result_serializer="json")
def gated_training(
    labels: str | None = None,
    gold: str = "gold.csv",
    config: str | dict[str, Any] | CheckConfig = "mdba.yaml",
    output: str | None = None,
    force: bool = False,
    released: str | None = None,
    target: Target = "raw",
    model: str | None = None,
) -> State[dict[str, Any]]:
    """Train a model on labels that the gate lets through, and on no others.

    Parameters
    ----------
    labels
        The labels to check and train on: a path or URL::table.
    gold
        The gold table. It is what the gate holds labels against, and what the model is judged on.
    config
        The settings of the check: a YAML file, or what such a file holds.
    output
        Where released labels go (.csv, .csv.gz or .parquet); training reads them from there.
    force
        Whether an older output may be replaced.
    released
        Labels that the gate has released already, instead of `labels`; the event of the gate names
        them. Their sidecar is the proof.
    target
        raw: the labels as they are; corrected: the probability that the right label is 1, which
        annotated data has.
    model
        Where the model goes, as .ubj or .json; by default beside the released labels.
    """
    if released is None:
        if labels is None or output is None:
            raise InputError("give labels and output, or what was released already")
        state = label_bias_gate(labels, gold, config, output, force, return_state=True)
        # Whatever is not an explicit yes is a no.
        if not state.is_completed():
            name = state.name if state.name in ("Blocked", "Undecided") else "Failed"
            return Failed(name=name, message=f"the gate: {state.name}. {state.message}")
        result: Any = state.result()  # the flow returns a state, and Prefect what is in it
        released = str(result["released"])
    verified = verify_released(released)
    file = model or f"{released}.model.ubj"
    train_model(released, gold, target, file, force=force)
    rates = evaluate_model(released, gold, file)
    page = training_page(rates, source=Path(released).name, target=target, model=file)
    create_markdown_artifact(
        page, key=artifact_key("training", released), description="The model's rates by group"
    )
    result = {"model": file, "rates": rates, "trained_on": verified["content_hash"]}
    return Completed(name="Trained", message=f"trained on {released}", data=result)


@task(name="train model", cache_policy=NO_CACHE)
def train_model(released: str, gold: str, target: Target, model: str, *, force: bool) -> None:
    """Train XGBoost on released labels and write the model.

    It holds the data against its sidecar itself, whoever calls it.
    """
    data, source = _encoded(released, gold)
    wanted = _targets(source, data, target)
    matrix = _matrix(data, data.labels.trees[:], wanted)
    settings = {
        "objective": "binary:logistic",  # takes probabilities as targets, too
        "max_depth": 4,
        "learning_rate": 0.1,
        "seed": source.config.seed,
        "nthread": source.config.jobs or os.cpu_count() or 1,
    }
    booster = xgboost.train(settings, matrix, num_boost_round=150)
    form = Path(model).suffix.removeprefix(".") or "ubj"
    with whole_file(model, force=force) as temporary:
        temporary.write_bytes(booster.save_raw(raw_format=form))


@task(name="evaluate model", cache_policy=NO_CACHE)
def evaluate_model(released: str, gold: str, model: str) -> list[dict[str, Any]]:
    """Return the model's true and false positive rate in every group, on the gold items.

    Corrected labels have learned from the same gold, so these rates flatter them a little; for a
    claim about the model, judge it on items that nobody has used.
    """
    # The same two tables as in training give the same codes for categories.
    data, _ = _encoded(released, gold)
    booster = xgboost.Booster(model_file=model)
    said = booster.predict(_matrix(data, data.gold.trees)) >= 0.5
    rates = []
    for code, group in enumerate(data.groups):
        here = data.gold.group == code
        right = data.gold.correct == 1
        rates.append(
            {
                "group": group,
                "tpr": _share(said[here & right]),
                "fpr": _share(said[here & ~right]),
                "n_gold": int(here.sum()),
            }
        )
    return rates


def _encoded(released: str, gold: str) -> tuple[Data, Released]:
    source = read_released(released)
    return load(source.table, gold, source.config), source


def _targets(source: Released, data: Data, target: Target) -> np.ndarray[Any, Any]:
    if target == "raw":
        return data.labels.decision
    if CORRECTED not in source.table:
        raise InputError(
            f"there is no column {CORRECTED!r} in what was released, which corrected labels need: "
            "use target: raw, or a policy and an estimator that annotate"
        )
    return source.table[CORRECTED].to_numpy(dtype=float)[data.labels.position]


def _matrix(data: Data, features: Any, target: Any = None) -> xgboost.DMatrix:
    return xgboost.DMatrix(
        features,
        target,
        feature_types=list(data.tree_types),
        enable_categorical=True,
    )


def _share(said: np.ndarray[Any, Any]) -> float | None:
    return float(said.mean()) if len(said) else None

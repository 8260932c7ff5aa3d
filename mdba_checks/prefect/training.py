"""Training behind the gate: ingest, check, train on what was released, judge the model on gold.

Two barriers stand before the training task. The gate has to end Completed; after a block, a crash
or anything else the training task is not even created. And training reads its data through the
sidecar: it cannot be pointed at a file that the gate did not release exactly so.
"""

from __future__ import annotations

import math
import os
from dataclasses import asdict
from pathlib import Path
from typing import Any, Literal

import numpy as np
import xgboost
from prefect import flow, task
from prefect.artifacts import create_markdown_artifact
from prefect.cache_policies import NO_CACHE
from prefect.client.schemas.objects import State
from prefect.states import Completed, Failed

from mdba_checks.errors import InputError
from mdba_checks.findings import BIASED, INCONCLUSIVE, ModelGap, model_gaps
from mdba_checks.outputs import Released, read_released, whole_file
from mdba_checks.prefect.gate import label_bias_gate
from mdba_checks.prefect.outputs import verify_released
from mdba_checks.prefect.settings import Config
from mdba_checks.prefect.support import log
from mdba_checks.report import artifact_key, model_sentence, training_page
from mdba_checks.tables import Data, Opened, open_tables

Target = Literal["raw", "corrected"]
FailOn = Literal["nothing", "biased", "undecided"]
CORRECTED = "mdba_p_positive"


@flow(name="gated-training", persist_result=True, result_serializer="json")
def gated_training(
    labels: str | Path | None = None,
    gold: str | Path = "gold.csv",
    config: Config = "mdba.yaml",
    output: str | Path | None = None,
    force: bool = False,
    released: str | Path | None = None,
    target: Target = "raw",
    model: str | Path | None = None,
    fail_on: FailOn = "nothing",
) -> State[dict[str, Any]]:
    """Train a model on labels that the gate lets through, and on no others.

    Parameters
    ----------
    labels
        The labels to check and train on: a path or URL::table.
    gold
        The gold table. It is what the gate holds labels against, and what the model is judged on.
    config
        The settings of the check: a YAML file, what such a file holds, ``variable:NAME`` or
        ``block:NAME``; see `settings_of`.
    output
        Where released labels go (.csv, .csv.gz or .parquet); training reads them from there.
    force
        Whether an older output may be replaced.
    released
        Labels that the gate has released already, instead of `labels`; the event of the gate names
        them. Their sidecar is the proof.
    target
        raw: the labels as they are, which annotated data must not be trained on; corrected: the
        probability that the right label is 1.
    model
        Where the model goes, as .ubj or .json; by default beside the released labels.
    fail_on
        When the run fails because of the model's own gap on gold: never (the state says it all the
        same); where it is beyond `max_gap`; or where that is undecided as well. The run is then
        named ModelBiased or ModelUndecided.
    """
    gold = str(gold)
    if released is None:
        if labels is None or output is None:
            raise InputError("give labels and output, or what was released already")
        state = label_bias_gate(labels, gold, config, output, force, return_state=True)
        # Whatever is not an explicit yes is a no.
        if not state.is_completed():
            if state.name not in ("Blocked", "Undecided"):
                state.result()  # raises what went wrong, as this run's own failure
            return Failed(name=state.name, message=f"the gate: {state.name}. {state.message}")
        result: Any = state.result()  # the flow returns a state, and Prefect what is in it
        released = str(result["released"])
    released = str(released)
    verified = verify_released(released)
    file = str(model) if model else f"{released}.model.ubj"
    train_model(released, gold, target, file, force=force)
    found = evaluate_model(released, gold, file)
    page = training_page(
        found["rates"], found["gaps"], source=Path(released).name, target=target, model=file
    )
    create_markdown_artifact(
        page, key=artifact_key("training", released), description="The model's rates by group"
    )
    message = f"trained on {released}. {' '.join(found['sentences'])}"
    findings = {each["finding"] for each in found["gaps"]}
    if fail_on != "nothing" and BIASED in findings:
        return Failed(name="ModelBiased", message=message)
    if fail_on == "undecided" and INCONCLUSIVE in findings:
        return Failed(name="ModelUndecided", message=message)
    result = {"model": file, **found, "trained_on": verified["content_hash"]}
    return Completed(name="Trained", message=message, data=result)


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
def evaluate_model(released: str, gold: str, model: str) -> dict[str, Any]:
    """Return what the model does to every group, on the gold items.

    Corrected labels have learned from the same gold, so these numbers flatter them a little; for a
    claim about the model, judge it on items that nobody has used.

    Returns
    -------
    dict
        ``rates``: true and false positive rate by group; ``gaps``: the gap in the metric of the
        check with its interval, and the finding by its policy; ``sentences``: the gaps in words.
    """
    # The same two tables as in training give the same codes for categories.
    opened, source = _opened(released, gold)
    booster = xgboost.Booster(model_file=model)
    rates, gaps = [], []
    said_by_row: dict[int, bool] = {}
    for question in opened.questions:
        data = opened.load(question)
        if not said_by_row:
            answers = booster.predict(_matrix(data, data.gold.trees)) >= 0.5
            said_by_row = dict(zip(data.gold.position.tolist(), answers.tolist(), strict=True))
        said = np.array([said_by_row[row] for row in data.gold.position.tolist()])
        about = {"attribute": question.attribute}
        rates += [{**about, **each} for each in _rates(said, data)]
        gaps += [{**about, **_plain(each)} for each in model_gaps(said, data, source.config)]
    config = source.config
    sentences = [model_sentence(each, config) for each in gaps]
    for sentence in sentences:
        log().info("%s", sentence)
    return {"rates": rates, "gaps": gaps, "sentences": sentences}


def _plain(gap: ModelGap) -> dict[str, Any]:
    """Return a gap as JSON can hold it: a number that does not exist is None."""
    return {
        key: None if isinstance(value, float) and not math.isfinite(value) else value
        for key, value in asdict(gap).items()
    }


def _rates(said: np.ndarray[Any, Any], data: Data) -> list[dict[str, Any]]:
    """Return the rates of a model in every group."""
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


def _opened(released: str, gold: str) -> tuple[Opened, Released]:
    source = read_released(released)
    opened = open_tables(source.table, gold, source.config)
    if opened.questions[0].label_class is not None:
        raise InputError(
            "a model is trained on one meaning of yes, and positive is 'each': name the values "
            "that count as positive"
        )
    return opened, source


def _encoded(released: str, gold: str) -> tuple[Data, Released]:
    """Return what a model is trained on; of several group columns, the first is the group."""
    opened, source = _opened(released, gold)
    return opened.load(opened.questions[0]), source


def _targets(source: Released, data: Data, target: Target) -> np.ndarray[Any, Any]:
    if target == "raw":
        approval = source.record.approval
        released = approval is not None and approval.decision == "release"
        if source.decision.verdict == "annotate" and not released:
            raise InputError(
                "the labels were annotated, and raw labels of biased labelers must not be trained "
                "on: use target: corrected, or mode: quarantine"
            )
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

"""`assess`: two tables are opened, every question about them is estimated, all are judged together.

`assess` opens the tables, `assess_tables` answers one question after the other (`_answer`: rates,
gaps, what the checks look at), and `_assessment` judges all answers together.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pandas as pd

from mdba_checks.assessment.result import Assessment
from mdba_checks.config import CheckConfig, EstimatorName
from mdba_checks.errors import NeedsAllRowsError
from mdba_checks.estimation import (
    ClassifierLearner,
    Estimator,
    Pooled,
    Progress,
    estimate_rates,
    estimator,
    jobs_of,
    open_engine,
    open_workers,
)
from mdba_checks.findings import (
    Estimated,
    about_rounds,
    at_look,
    estimated_gaps,
    inspect,
    judge_tables,
)
from mdba_checks.tables import (
    Data,
    DataSummary,
    IntArray,
    Opened,
    Origin,
    PartsRead,
    Question,
    Source,
    TextModel,
    open_tables,
    read_key,
    under_pseudonyms,
)


def assess(
    labels: Source,
    gold: Source,
    config: CheckConfig | None = None,
    *,
    learner: Any = None,
    text_model: TextModel | None = None,
    progress: Progress | None = None,
) -> Assessment:
    """Estimate how differently every labeler treats the groups.

    Parameters
    ----------
    labels, gold
        A DataFrame, a path (CSV, gzipped CSV, Parquet), or a SQLAlchemy URL with a table,
        ``"sqlite:///file.db::labels"``. Labels may be a Spark DataFrame, which is not collected.
    config
        Columns, method and policy.
    learner
        A scikit-learn classifier to use inside the labeler models instead of XGBoost.
    text_model
        A function from a list of texts to one vector each, to read free text with.
    progress
        Called with (stage, done, total) while models are fitted.

    Examples
    --------
    >>> from mdba_checks.simulation import simulate
    >>> made = simulate(n_items=3000, n_labelers=2, tprs=[0.5, 0.94], seed=1)
    >>> assessment = assess(made.labels, made.gold, CheckConfig(reference="men"))
    >>> assessment.gaps[["labeler", "group", "finding"]].iloc[0].tolist()
    ['L1', 'women', 'biased']
    """
    config = config or CheckConfig()
    return assess_with(
        labels,
        gold,
        config,
        [config.estimator],
        learner=learner,
        text_model=text_model,
        progress=progress,
    )[config.estimator]


def assess_with(
    labels: Source,
    gold: Source,
    config: CheckConfig,
    estimators: list[EstimatorName],
    *,
    learner: Any = None,
    text_model: TextModel | None = None,
    progress: Progress | None = None,
    in_parts: bool = True,
) -> dict[EstimatorName, Assessment]:
    """Assess with several estimators; the labeler models are fitted once for all of them.

    Labels stay in parts where they can, unless `in_parts` is false.
    """

    def assessed(*, in_parts: bool) -> dict[EstimatorName, Assessment]:
        if progress:
            progress("reading", 0, 1)
        opened = open_tables(labels, gold, config, text_model=text_model, in_parts=in_parts)
        if progress:
            progress("reading", 1, 1)
        return assess_tables(opened, config, estimators, learner=learner, progress=progress)

    if in_parts:
        with open_workers(labels, config):
            try:
                found = assessed(in_parts=True)
            except NeedsAllRowsError:
                if not isinstance(labels, (str, Path)):
                    raise
                found = assessed(in_parts=False)  # a file can be read here as well
    else:
        found = assessed(in_parts=False)
    origin = Origin.of(labels, gold, learner=learner, text_model=text_model)
    return {name: replace(each, origin=origin) for name, each in found.items()}


def assess_tables(
    opened: Opened,
    config: CheckConfig,
    estimators: list[EstimatorName],
    *,
    learner: Any = None,
    progress: Progress | None = None,
) -> dict[EstimatorName, Assessment]:
    """Answer every question about tables that are open; see `assess_with`."""
    asked, several = opened.questions, len(opened.questions) > 1

    def told(question: Question) -> Progress | None:
        if progress is None or not several:
            return progress
        title = question.title(asked)
        return lambda stage, done, total: progress(f"{stage} ({title})", done, total)

    each = ((opened.load(question), told(question)) for question in asked)
    return _assess_all(each, config, estimators, learner=learner)


def assess_data(
    data: Data,
    config: CheckConfig,
    estimators: list[EstimatorName],
    *,
    learner: Any = None,
    pooled: Pooled | None = None,
    progress: Progress | None = None,
) -> dict[EstimatorName, Assessment]:
    """Assess tables that are loaded already; see `assess_with`."""
    if config.pseudonymize and pooled is not None:
        msg = "pooled models are in the order of names, which pseudonymize does away with"
        raise ValueError(msg)
    return _assess_all([(data, progress)], config, estimators, learner=learner, pooled=pooled)


@dataclass(frozen=True)
class _Answer:
    """What was found about one question, by every estimator."""

    summary: DataSummary
    messages: tuple[str, ...]
    row_order: IntArray
    rounds: tuple[int, int] | None
    parts: PartsRead | None
    pseudonyms: Mapping[str, str] | None
    found: Mapping[EstimatorName, tuple[pd.DataFrame, Estimated]]


def _assess_all(
    each: Iterable[tuple[Data, Progress | None]],
    config: CheckConfig,
    estimators: list[EstimatorName],
    *,
    learner: Any,
    pooled: Pooled | None = None,
) -> dict[EstimatorName, Assessment]:
    """Estimate one question after the other, and judge all of them together."""
    asked = [estimator(name, config.c) for name in dict.fromkeys(estimators)]
    answers: dict[Question, _Answer] = {}
    with open_engine(config.engine, config.cluster, jobs_of(config)) as engine:
        for data, progress in each:
            how: dict[str, Any] = {"pooled": pooled, "engine": engine, "progress": progress}
            if learner is not None:
                how["learner"] = ClassifierLearner(learner)
            answers[data.question] = _answer(data, config, asked, how)
    return {one.name: _assessment(answers, config, one.name) for one in asked}


def _answer(
    data: Data, config: CheckConfig, asked: list[Estimator], how: Mapping[str, Any]
) -> _Answer:
    pseudonyms = None
    if config.pseudonymize:
        data, pseudonyms = under_pseudonyms(data, read_key())
    estimation = estimate_rates(
        data, asked, metric=config.metric, jobs=jobs_of(config), seed=config.seed, **how
    )
    inspection, looked = inspect(data), at_look(config, data.rounds)
    found = {
        one.name: estimated_gaps(
            data,
            estimation,
            one,
            inspection,
            looked.model_copy(update={"estimator": one.name}),
            how.get("progress"),
        )
        for one in asked
    }
    return _Answer(
        summary=DataSummary.of(data),
        messages=data.messages,
        row_order=data.labels_order,
        rounds=data.rounds,
        parts=data.parts,
        pseudonyms=pseudonyms,
        found=found,
    )


def _assessment(
    answers: Mapping[Question, _Answer], config: CheckConfig, name: EstimatorName
) -> Assessment:
    """Return what was found about all questions, judged together."""
    config = config.model_copy(update={"estimator": name})
    parts = [answer.found[name] for answer in answers.values()]
    first = next(iter(answers.values()))
    said = _said_once({question: each.messages for question, each in answers.items()})
    return Assessment(
        config=config,
        data=DataSummary.of_questions({asked: each.summary for asked, each in answers.items()}),
        messages=(*said, *about_rounds(config, first.rounds)),
        estimated=tuple(estimated for _, estimated in parts),
        row_order=first.row_order,
        pseudonyms=first.pseudonyms,
        _table=judge_tables(
            [(draft, estimated.basis) for draft, estimated in parts],
            at_look(config, first.rounds),
        ),
        rounds=first.rounds,
        parts=first.parts,
    )


def _said_once(messages: Mapping[Question, tuple[str, ...]]) -> list[str]:
    """Return what is said about the tables: once, and with the question where it is not for all."""
    said: dict[str, list[Question]] = {}
    for question, own in messages.items():
        for text in own:
            said.setdefault(text, []).append(question)
    return [
        text
        if len(about) == len(messages)
        else f"{'; '.join(one.title(list(messages)) for one in about)}: {text}"
        for text, about in said.items()
    ]

"""From two tables to a verdict: fingerprint, assess, decide.

What goes from task to task is names of tables and small JSON, never the tables. The assessment is
kept under a key made of content: of both tables, of the settings that numbers depend on, and of the
code. A second run on unchanged data takes it from there, and so does a run with another policy.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from prefect import task
from prefect.cache_policies import NO_CACHE

from mdba_checks.assessment import Assessment, assess_with
from mdba_checks.config import CheckConfig
from mdba_checks.errors import InputError
from mdba_checks.outputs import (
    from_cache,
    row_arrays,
    to_cache,
    to_record,
    whole_file,
    with_row_arrays,
)
from mdba_checks.prefect.support import (
    JSON,
    code_version,
    digest,
    log,
    passing_trouble,
    read_config,
    work_folder,
)
from mdba_checks.report import in_a_row
from mdba_checks.tables import (
    content_hash,
    pseudonym,
    read_key,
    read_table,
    source_name,
    text_columns,
)
from mdba_checks.verdict import Decision, gate

# Numbers do not depend on them: the policy judges what was found, and jobs only share the work.
_WITHOUT_EFFECT = {"policy", "jobs", "engine", "cluster"}


@task(
    name="fingerprint tables",
    cache_policy=NO_CACHE,  # the question is whether a table has changed
    retries=2,
    retry_delay_seconds=[5, 30],
    retry_condition_fn=passing_trouble,
)
def fingerprint(labels: str | Path, gold: str | Path, config: JSON | None = None) -> JSON:
    """Return the content hashes of both tables: ``{"labels": …, "gold": …}``.

    The hash is of what a table holds, whatever its format and the order of its columns.

    Examples
    --------
    >>> import tempfile
    >>> from mdba_checks.simulation import simulate
    >>> folder, made = Path(tempfile.mkdtemp()), simulate(n_items=2000, n_labelers=2)
    >>> made.labels.to_csv(folder / "labels.csv", index=False)
    >>> made.labels.to_parquet(folder / "labels.parquet")
    >>> csv, parquet = (str(folder / f"labels.{kind}") for kind in ("csv", "parquet"))
    >>> prints = fingerprint.fn(labels=csv, gold=parquet)
    >>> prints["labels"] == prints["gold"]
    True
    """
    settings = read_config(config)
    return {
        name: content_hash(
            read_table(
                source,
                text_columns=text_columns(settings),
                missing_values=settings.missing_values,
            )
        )
        for name, source in (("labels", labels), ("gold", gold))
    }


def assessment_key(prints: Mapping[str, str], config: CheckConfig) -> str:
    """Return the key under which an assessment is kept."""
    settings = config.model_dump(mode="json", exclude=_WITHOUT_EFFECT)
    # Another key gives other pseudonyms; its own pseudonym stands for it here.
    alias = pseudonym("the key itself", read_key()) if config.pseudonymize else ""
    return "mdba-" + digest([dict(prints), settings, alias, code_version()])


def _cache_key(context: Any, parameters: Mapping[str, Any]) -> str:  # noqa: ARG001
    config = read_config(parameters["config"])
    return assessment_key(parameters["prints"], config)


@task(
    name="assess labels",
    cache_key_fn=_cache_key,
    persist_result=True,
    result_serializer="json",
    retries=2,
    retry_delay_seconds=[5, 30],
    retry_condition_fn=passing_trouble,
)
def assess_labels(labels: str | Path, gold: str | Path, config: JSON, prints: JSON) -> JSON:
    """Estimate the gaps of all labelers, or take them from an earlier run on the same content.

    Parameters
    ----------
    labels, gold
        A path, also in object storage, or ``URL::table``.
    config
        The settings, as parsed YAML.
    prints
        What `fingerprint` returned for the same tables and settings.

    Returns
    -------
    dict
        ``assessment``, for `judged`; ``rows``, the file with what is known of every row.

    Examples
    --------
    >>> import tempfile
    >>> from mdba_checks.simulation import simulate
    >>> folder = Path(tempfile.mkdtemp())
    >>> made = simulate(n_items=3000, n_labelers=2, tprs=[0.5, 0.94], seed=1)
    >>> made.labels.to_parquet(folder / "labels.parquet")
    >>> made.gold.to_parquet(folder / "gold.parquet")
    >>> tables = {name: str(folder / f"{name}.parquet") for name in ("labels", "gold")}
    >>> settings = {"reference": "men"}
    >>> prints = fingerprint.fn(**tables, config=settings)
    >>> kept = assess_labels.fn(**tables, config=settings, prints=prints)
    >>> judged(kept, {})[1].verdict
    'block'
    """
    settings = read_config(config)
    # The table is read here: its content was hashed before, and its rows are written from here.
    assessment = assess_with(
        labels, gold, settings, [settings.estimator], progress=_progress(), in_parts=False
    )[settings.estimator]
    found = {"labels": assessment.data.labels_hash, "gold": assessment.data.gold_hash}
    for name, source in (("labels", labels), ("gold", gold)):
        if found[name] != prints[name]:
            raise InputError(f"{source_name(source)} changed while it was being checked: run again")
    rows = _keep_rows(assessment, assessment_key(prints, settings))
    return {"assessment": to_cache(assessment), "rows": rows}


@task(name="decide", cache_policy=NO_CACHE)
def decide(kept: JSON, policy: JSON | None = None) -> JSON:
    """Return the record of a check, ``verdict`` and ``reasons`` included, under a policy.

    Parameters
    ----------
    kept
        What `assess_labels` returned.
    policy
        The policy, as parsed YAML; by default the one in the assessment's settings.
    """
    assessment, decision = judged(kept, policy)
    record = to_record(assessment, decision).values()
    say = log().warning if decision.stops else log().info
    say("verdict: %s. %s", decision.verdict, in_a_row(decision.reasons))
    return record


def judged(kept: Mapping[str, Any], policy: JSON | None = None) -> tuple[Assessment, Decision]:
    """Return the assessment and the decision about it under a policy; without rows."""
    assessment = from_cache(kept["assessment"])
    if policy is not None:
        changed = assessment.config.updated({"policy": policy})
        assessment = assessment.with_policy(changed.policy)
    return assessment, gate(assessment)


def _keep_rows(assessment: Assessment, key: str) -> JSON:
    """Write what is known of every row beside the cached result; the result itself stays small."""
    path = work_folder() / f"{key}.npz"
    with whole_file(path, force=True) as temporary:
        with temporary.open("wb") as file:
            # Numbers only: `np.load` below refuses what numpy would have to pickle. To numpy 2.0
            # allow_pickle=False, here, is one more array.
            arrays: dict[str, Any] = dict(row_arrays(assessment))
            np.savez(file, **arrays)
        return {"file": str(path), "hash": _hash(temporary)}


def with_rows(kept: Mapping[str, Any], assessment: Assessment) -> Assessment | None:
    """Return the assessment with what is known of every row; None when the file is not there."""
    path = Path(kept["rows"]["file"])
    if not path.is_file() or _hash(path) != kept["rows"]["hash"]:
        return None
    with np.load(path, allow_pickle=False) as arrays:
        return with_row_arrays(assessment, {name: arrays[name] for name in arrays.files})


def _hash(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "blake2b").hexdigest()


def _progress() -> Any:
    """Return what tells the log how far the work is, a few times and not for every labeler."""
    said: dict[str, int] = {}

    def tell(stage: str, done: int, total: int) -> None:
        tenth = 10 * done // max(total, 1)
        if said.get(stage) != tenth:
            said[stage] = tenth
            log().info("%s: %s of %s", stage, f"{done:,}", f"{total:,}")

    return tell

"""Gold by design in a flow: a task that writes a sheet of items for experts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from prefect import task
from prefect.cache_policies import NO_CACHE

from mdba_checks.outputs import DEFAULT_ROUNDS, choose_gold, sheet_format, write_sheet
from mdba_checks.prefect.support import JSON, log, read_config


@task(name="choose items", cache_policy=NO_CACHE)
def choose_items(
    labels: str,
    output: str,
    *,
    n: int = 200,
    items: str | None = None,
    gold: str | None = None,
    judged: Sequence[str] = (),
    config: str | Mapping[str, Any] | None = None,
    rounds: int = DEFAULT_ROUNDS,
    force: bool = False,
) -> JSON:
    """Choose the items that experts should judge next, and write a sheet for them.

    Parameters
    ----------
    labels, items, gold, judged, n, rounds
        As for `mdba_checks.choose_gold`; paths or ``URL::table``.
    output
        The sheet: .csv, .xlsx, or .json for Label Studio.
    config
        Settings: a YAML file, or parsed YAML or JSON.
    force
        Whether an existing file may be replaced.

    Returns
    -------
    dict
        ``sheet``: the path; ``n_items``; ``summary``: what was drawn and why, in sentences.

    Examples
    --------
    In a flow of your own, where a check ended undecided::

        @flow
        def next_round(labels: str, gold: str) -> None:
            chosen = choose_items(labels, "to_judge.csv", n=50, gold=gold)
            notify(experts, chosen["sheet"])
    """
    settings = read_config(config)
    sheet_format(output)
    chosen = choose_gold(
        labels, n, items=items, gold=gold, judged=judged, config=settings, rounds=rounds
    )
    write_sheet(chosen.sheet, output, config=settings, force=force, inputs=[labels, *judged])
    for sentence in chosen.summary:
        log().info("%s", sentence)
    return {"sheet": output, "n_items": len(chosen.sheet), "summary": list(chosen.summary)}

"""Dagster: an asset check that stops what comes after, and an asset of rows that may be used."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mdba_checks.errors import MissingExtraError
from mdba_checks.integrations.outcome import Config, check, numbers
from mdba_checks.outputs import Release
from mdba_checks.tables import Source

try:
    import dagster
except ModuleNotFoundError as error:
    if error.name != "dagster":
        raise
    raise MissingExtraError("dagster_check and dagster_asset", "dagster") from None


def dagster_check(
    asset: Any,
    gold: Source,
    config: Config = None,
    *,
    labels: Source | None = None,
    name: str = "label_bias",
) -> dagster.AssetChecksDefinition:
    """Return a blocking check of an asset that holds labels.

    It passes only where the labels may be used as they are. Where a policy annotates or takes rows
    out, `dagster_asset` makes the table that may be used.

    Parameters
    ----------
    asset
        The asset or its key.
    gold
        A path, URL or DataFrame, as for `assess`.
    config
        Settings, or the path of a YAML file with them.
    labels
        Where the labels are; by default the value of the asset, as its IO manager loads it.
    name
        The name of the check.

    Examples
    --------
    ::

        defs = dagster.Definitions(
            assets=[labels, model], asset_checks=[dagster_check(labels, "gold.csv", "mdba.yaml")]
        )
    """

    def result(table: Source) -> dagster.AssetCheckResult:
        found = check(table, gold, config)
        return dagster.AssetCheckResult(
            passed=found.decision.lets_through,
            metadata=_metadata(found),
            description=" ".join(found.decision.reasons) or "no labeler is biased",
        )

    # Dagster reads the inputs from the names of the parameters: one that is not another asset's
    # is the value of the checked asset.
    def of_the_asset(value: Any) -> dagster.AssetCheckResult:
        return result(value)

    def of_the_table() -> dagster.AssetCheckResult:
        return result(labels)  # chosen only where it is not None

    body: Callable[..., Any] = of_the_asset if labels is None else of_the_table
    return dagster.asset_check(asset=asset, name=name, blocking=True)(body)


def dagster_asset(
    asset: Any, gold: Source, config: Config = None, *, name: str = "released_labels"
) -> dagster.AssetsDefinition:
    """Return an asset with the rows of another that may be trained on, with their findings.

    Where there are none, it fails with the reasons, and nothing after it runs; it is not tried
    again.

    Parameters
    ----------
    asset
        The asset that holds the labels, or its key.
    gold, config
        As for `dagster_check`.
    name
        The name of the new asset.

    Examples
    --------
    ::

        released_labels = dagster_asset(labels, "gold.csv", "mdba.yaml")
    """
    key = asset.key if hasattr(asset, "key") else dagster.AssetKey(asset)

    def released(value: Any) -> dagster.Output[Any]:
        found = check(value, gold, config)
        if found.decision.stops:
            raise dagster.Failure(
                f"{found.decision.verdict}: {' '.join(found.decision.reasons)}",
                metadata=_metadata(found),
                allow_retries=False,
            )
        return dagster.Output(found.table(value), metadata=_metadata(found))

    return dagster.asset(name=name, ins={"value": dagster.AssetIn(key)})(released)


def _metadata(found: Release) -> dict[str, Any]:
    reasons = "\n".join(f"- {each}" for each in found.decision.reasons)
    return {
        "verdict": found.decision.verdict,
        "reasons": dagster.MetadataValue.md(reasons),
        **numbers(found),
    }

"""`mdba trend`: how labelers change over successive checks."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from mdba_checks.cli.options import Debug, Force, examples, flag, written
from mdba_checks.errors import InputError

if TYPE_CHECKING:
    import pandas as pd

    from mdba_checks.cli.terminal import Screen
    from mdba_checks.report import Axis

EPILOG = examples(
    "mdba trend january.json february.json march.json",
    "mdba trend checks/ --changed",
    "mdba trend checks/ --plot trend.png",
)

_HEADINGS = (
    "labeler",
    "group",
    "check",
    "gap",
    "",
    "interval",
    "finding",
    "change",
    "p",
    "beyond chance",
)
_TO_THE_RIGHT = ("gap", "change", "p")
_NAME, _BAR = 24, 25
_ROOMY = 110  # from this width on, intervals are drawn
_DEFAULT_LIMIT = 0.1  # drawn where records do not say what was tolerated
_PLOTS = (".png", ".svg")


def trend(
    records: Annotated[
        list[Path],
        typer.Argument(
            metavar="FILE|FOLDER...",
            help="Results of mdba check --json or sidecars, the oldest first; or folders of them.",
            show_default=False,
        ),
    ],
    changed: Annotated[
        bool, flag("--changed", "Show only labelers who changed more than by chance.")
    ] = False,
    json_file: Annotated[
        str | None,
        written(
            "--json",
            "Write the rows as JSON; - is stdout, which then holds nothing else.",
            "FILE|-",
        ),
    ] = None,
    plot_file: Annotated[
        str | None,
        written("--plot", "Draw the gaps over time: a file that ends in .png or .svg."),
    ] = None,
    force: Force = False,
    debug: Debug = False,  # noqa: ARG001
) -> int:
    """Show every labeler's gap over successive checks, and who changed more than by chance.

    The p-value of a change is adjusted for all labelers of the check (Holm). Checks that
    share gold items err together, which makes the test say "no change" rather too often.
    """
    from mdba_checks.cli.check import write_json
    from mdba_checks.cli.terminal import screen
    from mdba_checks.findings import with_sides
    from mdba_checks.outputs import check_target
    from mdba_checks.outputs import trend as compare

    if plot_file and Path(plot_file).suffix not in _PLOTS:
        raise InputError(f"cannot draw {plot_file}: name a file that ends in .png or .svg")
    for target in (json_file, plot_file):
        if target and target != "-":
            check_target(target, force=force, inputs=records)
    history = compare(records)
    if changed:
        named = with_sides(history).set_index(["labeler", "side"]).index
        history = history[named.isin(named[history["changed"]])]
    if json_file:
        rows = [_plain(row) for row in history.to_dict("records")]
        write_json({"trend": rows}, json_file, force=force, inputs=records)
    if plot_file:
        _plot(history, plot_file, force=force, inputs=records)
    if json_file != "-":
        _show(screen(), history)
    return 0


def _plot(history: pd.DataFrame, target: str, *, force: bool, inputs: list[Path]) -> None:
    from mdba_checks.outputs import whole_file
    from mdba_checks.report import png, trend_figure

    if history.empty:
        raise InputError("nobody changed beyond chance: there is nothing to draw")
    image = png(trend_figure(history), form=Path(target).suffix.removeprefix("."))
    with whole_file(target, force=force, inputs=inputs) as temporary:
        temporary.write_bytes(image)


def _show(screen: Screen, history: pd.DataFrame) -> None:
    from rich.table import Table

    from mdba_checks.findings import with_sides
    from mdba_checks.report import Axis, count

    limit = history["max_gap"].iloc[-1] if len(history) else math.nan
    axis = Axis.of(history, limit if math.isfinite(limit) else _DEFAULT_LIMIT)
    drawn = screen.width >= _ROOMY
    table = Table(box=None, padding=(0, 1, 0, 0), pad_edge=False, header_style="bold")
    for name in _HEADINGS:
        if name or drawn:
            table.add_column(
                name, justify="right" if name in _TO_THE_RIGHT else "left", no_wrap=True
            )
    for row in with_sides(history).itertuples(index=False):
        cells = _cells(screen, row, axis)
        shown = [cell for name, cell in zip(_HEADINGS, cells, strict=True) if name or drawn]
        table.add_row(*shown, style="bold red" if row.changed else "")
    screen.console.print(table)
    screen.write()
    found, checks = int(history["changed"].sum()), history["check"].nunique()
    screen.write(f"{count(found, 'change')} beyond chance in {count(checks, 'check')}.")


def _cells(screen: Screen, row: Any, axis: Axis) -> tuple[str, ...]:
    import pandas as pd

    from mdba_checks.cli.terminal import shorten
    from mdba_checks.report import Interval, interval, signed

    return (
        shorten(screen.clean(row.labeler), _NAME),
        shorten(screen.clean(row.side), _NAME),
        str(row.check) if pd.isna(row.created) else f"{row.created:%Y-%m-%d %H:%M}",
        signed(row.gap, ascii_only=True),
        Interval(row.gap, row.ci_low, row.ci_high, row.finding).text(
            axis, _BAR, unicode=screen.draws
        ),
        interval(row.ci_low, row.ci_high, ascii_only=True),
        str(row.finding),
        signed(row.change, ascii_only=True) if math.isfinite(row.change) else "",
        f"{row.change_p:.3f}" if math.isfinite(row.change_p) else "",
        "yes" if row.changed else "",
    )


def _plain(row: dict[Any, Any]) -> dict[str, Any]:
    from mdba_checks.outputs import to_plain_value

    return {str(key): to_plain_value(value) for key, value in row.items()}

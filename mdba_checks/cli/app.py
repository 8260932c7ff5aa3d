"""The command `mdba`: its subcommands, and one way for every run to end.

A run ends in an exit code that never lies: 0 and 1 are verdicts and nothing else. What the user can
fix is one line on stderr and 2; what we should fix is one line and 70, with the traceback behind
--debug.
"""

from __future__ import annotations

import errno
import sys
import traceback
import warnings
from typing import Annotated, Any

import typer

from mdba_checks import __version__
from mdba_checks.cli import (
    check,
    choose,
    compare,
    demo,
    import_,
    init,
    pages,
    plan,
    rerun,
    simulate,
    trend,
    validate,
    verify,
)
from mdba_checks.errors import CheckError, InputError, hide_secrets

BAD_USAGE, INTERNAL_ERROR, INTERRUPTED, READER_GONE = 2, 70, 130, 141
_NO_ROOM = (errno.ENOSPC, errno.EDQUOT)

app = typer.Typer(
    name="mdba",
    help="Stop biased labels before they train a model.",
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["--help", "-h"]},
)
app.command("check", epilog=check.EPILOG)(check.check)
app.command("demo", epilog=demo.EPILOG)(demo.demo)
app.command("import", epilog=import_.EPILOG)(import_.import_)
app.command("init", epilog=init.EPILOG)(init.init)
app.command("simulate", epilog=simulate.EPILOG)(simulate.simulate)
app.command("validate", epilog=validate.EPILOG)(validate.validate)
app.command("verify", epilog=verify.EPILOG)(verify.verify)
app.command("rerun", epilog=rerun.EPILOG)(rerun.rerun)
app.command("trend", epilog=trend.EPILOG)(trend.trend)
app.command("compare", epilog=compare.EPILOG)(compare.compare)
app.command("pages", epilog=pages.EPILOG)(pages.pages)
app.command("plan", epilog=plan.EPILOG)(plan.plan)
app.command("choose", epilog=choose.EPILOG)(choose.choose)
app.command("answers", epilog=choose.ANSWERS_EPILOG)(choose.answers)


def _show_version(asked: bool) -> None:
    if asked:
        sys.stdout.write(f"mdba-checks {__version__}\n")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool,
        typer.Option(
            "--version", metavar="", help="Show the version.", callback=_show_version, is_eager=True
        ),
    ] = False,
) -> None:
    """Stop biased labels before they train a model."""


def run(arguments: list[str]) -> int:
    """Run a command and return its exit code, whatever happens."""
    debug = "--debug" in arguments
    try:
        with warnings.catch_warnings():
            if not debug:
                warnings.simplefilter("ignore")
            return _invoke(arguments)
    except CheckError as error:
        return _fail(str(error), BAD_USAGE, debug=debug)
    except typer.TyperException as error:
        context = getattr(error, "ctx", None)
        asked = f" (see {context.command_path} --help)" if context else ""
        return _fail(error.format_message() + asked, BAD_USAGE, debug=debug)
    except KeyboardInterrupt:
        return INTERRUPTED
    except SystemExit:
        # typer and rich leave with code 1, our word for "blocked", when nobody reads their output.
        return READER_GONE
    except Exception as error:  # noqa: BLE001  the last resort: whatever it is, it is not a verdict
        if _is_out_of_memory(error):
            way_out = "give it more, choose fewer columns with --features, or fewer --jobs"
            return _fail(f"not enough memory ({_first(error)}): {way_out}", BAD_USAGE, debug=debug)
        if isinstance(error, OSError) and error.errno in _NO_ROOM:
            text = f"cannot write the result: {error.strerror}; make room and run again"
            return _fail(text, BAD_USAGE, debug=debug)
        what = f"internal error: {type(error).__name__}: {_first(error)}"
        return _fail(f"{what} (run with --debug)", INTERNAL_ERROR, debug=debug)


def _is_out_of_memory(error: BaseException | None) -> bool:
    """Return whether memory has run out; what is raised then may hide what came before it."""
    while error is not None:
        # The texts are those of XGBoost, and of Python where a thread's stack has no room.
        text = str(error)
        if isinstance(error, MemoryError) or "bad_alloc" in text or "start new thread" in text:
            return True
        error = error.__cause__ or error.__context__
    return False


def _first(error: Exception) -> str:
    """Return the first line of an error that says something; some go on for pages."""
    return next((line for line in str(error).splitlines() if line.strip()), "no details")


def _invoke(arguments: list[str]) -> int:
    command = typer.main.get_command(app)
    if not arguments:
        command.main(args=["--help"], prog_name="mdba", standalone_mode=False)
        return BAD_USAGE
    _refuse_repeated(command, arguments)
    code = command.main(args=arguments, prog_name="mdba", standalone_mode=False)
    sys.stdout.flush()
    return int(code)  # a command without a code is a defect, not a pass


def _refuse_repeated(command: Any, arguments: list[str]) -> None:
    """Refuse a second --group or --positive: people mean both, and one would be ignored.

    Of other options the last one counts, so that a script can add its own behind those it got.
    """
    chosen = getattr(command, "commands", {}).get(arguments[0])
    given = [each.partition("=")[0] for each in arguments if each.startswith("--")]
    for option in chosen.params if chosen else ():
        about_data = getattr(option, "rich_help_panel", None) == "Columns"
        single = not getattr(option, "multiple", False) and not getattr(option, "is_flag", False)
        if about_data and single and sum(given.count(name) for name in option.opts) > 1:
            raise InputError(f"{option.opts[0]} is given twice: it takes one value")


def _fail(text: str, code: int, *, debug: bool) -> int:
    from mdba_checks.cli.terminal import screen

    surface = screen(sys.stderr)
    if debug:
        # Errors quote values of the data, and a terminal obeys what it finds in them.
        for line in traceback.format_exc().splitlines():
            sys.stderr.write(f"{surface.clean(hide_secrets(line))}\n")
    sys.stderr.write(f"mdba: {surface.clean(hide_secrets(text))}\n")
    return code

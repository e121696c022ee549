"""The command line: its commands, and how every way a command can end becomes one line and an exit code."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import Annotated

import typer

from spsl_cli import __version__
from spsl_cli.cli.ask import ask
from spsl_cli.cli.bench import bench
from spsl_cli.cli.doctor import doctor
from spsl_cli.cli.models import models
from spsl_cli.cli.read import read
from spsl_cli.cli.summarize import summarize
from spsl_cli.errors import ExitCode, SpslError, UsageError
from spsl_cli.render import Streams, write_error

app = typer.Typer(name="spsl", add_completion=True, pretty_exceptions_enable=False, rich_markup_mode=None)
app.command()(ask)
app.command()(summarize)
app.command()(read)
app.command()(bench)
app.command()(doctor)
app.add_typer(models, name="models")


def _version(value: bool) -> None:
    if value:
        typer.echo(f"spsl {__version__}")
        raise typer.Exit


@app.callback(invoke_without_command=True)
def _root(
    context: typer.Context,
    *,
    version: Annotated[  # noqa: ARG001 handled by its callback
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version and leave.")
    ] = False,
) -> None:
    """Questions about long documents, answered on your own machine.

    The model drafts for itself over a small part of its cache and verifies against all of it: its own output, sooner.
    """
    if context.invoked_subcommand is None:
        typer.echo(context.get_help(), err=True)
        raise UsageError("no command was given", hint="spsl --help lists them")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; returns the exit code. Errors are one line on standard error, a traceback only with --debug."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    streams = Streams.detect(plain="--plain" in words)
    command = typer.main.get_command(app)
    if "_SPSL_COMPLETE" in os.environ:  # the shell asks for completions; Typer answers and leaves
        command.main(words, prog_name="spsl")
    try:
        # Not `command.main`: it would turn Ctrl-C into a silent exit.
        with command.make_context("spsl", words) as context:
            command.invoke(context)
    except SpslError as error:
        return _failed(streams, str(error), error.exit_code, error, words)
    except typer.Exit as leave:
        return int(leave.exit_code)
    except KeyboardInterrupt:
        write_error(streams, "interrupted before there was an answer")
        return ExitCode.INTERRUPTED
    except typer.TyperException as error:
        return _failed(streams, _usage(error), ExitCode.USAGE, error, words)
    except Exception as error:  # noqa: BLE001 the last resort: one line instead of a traceback
        message = f"internal error: {type(error).__name__}: {error}; run again with --debug for the traceback"
        return _failed(streams, message, ExitCode.FAILED, error, words)
    return ExitCode.DONE


def _usage(error: typer.TyperException) -> str:
    """The message of a wrong call, and where the right one is told."""
    context = getattr(error, "ctx", None)
    command = context.command_path if context is not None else "spsl"
    format_message = getattr(error, "format_message", error.__str__)
    return f"{str(format_message()).rstrip('.')}; see '{command} --help'"


def _failed(streams: Streams, message: str, code: int, error: Exception, words: list[str]) -> int:
    if "--debug" in words:
        import traceback  # noqa: PLC0415

        streams.err.write("".join(traceback.format_exception(error)))
    write_error(streams, message)
    return int(code)

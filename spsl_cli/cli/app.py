"""The command line: its commands, and how every way a command can end becomes one line and an exit code."""

from __future__ import annotations

import os
import sys
import threading
import traceback
from collections.abc import Sequence
from typing import Annotated

import typer

from spsl_cli import __version__
from spsl_cli.cli.ask import ask
from spsl_cli.cli.bench import benchmarks
from spsl_cli.cli.cache import cache
from spsl_cli.cli.chat import chat
from spsl_cli.cli.doctor import doctor
from spsl_cli.cli.models import models
from spsl_cli.cli.read import read
from spsl_cli.cli.summarize import summarize
from spsl_cli.errors import INTERRUPTED, ExitCode, SpslError, UsageError, internal
from spsl_cli.interrupt import leave_on_termination
from spsl_cli.render import Streams, write_error

app = typer.Typer(name="spsl", add_completion=True, pretty_exceptions_enable=False, rich_markup_mode=None)
app.command()(ask)
app.command()(summarize)
app.command()(chat)
app.command()(read)
app.command()(doctor)
app.add_typer(benchmarks, name="bench")
app.add_typer(models, name="models")
app.add_typer(cache, name="cache")


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
        raise UsageError("no command was given", hint="spsl --help lists them")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; returns the exit code. Errors are one line on standard error, a traceback only with --debug."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    streams = Streams.detect(plain="--plain" in words)
    if threading.current_thread() is threading.main_thread():
        leave_on_termination()
    command = typer.main.get_command(app)
    if "_SPSL_COMPLETE" in os.environ:  # the shell asks for completions; Typer answers and leaves
        command.main(words, prog_name="spsl")
    try:
        # Not `command.main`: it would turn Ctrl-C into a silent exit.
        with command.make_context("spsl", words) as context:
            command.invoke(context)
    except typer.Exit as leave:
        return int(leave.exit_code)
    except KeyboardInterrupt:
        write_error(streams, INTERRUPTED)
        return ExitCode.INTERRUPTED
    except Exception as error:  # noqa: BLE001 every way to fail becomes one line
        if "--debug" in words:
            streams.err.write("".join(traceback.format_exception(error)))
        message, code = _explained(error, streams)
        write_error(streams, message)
        return code
    return ExitCode.DONE


def _explained(error: Exception, streams: Streams) -> tuple[str, ExitCode]:
    """The line and the exit code of a failure."""
    if isinstance(error, SpslError):
        return str(error), error.exit_code
    if isinstance(error, typer.TyperException):
        return _usage(error), ExitCode.USAGE
    if isinstance(error, OSError):  # --help and --version write by themselves
        streams.out.discard_rest()
        return f"cannot write: {error.strerror or error}; free some space or write elsewhere", ExitCode.FAILED
    return internal(error), ExitCode.FAILED


def _usage(error: typer.TyperException) -> str:
    """The message of a wrong call, and where the right one is told."""
    context = getattr(error, "ctx", None)
    command = context.command_path if context is not None else "spsl"
    format_message = getattr(error, "format_message", error.__str__)
    return f"{str(format_message()).rstrip('.')}; see '{command} --help'"

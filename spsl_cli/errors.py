"""One exception tree: every error that a user can meet knows its exit code and says what, where and what to do."""

from __future__ import annotations

from enum import IntEnum


class ExitCode(IntEnum):
    """What a script may branch on; `docs/usage.md` tells the same to people."""

    DONE = 0
    FAILED = 1
    USAGE = 2
    NO_INPUT = 3
    TOO_LONG = 4
    MODEL = 5
    OUT_OF_MEMORY = 6
    SOME_SKIPPED = 7
    INTERRUPTED = 130


INTERRUPTED = "interrupted before there was an answer"


class SpslError(Exception):
    """A run that cannot go on.

    `str(error)` is one line: what went wrong and where; `hint`, if given, is what to do about it.
    """

    exit_code = ExitCode.FAILED

    def __init__(self, what: str, *, hint: str | None = None) -> None:
        super().__init__(what)
        self.what = what
        self.hint = hint

    def __str__(self) -> str:
        line = f"{self.what}; {self.hint}" if self.hint else self.what
        return " ".join(line.split())


class UsageError(SpslError):
    """The command was called in a way that has no meaning."""

    exit_code = ExitCode.USAGE


class NoReadableInputError(SpslError):
    """None of the inputs could be read as a document."""

    exit_code = ExitCode.NO_INPUT


class PromptTooLongError(SpslError):
    """The prompt and the tokens to be generated exceed the model's context length."""

    exit_code = ExitCode.TOO_LONG

    def __init__(self, what: str, *, excess: int, hint: str | None = None) -> None:
        super().__init__(what, hint=hint)
        self.excess = excess


class ModelUnavailableError(SpslError):
    """The model cannot be found, fetched or loaded safely."""

    exit_code = ExitCode.MODEL


class UnsupportedModelError(ModelUnavailableError):
    """The model loads, but the decoder cannot run it exactly."""


class OutOfMemoryError(SpslError):
    """The run does not fit into the device's memory, after every fallback."""

    exit_code = ExitCode.OUT_OF_MEMORY


def internal(error: Exception) -> str:
    """The line about an error that is a fault of ours."""
    return f"internal error: {type(error).__name__}: {error}; --debug shows where"

"""Which tasks there are, by the names that the command line has for them."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from spsl_cli.bench.tasks.base import Task
from spsl_cli.bench.tasks.copying import Copying
from spsl_cli.bench.tasks.distractors import QuestionAnswering
from spsl_cli.bench.tasks.haystack import MultiKey, MultiQuery, MultiValue, SingleNeedle
from spsl_cli.bench.tasks.sources import TextSource, builtin_source
from spsl_cli.bench.tasks.summary import Summary
from spsl_cli.bench.tasks.writing import Writing
from spsl_cli.errors import UsageError

_TASKS: Mapping[str, Callable[[TextSource], Task]] = {
    SingleNeedle.name: SingleNeedle,
    MultiKey.name: MultiKey,
    MultiValue.name: MultiValue,
    MultiQuery.name: MultiQuery,
    QuestionAnswering.name: lambda _: QuestionAnswering(),
    Summary.name: Summary,
    Copying.name: Copying,
    Writing.name: Writing,
}


def task_names() -> tuple[str, ...]:
    """In the order in which the documentation has them."""
    return tuple(_TASKS)


def make_task(name: str, source: TextSource | None = None) -> Task:
    """The task of that name on `source`, else on what comes with Python; `qa` makes its own text.

    Raises UsageError, with the choices, for an unknown name.
    """
    if name not in _TASKS:
        raise UsageError(f"there is no task '{name}'", hint=f"choose one of {', '.join(_TASKS)}")
    return _TASKS[name](source or builtin_source())

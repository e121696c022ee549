"""Options that several commands share, each declared once, and what is made of them: `Settings` and `Selection`."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable
from copy import copy
from typing import Annotated, Any, get_args

import typer

from spsl_cli.config import resolve_settings
from spsl_cli.documents import Selection
from spsl_cli.errors import UsageError

_Command = Callable[..., None]

SETTINGS_OPTIONS: dict[str, Any] = {
    "model": Annotated[
        str | None,
        typer.Option("--model", metavar="ID|PATH|GGUF", help="Hub id, local folder or GGUF file."),
    ],
    "revision": Annotated[str | None, typer.Option("--revision", help="Revision of a Hub model.")],
    "device": Annotated[str | None, typer.Option("--device", help="auto, cpu, cuda, cuda:N or cuda:all.")],
    "dtype": Annotated[str | None, typer.Option("--dtype", help="auto, float32, bfloat16 or float16.")],
    "quantize": Annotated[str | None, typer.Option("--quantize", help="8bit or 4bit weights.")],
    "offline": Annotated[bool | None, typer.Option("--offline", help="Use only what is on this machine.")],
    "max_new_tokens": Annotated[
        int | None,
        typer.Option("--max-new-tokens", metavar="N", help="Longest answer in tokens [256]."),
    ],
    "temperature": Annotated[
        float | None, typer.Option("--temperature", help="0 is greedy; above, tokens are drawn [0].")
    ],
    "top_p": Annotated[float | None, typer.Option("--top-p", help="Draw from the likeliest that reach this [1].")],
    "top_k": Annotated[int | None, typer.Option("--top-k", help="Draw from so many likeliest tokens [0: all].")],
    "seed": Annotated[int | None, typer.Option("--seed", help="The same seed draws the same tokens [0].")],
    "system": Annotated[str | None, typer.Option("--system", help="System message instead of the built-in one.")],
    "prompt_template": Annotated[
        str | None,
        typer.Option("--prompt-template", metavar="FILE", help="Jinja2 file that words the request instead of us."),
    ],
    "show_thinking": Annotated[
        bool | None,
        typer.Option("--show-thinking", help="Show what a reasoning model thinks before it answers."),
    ],
    "compare_ar": Annotated[
        bool | None,
        typer.Option("--compare-ar", help="Decode again without speculation; report speedup and identity."),
    ],
    "speculation": Annotated[
        bool | None,
        typer.Option("--speculation/--no-speculation", help="Draft and verify, or plain decoding.", show_default=False),
    ],
    "budget": Annotated[
        str | None,
        typer.Option("--budget", metavar="SHARE|N", help="Positions a draft reads: a share (0.1) or a number (800)."),
    ],
    "k": Annotated[
        str | None,
        typer.Option("--k", metavar="auto|N", help="Draft length: 1 to 16, or auto."),
    ],
    "controller": Annotated[
        str | None,
        typer.Option("--controller", help="calibrated, entropy, disco, adaedl, svip, or fixed (with --k N)."),
    ],
    "lookup": Annotated[
        bool | None,
        typer.Option(
            "--lookup/--no-lookup",
            help="Draft from earlier text where it repeats; with --k or another --controller only if asked.",
            show_default=False,
        ),
    ],
    "index": Annotated[
        str | None,
        typer.Option(
            "--index",
            metavar="NAME",
            help="How drafts choose what they read: sparsespec-l, per-query-head, vegas, pillar, snapkv, pyramidkv, "
            "h2o, quest or streaming.",
        ),
    ],
    "overflow": Annotated[
        str | None,
        typer.Option(
            "--overflow",
            metavar="error|map-reduce",
            help="What to do with documents too long for one prompt: fail, or ask part by part [error].",
        ),
    ],
    "history": Annotated[
        bool | None,
        typer.Option("--history/--no-history", help="Remember this run [on].", show_default=False),
    ],
    "cache": Annotated[
        bool | None,
        typer.Option("--cache/--no-cache", help="Use again what was read before [on].", show_default=False),
    ],
}

SELECTION_OPTIONS: dict[str, Any] = {
    "include": Annotated[
        list[str] | None,
        typer.Option(
            "--include", metavar="GLOB", help="Of folders, only files that fit, as in a .gitignore; may repeat."
        ),
    ],
    "exclude": Annotated[
        list[str] | None,
        typer.Option(
            "--exclude", metavar="GLOB", help="Of folders, no files that fit, as in a .gitignore; may repeat."
        ),
    ],
    "no_ignore": Annotated[
        bool | None, typer.Option("--no-ignore", help="Read what .gitignore leaves out; hidden files stay out.")
    ],
}

Paths = Annotated[
    list[str], typer.Argument(metavar="PATH...", help="Files, folders, patterns, or - for standard input.")
]
Password = Annotated[
    str | None, typer.Option("--password", envvar="SPSL_PASSWORD", help="Password of an encrypted PDF.")
]
OutputFile = Annotated[
    str | None, typer.Option("-o", "--output", metavar="FILE", help="Write there instead of standard output.")
]
OutputPath = Annotated[
    str | None,
    typer.Option("-o", "--output", metavar="FILE|DIR", help="Write there: one file, or in a folder one for each."),
]
Citing = Annotated[
    str, typer.Option("--cite", metavar="none|pages|quotes", help="What the answer is asked to name [pages].")
]
Schema = Annotated[
    str | None, typer.Option("--schema", metavar="FILE", help="JSON Schema that the answer is made to follow.")
]
JsonStream = Annotated[bool, typer.Option("--json-stream", help="Events as they happen, one JSON object a line.")]
AsJson = Annotated[bool, typer.Option("--json", help="One JSON object on standard output.")]
Quiet = Annotated[bool, typer.Option("--quiet", help="On standard error only warnings and errors.")]
Plain = Annotated[bool, typer.Option("--plain", help="No live panel and no escape codes.")]
Debug = Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Tell tokens, memory and what does not fit; run no model.")]


def _with(argument: str, options: dict[str, Any], made: Callable[[dict[str, Any]], Any]) -> Callable[..., _Command]:
    """A decorator that gives a command `options`; it gets what is `made` of them as `argument`, a keyword."""

    def decorate(command: _Command) -> _Command:
        signature = inspect.signature(command, eval_str=True)
        own = [parameter for name, parameter in signature.parameters.items() if name != argument]
        shared = [
            inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=annotation)
            for name, annotation in options.items()
        ]

        @functools.wraps(command)
        def wrapper(**arguments: Any) -> None:
            given = {name: arguments.pop(name) for name in options}
            command(**arguments, **{argument: made(given)})

        wrapper.__signature__ = signature.replace(parameters=[*own, *shared])  # type: ignore[attr-defined]
        return wrapper

    return decorate


def settings_without(decided: Iterable[str]) -> Callable[[_Command], _Command]:
    """`with_settings` for a command that decides some of them itself: its help has no options for these."""
    return _with(
        "settings", SETTINGS_OPTIONS | {name: _hidden(SETTINGS_OPTIONS[name]) for name in decided}, resolve_settings
    )


def _hidden(annotation: Any) -> Any:
    """The same option, not told of."""
    kind, option = get_args(annotation)
    unseen = copy(option)
    unseen.hidden = True
    return Annotated[kind, unseen]


def _selection(given: dict[str, Any]) -> Selection:
    """What of the folders given is wanted. Raises UsageError for a pattern that no path can match."""
    include, exclude = (tuple(given[name] or ()) for name in ("include", "exclude"))
    try:
        return Selection(include, exclude, ignore_files=not given["no_ignore"])
    except ValueError as error:
        raise UsageError(str(error), hint="write it as in a .gitignore, relative to the folder given") from error


with_settings = _with("settings", SETTINGS_OPTIONS, resolve_settings)
with_selection = _with("selection", SELECTION_OPTIONS, _selection)

"""Settings: frozen values with their origin. Option before `SPSL_*` variable before settings file before default.

Knows names, types and where a value came from; nothing of what the values do.
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, Literal

from spsl_cli.errors import UsageError


@dataclass(frozen=True)
class Settings:
    """What every command that decodes may be told; `origin` says for each name where its value came from."""

    model: str | None = None
    revision: str | None = None
    device: str = "auto"
    dtype: str = "auto"
    quantize: str | None = None
    offline: bool = False
    max_new_tokens: int = 256
    temperature: float = 0.0
    top_p: float = 1.0
    top_k: int = 0
    seed: int = 0
    system: str | None = None
    speculation: bool = True
    compare_ar: bool = False
    budget: float | int = 0.10
    k: Literal["auto"] | int = "auto"
    controller: str = "calibrated"
    lookup: bool | None = None
    index: str = "sparsespec-l"
    prompt_template: str | None = None
    show_thinking: bool = False
    overflow: str = "error"
    cache: bool = True
    cache_size: int = 20 * 10**9
    history: bool = True
    origin: Mapping[str, str] = field(default_factory=dict, compare=False)


OVERFLOW = ("error", "map-reduce")


def config_file() -> Path:
    """Where the settings file lies: `spsl/config.toml` in the platform's configuration folder."""
    import platformdirs  # noqa: PLC0415 not needed for --help

    return platformdirs.user_config_path("spsl") / "config.toml"


def parse_budget(text: str) -> float | int:
    """`0.1` is a share of the positions, `800` a number of them."""
    return int(text) if text.strip().isdecimal() else float(text)


def parse_k(text: str) -> Literal["auto"] | int:
    """`auto` or a number."""
    return "auto" if text.strip() == "auto" else int(text)


def parse_switch(text: str) -> bool:
    """`1`, `true`, `yes`, `on` and their opposites."""
    word = text.strip().lower()
    if word in ("1", "true", "yes", "on"):
        return True
    if word in ("0", "false", "no", "off", ""):
        return False
    raise ValueError(f"{text!r} is neither true nor false")


_UNITS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12}


def parse_size(text: str) -> int:
    """`20GB`, `500 MB` or a number of bytes."""
    word = text.strip().lower().removesuffix("b").strip()
    unit = word[-1:] if word[-1:] in "kmgt" else ""
    return int(float(word.removesuffix(unit)) * _UNITS[unit])


_PARSERS: dict[str, Callable[[str], Any]] = {
    "offline": parse_switch,
    "speculation": parse_switch,
    "compare_ar": parse_switch,
    "show_thinking": parse_switch,
    "lookup": parse_switch,
    "cache": parse_switch,
    "history": parse_switch,
    "cache_size": parse_size,
    "max_new_tokens": int,
    "temperature": float,
    "top_p": float,
    "top_k": int,
    "seed": int,
    "budget": parse_budget,
    "k": parse_k,
}
_MEANT = {
    **dict.fromkeys(
        ("offline", "speculation", "compare_ar", "show_thinking", "lookup", "cache", "history"), "use true or false"
    ),
    "cache_size": "use a number of bytes such as 20GB",
    **dict.fromkeys(("max_new_tokens", "top_k", "seed"), "use a whole number"),
    **dict.fromkeys(("temperature", "top_p"), "use a number"),
    "budget": "use a share such as 0.1 or a number of positions",
    "k": "use auto or a number from 1 to 16",
}
NAMES = tuple(spec.name for spec in fields(Settings) if spec.name != "origin")


def resolve_settings(
    options: Mapping[str, Any], *, environ: Mapping[str, str] | None = None, file: Path | None = None
) -> Settings:
    """Settle every setting. In `options` a name that is missing or None was not given on the command line.

    Raises UsageError for a value that cannot be understood, naming where it came from.
    """
    environ = os.environ if environ is None else environ
    file = file or config_file()
    from_file = _read_file(file)
    values: dict[str, Any] = {}
    origin: dict[str, str] = {}
    for name in NAMES:
        variable = f"SPSL_{name.upper()}"
        if options.get(name) is not None:
            source, raw = "option", options[name]
        elif environ.get(variable):
            source, raw = variable, environ[variable]
        elif name in from_file:
            source, raw = str(file), from_file[name]
        else:
            origin[name] = "default"
            continue
        values[name] = _parse(name, raw, source)
        origin[name] = source
    settings = Settings(**values, origin=origin)
    _check(settings)
    return settings


def _parse(name: str, raw: Any, source: str) -> Any:
    parser = _PARSERS.get(name)
    if parser is None or not isinstance(raw, str):
        return raw
    try:
        return parser(raw)
    except ValueError as error:
        raise UsageError(f"{name} from {source} is not understood: {raw!r}", hint=_MEANT[name]) from error


def _read_file(file: Path) -> dict[str, Any]:
    try:
        content = tomllib.loads(file.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise UsageError(f"the settings file {file} cannot be read: {error}", hint="mend or remove it") from error
    unknown = sorted(set(content) - set(NAMES))
    if unknown:
        names, known = ", ".join(unknown), ", ".join(NAMES)
        raise UsageError(f"the settings file {file} has unknown names: {names}", hint=f"the known are {known}")
    return content


_KINDS: dict[str, tuple[type, ...]] = {
    **dict.fromkeys(("max_new_tokens", "top_k", "seed", "cache_size"), (int,)),
    **dict.fromkeys(("temperature", "top_p", "budget"), (int, float)),
    **dict.fromkeys(("offline", "speculation", "compare_ar", "show_thinking", "cache", "history"), (bool,)),
    "lookup": (bool, type(None)),
    **dict.fromkeys(("device", "dtype", "controller", "index", "overflow"), (str,)),
    **dict.fromkeys(("model", "revision", "quantize", "system", "prompt_template"), (str, type(None))),
    "k": (int, str),
}


def _check(settings: Settings) -> None:
    """What a settings file can get wrong: types; and the one range that has nothing to do with model or decoder."""
    for name, kinds in _KINDS.items():
        value = getattr(settings, name)
        wrong_bool = isinstance(value, bool) and bool not in kinds
        if wrong_bool or not isinstance(value, kinds) or (name == "k" and isinstance(value, str) and value != "auto"):
            wanted = " or ".join("nothing" if kind is type(None) else kind.__name__ for kind in kinds)
            raise UsageError(
                f"{name} from {settings.origin[name]} is {value!r}, not of the right kind",
                hint=f"give {wanted}",
            )
    if settings.overflow not in OVERFLOW:
        raise UsageError(f"overflow is {settings.overflow!r}", hint=f"use {' or '.join(OVERFLOW)}")
    if settings.max_new_tokens < 1:
        raise UsageError(f"max_new_tokens must be at least 1, got {settings.max_new_tokens}", hint="256 is the default")

"""All systems by name: what each is, how to make it for a run, and why some cannot run here.

A name that drafts by a fixed length may carry it: `fixed-k6`, `snapkv-k2`, `two-level-k8`. The policies of published
designs differ from `fixed-k4` in nothing but the positions that a draft reads.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from spsl_cli.bench.systems.base import System, UnavailableError
from spsl_cli.decoding.config import K_MAX
from spsl_cli.errors import UsageError

if TYPE_CHECKING:
    from transformers import PreTrainedModel

    from spsl_cli.decoding.config import DecodeConfig
    from spsl_cli.decoding.run import DecodingRun

AR, EAGER = "ar", "hf-eager"
"""The baselines: our own dense loop, and Hugging Face's with attention written out."""

DEFAULT_K = 4
"""Tokens a draft, where a length is fixed and the name does not say which."""

_WITH_LENGTH = re.compile(r"(?P<name>.+)-k(?P<k>[1-9]\d?)")


@dataclass(frozen=True)
class Named:
    """What only the user can name: a loaded auxiliary model, and the exit of a model that was trained to exit early."""

    assistant: PreTrainedModel | None = None
    exit_layer: int | None = None


@dataclass(frozen=True)
class Entry:
    """A system of the catalogue. `options`: of `DecodeConfig`, where it is one of ours; `fixed`: its drafts have one
    length; `missing`: why it cannot run.
    """

    group: str
    what: str
    options: dict[str, Any] = field(default_factory=dict)
    fixed: bool = False
    missing: str | None = None


_OURS = {"index": "sparsespec-l", "k": "auto"}


def _index(name: str, what: str) -> Entry:
    return Entry("index", what, {"index": name, "lookup": False}, fixed=True)


def _rule(name: str, what: str) -> Entry:
    return Entry("draft length", what, {**_OURS, "controller": name, "lookup": False})


CATALOGUE: dict[str, Entry] = {
    AR: Entry("plain", "our dense loop, one token a step", {"speculation": False}),
    EAGER: Entry("hugging face", "generate, attention written out"),
    "hf-sdpa": Entry("hugging face", "generate, fused attention"),
    "hf-prompt-lookup": Entry("hugging face", "generate with prompt lookup"),
    "hf-assisted": Entry("hugging face", "generate with an auxiliary model"),
    "hf-early-exit": Entry("hugging face", "generate with drafts of the first layers"),
    "auto": Entry("spsl", "what spsl does by itself", {**_OURS, "controller": "calibrated", "lookup": None}),
    "sparsespec-l": _rule("entropy", "the paper: its index, and draft lengths by entropy (Eq. 6-8)"),
    "fixed": _index("sparsespec-l", "the paper's index, drafts of one length"),
    "streaming": _index("streaming", "StreamingLLM: first and last positions, as in MagicDec"),
    "snapkv": _index("snapkv", "SnapKV: chosen once, by the prompt's last queries, as in MagicDec"),
    "vegas": _index("vegas", "Vegas: one index a layer"),
    "pillar": _index("pillar", "PillarAttn (SparseSpec): by all queries of the last verify"),
    "quest": _index("quest", "Quest: pages by a bound on their scores"),
    "h2o": _index("h2o", "H2O: by the attention of all queries there were"),
    "pyramidkv": _index("pyramidkv", "PyramidKV: as SnapKV, with fewer positions in later layers"),
    "disco": _rule("disco", "DISCO: drafts end below a confidence"),
    "adaedl": _rule("adaedl", "AdaEDL: drafts end by a bound on acceptance from entropy"),
    "svip": _rule("svip", "SVIP: drafts end by the entropy of the draft"),
    "lookup": Entry("lookup", "prompt lookup alone", {**_OURS, "controller": "lookup-only", "lookup": True}),
    "two-level": Entry("lookup", "TriForce-like: lookup, then the sparse model", {**_OURS, "lookup": True}, fixed=True),
    "eagle3": Entry("trained", "EAGLE-3", missing="needs a draft head trained for the model"),
    "medusa": Entry("trained", "Medusa", missing="needs heads trained for the model"),
    "rapid": Entry("trained", "RAPID", missing="needs a retriever and a second model, and changes the distribution"),
    "layerskip": Entry("trained", "LayerSkip", missing="needs a checkpoint trained for it: see hf-early-exit"),
}


def groups() -> dict[str, list[str]]:
    """The names of every group, in order."""
    found: dict[str, list[str]] = {}
    for name, entry in CATALOGUE.items():
        found.setdefault(entry.group, []).append(name)
    return found


def check_names(names: Iterable[str]) -> None:
    """Raises UsageError for a name that is none."""
    for name in names:
        _entry(name)


def system_config(name: str, base: DecodeConfig) -> DecodeConfig:
    """`base`, with what makes this system of ours what it is. Raises UsageError for a name that is none of ours."""
    entry, k = _entry(name)
    if not entry.options:
        raise UsageError(f"{name} is not decoded by the engine")
    length = {"k": k or DEFAULT_K} if entry.fixed else {}
    return replace(base, **{**entry.options, **length})


def make_system(name: str, run: DecodingRun, base: DecodeConfig, named: Named | None = None) -> System:
    """The system of that name on a prefilled run.

    base: budget, sink, window and whatever else the system does not decide itself. Raises UnavailableError, with the
    reason, where it cannot run here, and UsageError for a name that is none.
    """
    entry, _ = _entry(name)
    if entry.missing is not None:
        raise UnavailableError(entry.missing)
    if not entry.options:
        return _hugging_face(name, run, named or Named())
    from spsl_cli.bench.systems.engine import EngineSystem  # noqa: PLC0415 torch takes seconds

    return EngineSystem(name, run, system_config(name, base))


def _hugging_face(name: str, run: DecodingRun, named: Named) -> System:
    from spsl_cli.bench.systems import hugging_face as hf  # noqa: PLC0415 transformers takes seconds

    if name == "hf-assisted":
        return hf.hf_assisted(run, named.assistant)
    if name == "hf-early-exit":
        return hf.hf_early_exit(run, named.exit_layer)
    plain = {EAGER: hf.hf_eager, "hf-sdpa": hf.hf_sdpa, "hf-prompt-lookup": hf.hf_prompt_lookup}
    return plain[name](run)


def _entry(name: str) -> tuple[Entry, int | None]:
    """What the catalogue says of that name, and the draft length that the name carries."""
    if name in CATALOGUE:
        return CATALOGUE[name], None
    match = _WITH_LENGTH.fullmatch(name)
    entry = CATALOGUE.get(match["name"]) if match else None
    if match is None or entry is None or not entry.fixed:
        raise UsageError(f"there is no system {name!r}", hint=f"choose from {', '.join(CATALOGUE)}")
    if int(match["k"]) > K_MAX:
        raise UsageError(f"{name}: a draft has at most {K_MAX} tokens")
    return entry, int(match["k"])

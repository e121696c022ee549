"""Using again what was read: keys and values of documents, from the run before or from the store on disk.

Wires runs and store together. That what is used again is bit for bit what a prefill would compute is the matter of
`decoding.prefix`; that it belongs to this model, of the key.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import astuple
from typing import TYPE_CHECKING

from spsl_cli.answer import ModelFacts
from spsl_cli.machine import cache_root
from spsl_cli.storage.kv_store import KvStore

if TYPE_CHECKING:
    from spsl_cli.decoding.prefix import Prefix
    from spsl_cli.decoding.run import DecodingRun

FOLDER = "kv"
LEAST = 256
"""Documents of fewer tokens are not stored: they are read again in no time."""


def kv_store(limit: int, warn: Callable[[str], None]) -> KvStore:
    """The store in this machine's cache folder."""
    return KvStore(cache_root() / FOLDER, limit, warn)


class Reuse:
    """What one session may use again: of the run before it, or of the store if there is one."""

    def __init__(self, model: ModelFacts, store: KvStore | None) -> None:
        self._model, self._key, self._store = model.id, key_of(model), store
        self._last: DecodingRun | None = None

    def prefix_for(self, run: DecodingRun, ends: Sequence[int]) -> Prefix | None:
        """The rows that save `run` most, None if there are none. The run before is over then.

        `ends`: the prompt's parts; the first are its documents, and only those may be in the store.
        """
        from spsl_cli.decoding.prefix import Prefix  # noqa: PLC0415 seconds
        from spsl_cli.decoding.sparse_view import Rows  # noqa: PLC0415

        def saves(token_ids: Sequence[int], splits: Sequence[int]) -> int:
            return run.reusable(token_ids, splits, ends)

        last, self._last = self._last, None
        here = 0 if last is None else saves(last.prompt_ids, last.splits)
        if self._store is not None and ends and here < ends[0]:
            found = self._store.find(self._key, saves, more_than=here)
            if found is not None:
                return Prefix(found.token_ids, found.header.splits, (Rows(*layer) for layer in found.rows()))
        return last.prefix(here, release=True) if last is not None and here else None

    def remember(self, run: DecodingRun) -> None:
        """Let the next run begin with what this one has read."""
        self._last = run

    def keep(self, run: DecodingRun, end: int, documents: Sequence[str] = ()) -> None:
        """Store the rows of the prompt's first `end` tokens, unless that is where they come from."""
        if self._store is None or end < LEAST or run.reused >= end:
            return
        prefix = run.prefix(end)
        self._store.save(self._key, self._model, prefix.token_ids, prefix.splits, list(prefix.rows), documents)


def key_of(model: ModelFacts) -> str:
    """Differs where keys and values might: by model, revision, type, device, and what computes a prefill here."""
    import torch  # noqa: PLC0415 seconds
    import transformers  # noqa: PLC0415

    from spsl_cli.native import kernels  # noqa: PLC0415

    parts = (*astuple(model), torch.__version__, transformers.__version__, kernels.available())
    return hashlib.sha256(repr(parts).encode()).hexdigest()

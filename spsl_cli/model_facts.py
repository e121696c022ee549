"""Which tokens end an answer of a loaded model, and what running out of memory looks like."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from spsl_cli.errors import OutOfMemoryError

if TYPE_CHECKING:
    from spsl_cli.models import LoadedModel


def stop_token_ids(loaded: LoadedModel) -> frozenset[int]:
    """The tokens that end an answer: those of the model's generation settings, else the tokenizer's end of sequence."""
    stated = getattr(loaded.model.generation_config, "eos_token_id", None)
    if stated is None:
        stated = loaded.tokenizer.eos_token_id
    if stated is None:
        return frozenset()
    return frozenset(stated if isinstance(stated, list) else [stated])


@contextmanager
def memory_errors(device: str, positions: int) -> Iterator[None]:
    """A run that does not fit becomes one clear error."""
    import torch  # noqa: PLC0415

    try:
        yield
    except (torch.OutOfMemoryError, MemoryError, RuntimeError) as error:
        ours = isinstance(error, torch.OutOfMemoryError | MemoryError) or "can't allocate memory" in str(error)
        if not ours:
            raise
        raise OutOfMemoryError(
            f"{positions:,} positions do not fit into the memory of {device}",
            hint="give fewer documents, fewer --max-new-tokens, or a smaller model",
        ) from error

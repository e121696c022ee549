"""The model that a run would use, on the device that it would use, and the memory it takes there; nothing is loaded.

Knows settings and a model's configuration; of documents and prompts only how many positions they take.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

from spsl_cli.answer import ModelFacts
from spsl_cli.config import Settings
from spsl_cli.decoder_settings import decode_config
from spsl_cli.machine import available_memory
from spsl_cli.model_shape import ALLOCATOR, FLOAT32

if TYPE_CHECKING:
    from transformers import PreTrainedConfig

    from spsl_cli.decoding.config import DecodeConfig
    from spsl_cli.model_shape import LayerShape
    from spsl_cli.models import MemoryPlan, ModelSource

_INDEX_BYTES = 8  # the native kernels remember which position a slot holds


@dataclass(frozen=True)
class Outlook:
    """A model and a device. `weights`: bytes; `available`: free bytes there, None where the system does not tell."""

    source: ModelSource
    config: PreTrainedConfig
    facts: ModelFacts
    decoding: DecodeConfig
    weights: int
    context_length: int
    available: int | None

    @property
    def _kind(self) -> str:
        return self.facts.device.partition(":")[0]

    @property
    def _dtype_bytes(self) -> int:
        return FLOAT32 if self.facts.dtype == "float32" else 2

    def plan(self, tokens: int) -> MemoryPlan:
        """What a run over so many positions takes."""
        return self._plan(tokens, self._workspace(self.chunk(tokens), tokens))

    def chunk(self, tokens: int) -> int:
        """How many tokens of a prompt one forward takes, in a run over so many positions."""
        from spsl_cli.decoding.sizes import prefill_chunk  # noqa: PLC0415 seconds

        if self.decoding.prefill_chunk is not None:
            return self.decoding.prefill_chunk
        free = None
        if self.available is not None:
            free = int(self.available / ALLOCATOR) - self._plan(tokens, 0).total
        return prefill_chunk(self._kind, free, lambda chunk: self._workspace(chunk, tokens))

    @cached_property
    def longest_context(self) -> int | None:
        """The most positions that fit into the free memory, up to the model's own limit; None where it is not known."""
        from spsl_cli.models.memory import longest_context  # noqa: PLC0415 seconds

        return None if self.available is None else longest_context(self.plan, self.available, self.context_length)

    def _workspace(self, chunk: int, tokens: int) -> int:
        """Bytes that come and go with a forward of so many tokens of the prompt, or with a refresh."""
        from spsl_cli.decoding.sizes import is_fused  # noqa: PLC0415 seconds
        from spsl_cli.model_shape import prefill_workspace, refresh_workspace  # noqa: PLC0415

        window = self.decoding.window if self.decoding.speculation else 0
        fused = is_fused(self._layers, self.config, self._kind)
        prefill = prefill_workspace(
            self.config, self._layers, self._dtype_bytes, min(chunk, tokens), tokens, fused=fused
        )
        return max(prefill, refresh_workspace(self._layers, tokens, window))

    def _plan(self, tokens: int, workspace: int) -> MemoryPlan:
        from spsl_cli.decoding import sizes  # noqa: PLC0415 seconds
        from spsl_cli.models.memory import RunShape, memory_plan  # noqa: PLC0415

        positions, config = sizes.capacity(tokens, strict=self.decoding.strict), self.decoding
        run = RunShape(tokens, spare=positions - tokens, workspace=workspace)
        if config.speculation:
            drafting = sizes.draft_sizes(config, positions, sum(layer.sees_all for layer in self._layers))
            run = replace(
                run,
                slots=drafting.slots,
                slot_bytes=_INDEX_BYTES if self._kind == "cpu" and self._dtype_bytes == FLOAT32 else 0,
                importance_bytes=sizes.importance_bytes(drafting),
                per_query_head=drafting.per_query_head,
                mass_rows=sizes.held_mass_rows(config),
                query_rows=2 * config.window,  # of the prompt, to go back to, and of what was decoded last
            )
        return memory_plan(self._layers, self.weights, self._dtype_bytes, run)

    @cached_property
    def _layers(self) -> list[LayerShape]:
        from spsl_cli.model_shape import layer_shapes  # noqa: PLC0415 seconds

        return layer_shapes(self.config)


def make_outlook(settings: Settings) -> Outlook:
    """What these settings come to on this machine; a model that is not here is fetched.

    Raises UsageError, and what finding the model raises.
    """
    from spsl_cli import models  # noqa: PLC0415 seconds
    from spsl_cli.models.devices import with_room  # noqa: PLC0415
    from spsl_cli.models.saved_quantization import effective_quantization, own_quantization  # noqa: PLC0415

    decoding = decode_config(settings)
    models.check_quantization(settings.quantize)
    device = models.pick_device(settings.device)
    source = models.resolve(
        settings.model, revision=settings.revision, offline=settings.offline, device=settings.device
    )
    config = models.load_config(source.path)
    models.check_supported(config)
    dtype = models.pick_dtype(settings.dtype, device)
    quantize = effective_quantization(settings.quantize, source, config, device)
    weights = models.weights_bytes(source.path, FLOAT32 if dtype == "float32" else 2, quantize, device)
    device = with_room(settings.device, device, weights)
    return Outlook(
        source=source,
        config=config,
        facts=ModelFacts(source.id, source.revision, dtype, device, quantize or own_quantization(config)),
        decoding=decoding,
        weights=weights,
        context_length=models.context_length(config),
        available=available_memory(device),
    )

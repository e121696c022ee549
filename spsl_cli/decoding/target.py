"""The target model: a Hugging Face causal language model whose attention runs on our cache.

During a forward of ours the model's attention implementation is the function below; afterwards it is again what it was.
Nothing else of the model is touched.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from transformers import AttentionInterface, PreTrainedConfig, PreTrainedModel

from spsl_cli.decoding.attention import attend_chunk, attend_few, causal_mask
from spsl_cli.decoding.kv_cache import DecoderCache, ForwardState, LayerCache, LayerSizes, Mode, PendingQueries
from spsl_cli.errors import UnsupportedModelError

ATTENTION_NAME = "spsl_dense_and_sparse"
_SWITCHING = threading.RLock()  # two threads on one model take turns, forward by forward
FEW_ROWS = 32
"""Up to this many query rows a forward is one packed product with a mask; longer ones are prefill chunks."""


def spsl_attention(
    module: torch.nn.Module,
    query: torch.Tensor,
    _key: torch.Tensor,
    _value: torch.Tensor,
    attention_mask: torch.Tensor | None,
    scaling: float | None = None,
    *,
    spsl_layer: LayerCache | None = None,
    **options: Any,
) -> tuple[torch.Tensor, None]:
    """What attention modules call: query [R, Hq, q, D] against the rows that `spsl_layer` holds -> [R, q, Hq, D]."""
    if spsl_layer is None or attention_mask is not None:
        raise UnsupportedModelError(f"{type(module).__name__} attends outside the cache or with a mask of its own")
    for name in ("sliding_window", "softcap", "s_aux"):
        if options.get(name) is not None:
            raise UnsupportedModelError(f"{type(module).__name__} uses {name}, which is not supported yet")
    state, rows = spsl_layer.state, query.shape[2]
    scale = query.shape[-1] ** -0.5 if scaling is None else scaling
    spsl_layer.scaling = scale
    outputs = []
    for i, (sequence, start) in enumerate(zip(state.sequences, state.starts, strict=True)):
        keys, values = spsl_layer.rows(sequence, start + rows)
        if rows <= FEW_ROWS:
            output, lse = attend_few(query[i], keys, values, scale, state.masks[i] if state.masks else None)
        else:
            output, lse = attend_chunk(query[i], keys, values, scale)
        if state.keep:
            kept_query = query[i, :, -state.keep :]
            if rows > state.keep:  # do not hold a whole prefill chunk for its last rows
                kept_query = kept_query.clone()
            spsl_layer.kept[sequence] = PendingQueries(kept_query, lse[:, :, -state.keep :].clone())
        outputs.append(output)
    return torch.stack(outputs), None


AttentionInterface.register(ATTENTION_NAME, spsl_attention)


class TargetModel:
    """A loaded model and what the decoder needs to know of it."""

    def __init__(self, model: PreTrainedModel) -> None:
        self.model = model
        config = model.config.get_text_config(decoder=True)
        self.layer_count = int(config.num_hidden_layers)
        heads = int(config.num_attention_heads)
        self.groups = heads // int(getattr(config, "num_key_value_heads", None) or heads)
        embedding: torch.Tensor = model.get_input_embeddings().weight  # type: ignore[assignment]
        self.vocabulary = embedding.shape[0]
        self.device = embedding.device
        self.dtype: torch.dtype = model.dtype
        before = model.config._attn_implementation  # noqa: SLF001 there is no public way to read it
        model.set_attn_implementation(ATTENTION_NAME)  # this checks that the model can be switched at all
        self._configs = _switched_configs(model)
        model.set_attn_implementation(before)
        if not self._configs:
            raise UnsupportedModelError(f"{type(model).__name__} does not let its attention be replaced")

    @contextmanager
    def _attached(self) -> Iterator[None]:
        """Within, the model attends through our function; afterwards as before.

        Switched for each forward, by the attribute alone (microseconds; the public way walks all modules), so that
        nothing is left switched between the events of a generator, however it ends.
        """
        with _SWITCHING:
            before = [config._attn_implementation_internal for config in self._configs]  # noqa: SLF001
            try:
                for config in self._configs:
                    config._attn_implementation_internal = ATTENTION_NAME  # noqa: SLF001
                yield
            finally:
                for config, name in zip(self._configs, before, strict=True):
                    config._attn_implementation_internal = name  # noqa: SLF001

    def allocate(self, sizes: LayerSizes) -> DecoderCache:
        """An empty cache of that size for this model."""
        return DecoderCache.allocate(self.layer_count, sizes)

    def dense_forward(
        self, cache: DecoderCache, token_ids: torch.Tensor, sequences: Sequence[int], *, keep: int = 0, logits: int = 0
    ) -> torch.Tensor:
        """Run token_ids [R, q] at the positions behind each sequence's committed ones, over the whole cache.

        `keep`: of how many last rows the queries are kept for the attention mass. `logits`: of how many last rows the
        logits are wanted (0: all). Returns logits [R, that many, V]. Nothing is committed.
        """
        rows = token_ids.shape[1]
        starts = tuple(cache.lengths[sequence] for sequence in sequences)
        masks: tuple[torch.Tensor, ...] = ()
        if 1 < rows <= FEW_ROWS:
            masks = tuple(causal_mask(rows, self.groups, start + rows, self.dtype, self.device) for start in starts)
        self._enter(cache, ForwardState(Mode.DENSE, tuple(sequences), starts, keep, masks))
        return self._run(cache, token_ids, starts, logits)

    def draft_forward(
        self, cache: DecoderCache, token_ids: torch.Tensor, sequences: Sequence[int], depth: int
    ) -> torch.Tensor:
        """Run token_ids [R, 1], the token at `depth` of each draft, over the sparse view. Returns logits [R, 1, V]."""
        slots = tuple(cache.sparse_sizes[sequence] + depth for sequence in sequences)
        positions = tuple(cache.lengths[sequence] + depth for sequence in sequences)
        self._enter(cache, ForwardState(Mode.DRAFT, tuple(sequences), slots))
        return self._run(cache, token_ids, positions, 1)

    @staticmethod
    def _enter(cache: DecoderCache, state: ForwardState) -> None:
        """Make `state` the one that every layer reads."""
        vars(cache.state).update(vars(state))

    def _run(self, cache: DecoderCache, token_ids: torch.Tensor, positions: Sequence[int], logits: int) -> torch.Tensor:
        steps = torch.arange(token_ids.shape[1], device=token_ids.device)
        position_ids = torch.tensor(positions, device=token_ids.device)[:, None] + steps
        with torch.inference_mode(), self._attached():
            output = self.model(
                input_ids=token_ids,
                position_ids=position_ids,
                cache=cache.as_hugging_face(),
                use_cache=True,
                logits_to_keep=logits,
            )
        result: torch.Tensor = output.logits
        return result


def _switched_configs(model: PreTrainedModel) -> list[PreTrainedConfig]:
    """The distinct configurations of the model and its parts that now name our attention."""
    configs = {
        id(module.config): module.config
        for module in model.modules()
        if isinstance(module, PreTrainedModel) and module.config._attn_implementation == ATTENTION_NAME  # noqa: SLF001
    }
    return list(configs.values())

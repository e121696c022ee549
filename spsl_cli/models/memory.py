"""How long a context a model has, and what a run of a given length takes in memory. Reads headers, never weights."""

from __future__ import annotations

import json
import math
import re
import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from spsl_cli.errors import ModelUnavailableError, UnsupportedModelError
from spsl_cli.model_shape import ALLOCATOR, FLOAT32, LayerShape, layer_shapes
from spsl_cli.models.folder import weight_files
from spsl_cli.quantized.sizes import BITS, bytes_per_weight

if TYPE_CHECKING:
    from transformers import PreTrainedConfig

_OUTPUT = "lm_head.weight"
_IN_A_LAYER = re.compile(r"\.\d+\.")  # families differ in the word before the number
_FLOATS = {"F64", "F32", "F16", "BF16"}  # what is loaded in the type wanted; other types stay what they are
_EIGHT_BIT_FLOATS = {"F8_E4M3", "F8_E5M2"}  # but for these, which a CPU does not compute with
_WIDTHS = {"F64": 8, "I64": 8, "U64": 8, "F32": 4, "I32": 4, "U32": 4, "F16": 2, "BF16": 2, "I16": 2, "U16": 2}
_LARGEST_HEADER = 100 * 2**20


@dataclass(frozen=True, slots=True)
class RunShape:
    """What a run allocates besides weights, in positions, slots and rows of `sequences` sequences.

    tokens: positions of prompt and answer. spare: of the cache behind them, for rows that are not committed. slots: of
    the view that drafts read, with `slot_bytes` of bookkeeping by slot and head. importance_bytes: by position and
    head. per_query_head: whether view and importance are kept for query heads instead of KV heads. mass_rows: verified
    tokens whose attention mass waits to be counted; query_rows: those whose queries do. workspace: bytes that come and
    go with a forward.
    """

    tokens: int
    spare: int = 0
    slots: int = 0
    slot_bytes: int = 0
    importance_bytes: int = 0
    per_query_head: bool = False
    mass_rows: int = 0
    query_rows: int = 0
    workspace: int = 0
    sequences: int = 1


@dataclass(frozen=True, slots=True)
class MemoryPlan:
    """Bytes that a run of `tokens` positions takes: the weights, and what grows with the length.

    kv: keys and values; draft_view: copies of those that drafts read; importance: sums of attention by position;
    pending: rows of tokens that are not committed, and queries and attention mass not counted yet; workspace: what
    comes and goes with a forward, at its height, which is that of a prefill's chunk or of a refresh.
    """

    tokens: int
    weights: int
    kv: int
    draft_view: int
    importance: int
    pending: int = 0
    workspace: int = 0

    @property
    def total(self) -> int:
        """All of it."""
        return self.weights + self.kv + self.draft_view + self.importance + self.pending + self.workspace

    def fits(self, available: int) -> bool:
        """Whether `available` bytes are enough, leaving a twentieth for the allocator."""
        return self.total * ALLOCATOR <= available


def context_length(config: PreTrainedConfig) -> int:
    """The positions a model is made for. Raises `UnsupportedModelError` if its configuration does not tell.

    YaRN stretches the original length by its factor, and `max_position_embeddings` may still state the original one.
    Other scalings either state the stretched length themselves or (dynamic NTK) change every cached key beyond it.
    """
    text = config.get_text_config(decoder=True)
    stated = getattr(text, "max_position_embeddings", None)
    if not isinstance(stated, int) or stated <= 0:
        raise UnsupportedModelError(f"the configuration of this {config.model_type} model states no context length")
    rope = getattr(text, "rope_parameters", None) or {}
    if rope.get("rope_type") != "yarn":
        return stated
    original, factor = rope.get("original_max_position_embeddings") or stated, rope.get("factor") or 1.0
    return max(stated, int(original * factor))


def kv_bytes_per_token(config: PreTrainedConfig, dtype_bytes: int) -> int:
    """Bytes of keys and values that one position takes over all layers."""
    return sum(shape.position_size for shape in layer_shapes(config)) * dtype_bytes


def memory_plan(shapes: Sequence[LayerShape], weights_bytes: int, dtype_bytes: int, run: RunShape) -> MemoryPlan:
    """What `run` takes on a model of these layers and weights, with keys and values of `dtype_bytes` each.

    Layers with a sliding window keep every position, so that an answer can start again from its prompt; they have no
    view and no importance.
    """
    drafted = [shape for shape in shapes if shape.sees_all]
    copies = [shape.query_heads // shape.kv_heads if run.per_query_head else 1 for shape in drafted]
    heads = sum(shape.kv_heads * count for shape, count in zip(drafted, copies, strict=True))
    viewed = sum(shape.position_size * count for shape, count in zip(drafted, copies, strict=True))
    position = sum(shape.position_size for shape in shapes) * dtype_bytes
    queries = sum(shape.query_heads * (dtype_bytes * shape.key_size + FLOAT32) for shape in drafted)
    waiting = run.spare * position + run.query_rows * queries + FLOAT32 * run.mass_rows * heads * run.tokens
    return MemoryPlan(
        tokens=run.tokens,
        weights=weights_bytes,
        kv=position * run.tokens * run.sequences,
        draft_view=(viewed * dtype_bytes + heads * run.slot_bytes) * run.slots * run.sequences,
        importance=run.importance_bytes * heads * (run.tokens + run.spare) * run.sequences,
        pending=waiting * run.sequences,
        workspace=run.workspace,
    )


def longest_context(plan_at: Callable[[int], MemoryPlan], available: int, limit: int) -> int:
    """The most positions, up to `limit`, whose plan fits into `available` bytes; 0 if not even one does."""
    fitting, too_many = 0, limit + 1
    while too_many - fitting > 1:
        middle = (fitting + too_many) // 2
        if plan_at(middle).fits(available):
            fitting = middle
        else:
            too_many = middle
    return fitting


def weights_bytes(folder: Path, dtype_bytes: int, quantize: str | None = None, device: str = "cuda") -> int:
    """Bytes the weights in `folder` will take in memory, from the headers of its safetensors files.

    Quantisation shrinks the matrices inside the layers, on the CPU the output layer too; all else keeps `dtype_bytes`.
    What is stored in bytes or whole numbers, as in a checkpoint quantised by others, is loaded as it is.
    On the CPU an output layer tied to the embedding has weights of its own, quantised or packed (float32).
    """
    tensors = {name: tensor for file in weight_files(folder) for name, tensor in _tensors(file).items()}
    kind = device.partition(":")[0]
    small = _quantised_bytes(kind, quantize) if quantize else dtype_bytes
    floats = _FLOATS | _EIGHT_BIT_FLOATS if kind == "cpu" else _FLOATS
    total = 0.0
    for name, (stored, shape) in tensors.items():
        shrinks = len(shape) > 1 and (_IN_A_LAYER.search(name) or (kind == "cpu" and name == _OUTPUT))
        each = (small if shrinks else dtype_bytes) if stored in floats else _WIDTHS.get(stored, 1)
        total += math.prod(shape) * each
    if kind == "cpu" and _OUTPUT not in tensors and (quantize or dtype_bytes == FLOAT32):
        tied = [shape for name, (_, shape) in tensors.items() if len(shape) > 1 and not _IN_A_LAYER.search(name)]
        total += max(map(math.prod, tied), default=0) * small
    return round(total)


def _quantised_bytes(kind: str, quantize: str) -> float:
    """Of a weight of a quantised matrix: our own on the CPU; bitsandbytes' on CUDA, 4-byte scales for 64 if 4 bits."""
    bits = BITS[quantize]
    if kind == "cpu":
        return bytes_per_weight(bits)
    return bits / 8 + (FLOAT32 / 64 if quantize == "4bit" else 0.0)


def _tensors(file: Path) -> dict[str, tuple[str, list[int]]]:
    """The stored type and the shape of every tensor in a safetensors file."""
    try:
        with file.open("rb") as stream:
            (length,) = struct.unpack("<Q", stream.read(8))
            if length > _LARGEST_HEADER:
                raise ModelUnavailableError(f"{file} is damaged: its header claims {length} bytes")
            header = json.loads(stream.read(length))
        return {
            name: (str(tensor["dtype"]), list(map(int, tensor["shape"])))
            for name, tensor in header.items()
            if name != "__metadata__"
        }
    except (OSError, ValueError, KeyError, TypeError, AttributeError, struct.error) as error:
        raise ModelUnavailableError(f"{file} is no readable safetensors file: {error}") from error

"""Faster forwards that take the place of a model's own, module by module, while a forward of ours runs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Literal

import torch
from torch import nn

from spsl_cli.decoding.lean.merged_layer import MergedLayer, SignedSine, can_be_merged, linears_of
from spsl_cli.decoding.lean.modules import untouched
from spsl_cli.decoding.lean.native_layer import NativeLayer, can_be_native
from spsl_cli.decoding.lean.products import Linear, Product, SharedProduct, can_be_packed, kept, packed
from spsl_cli.machine import available_memory
from spsl_cli.quantized.linear import QuantizedLinear, bytes_of

Forward = Callable[..., torch.Tensor]
Packing = Literal["auto", "copy", "replace", "off"]
SPARE = 4
"""`auto` packs where the copy takes at most this part of the memory that is free: a quarter."""

LEAST = 32 * 2**20
"""Bytes of weights from which on `auto` packs: smaller ones stay in the processor's caches, and every new shape costs
oneDNN some milliseconds of compilation."""


class StandIns:
    """What stands in for modules of one model: layers merged where they are of a known kind, weights packed if wanted.

    Merging copies nothing. Packing copies the weights of linear layers; `replace` gives back the model's own, so that
    it runs through its stand-ins only. Weights changed since in place (by an optimizer, by load_state_dict) are packed
    again by `follow`; a change through `.data`, or of weights made in inference mode, cannot be seen.
    `saved_bytes`: how many fewer bytes of weights a step reads for their layout in few bits.

    What was done to modules since (one replaced, a hook, a forward of their own) is not followed: `fit` tells, and new
    stand-ins are needed.
    """

    def __init__(self, model: nn.Module) -> None:
        self._seen = _seen(model)
        self._layers = [module for module in model.modules() if can_be_merged(module)]
        self._linears = [module for module in model.modules() if can_be_packed(module)]
        embeddings = (module for module in model.modules() if isinstance(module, nn.Embedding))
        self._embedded = {id(embedding.weight) for embedding in embeddings}
        self.saved_bytes = 0
        self._assemble([], release=False)

    def fit(self, model: nn.Module) -> bool:
        """Whether the model's modules are those that were looked at, and nobody has changed how they compute."""
        return _seen(model) == self._seen

    def pack(self, packing: Packing) -> None:
        """Lay weights out for products with a few rows, where they can be."""
        if packing == "auto":
            size = sum(linear.weight.nbytes for linear in self._linears)
            free = available_memory("cpu")
            packing = "copy" if free is not None and LEAST <= size <= free // SPARE else "off"
        if packing != "off" and self._linears:
            self._assemble(self._linears, release=packing == "replace")

    def follow(self) -> None:
        """Pack again if the model's weights are not those that were packed, or lie elsewhere."""
        if self._state is not None and self._state != self._state_of(self._held):
            self._assemble(self._packed, release=False)

    @contextmanager
    def in_place(self) -> Iterator[None]:
        """Within, the modules compute by their stand-ins."""
        try:
            for module, forward in self._forwards:
                vars(module)["forward"] = forward
            yield
        finally:  # none of them had one of its own, or there would be no stand-in
            for module, _ in self._forwards:
                vars(module).pop("forward", None)

    def _assemble(self, to_pack: list[nn.Linear], *, release: bool) -> None:
        """Merge layers, and make products of the linear layers `to_pack` outside them.

        Layer by layer, so that with `release` no more than one layer's weights are held twice.
        """
        sine, alone = SignedSine(), dict.fromkeys(to_pack)
        self._packed, self._held = to_pack, list[nn.Module](to_pack)
        self._forwards: list[tuple[nn.Module, Forward]] = []
        self.saved_bytes = 0
        for layer in self._layers:
            own = linears_of(layer)
            packable = [linear for linear in own if linear in alone]
            self._forwards.append((layer, self._merged(layer, own, sine, packs=len(packable) == len(own))))
            if len(packable) == len(own) and release:
                _release(packable)
            for linear in packable:
                del alone[linear]
        self._forwards += [(linear, self._product([linear])) for linear in alone]
        if release:
            _release([linear for linear in alone if id(linear.weight) not in self._embedded])
        self._state = None if release else self._state_of(self._held)

    def _merged(self, layer: nn.Module, own: list[Linear], sine: SignedSine, *, packs: bool) -> MergedLayer:
        """Computed natively where its weights are kept as the kernels take them, or may be."""
        same = kept(own) if packs or all(isinstance(linear, QuantizedLinear) for linear in own) else None
        if same is None or not can_be_native(layer):
            return MergedLayer(layer, sine, self._product if packs else SharedProduct)
        if packs:
            self._count(own, sum(map(bytes_of, same)))
        self._held.append(layer)
        return NativeLayer(layer, sine, same)

    def _product(self, linears: Sequence[Linear]) -> Product:
        product = packed(linears)
        self._count(linears, product.nbytes)
        return product

    def _count(self, linears: Sequence[Linear], taken: int) -> None:
        self.saved_bytes += sum(linear.weight.nbytes for linear in linears) - taken

    @staticmethod
    def _state_of(held: Sequence[nn.Module]) -> list[tuple[int, int]]:
        tensors = (tensor for module in held for tensor in (*module.parameters(), *module.buffers()))
        return [(each.data_ptr(), 0 if each.is_inference() else each._version) for each in tensors]  # noqa: SLF001


def _seen(model: nn.Module) -> list[tuple[nn.Module, bool]]:
    """The modules below `model`, without it (whoever keeps the list must not keep it), and if each is untouched."""
    return [(module, untouched(module)) for module in model.modules() if module is not model]


def _release(linears: list[nn.Linear]) -> None:
    for linear in linears:
        linear.weight.data = torch.empty(0, dtype=linear.weight.dtype)

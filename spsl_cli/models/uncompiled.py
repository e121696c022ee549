"""Makes a model without importing torch's compiler, which takes half a second and is used by no run here."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import torch


def without_compiler(read: Callable[[], Any]) -> Any:
    """What `read` gives, which makes a model without numbers first and gives it its values then.

    Random numbers and positions without numbers are computed by functions of torch's compiler, which take half a second
    to import. Here the random ones are left out, and positions are true ones for that while. A model that mixes those
    with weights without numbers is made in torch's own way.
    """
    import torch  # noqa: PLC0415 seconds
    from torch.nn import init  # noqa: PLC0415

    normal, arange = init.normal_, torch.arange

    def drawn(tensor: torch.Tensor, *arguments: Any, **options: Any) -> torch.Tensor:
        return tensor if tensor.is_meta else normal(tensor, *arguments, **options)

    def counted(*arguments: Any, device: Any = None, **options: Any) -> torch.Tensor:
        return arange(*arguments, device="cpu" if device is None else device, **options)

    init.normal_, torch.arange = drawn, counted
    try:
        return read()
    except RuntimeError as error:
        if "meta" not in str(error):
            raise
    finally:
        init.normal_, torch.arange = normal, arange
    return read()

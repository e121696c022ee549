"""What was done to a module after it was made."""

from __future__ import annotations

from torch import nn


def untouched(module: nn.Module) -> bool:
    """Whether nobody listens to this module or has replaced its forward."""
    hooks = (module._forward_hooks, module._forward_pre_hooks)  # noqa: SLF001 there is no public way to ask
    return not any(hooks) and "forward" not in vars(module)

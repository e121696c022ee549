"""What tells a model's keys and values apart from any other's."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from transformers import PreTrainedModel

SAMPLES = 64


def fingerprint(model: PreTrainedModel) -> str:
    """A digest of the configuration, and of names, types, shapes and some values of all parameters and buffers.

    `SAMPLES` values of each, evenly spread: enough to tell a fine-tuned model from its base without reading all of it.
    """
    import torch  # noqa: PLC0415 seconds

    digest = hashlib.sha256(torch.__version__.encode())
    digest.update(model.config.to_json_string(use_diff=False).encode())
    for name, tensor in (*model.named_parameters(), *model.named_buffers()):
        flat = tensor.detach().flatten()
        places = torch.linspace(0, max(flat.numel() - 1, 0), min(SAMPLES, flat.numel()), dtype=torch.float64).long()
        digest.update(f"{name} {tensor.dtype} {tuple(tensor.shape)}".encode())
        digest.update(flat[places.to(flat.device)].cpu().contiguous().view(torch.uint8).numpy().tobytes())
    return digest.hexdigest()

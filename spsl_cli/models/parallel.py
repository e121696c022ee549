"""One model in several processes that torchrun started, each with a share of every layer (tensor parallel).

Knows how such a model is loaded; what its processes compute is the same in all, so each decodes the same tokens.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from spsl_cli.errors import UnsupportedModelError, UsageError
from spsl_cli.models.devices import processes_of_torchrun

if TYPE_CHECKING:
    from transformers import PreTrainedConfig


def own_device(device: str) -> str:
    """The device of this process: its GPU on this machine, or the CPU. Raises UsageError outside torchrun."""
    if processes_of_torchrun() == 1:
        raise UsageError(
            "tensor parallel needs several processes", hint="start the program with torchrun --nproc-per-node N"
        )
    return "cpu" if device == "cpu" else f"cuda:{int(os.environ.get('LOCAL_RANK', '0'))}"


def check_shares(config: PreTrainedConfig, folder: Path) -> None:
    """Raise UnsupportedModelError where the model cannot be shared out among so many processes."""
    text, count = config.get_text_config(decoder=True), processes_of_torchrun()
    if not getattr(text, "base_model_tp_plan", None):
        raise UnsupportedModelError(f"the model in {folder} has no plan for tensor parallel in transformers")
    heads = getattr(text, "num_key_value_heads", None) or text.num_attention_heads
    if heads % count:
        raise UnsupportedModelError(
            f"the model in {folder} has {heads} key-value heads, which {count} processes cannot share",
            hint="start as many processes as divide that number",
        )


def parallel_options(device: str) -> dict[str, Any]:
    """What `from_pretrained` takes for it; the processes get to know each other first, if they do not."""
    import torch  # noqa: PLC0415
    from torch import distributed  # noqa: PLC0415
    from transformers.distributed.configuration_utils import DistributedConfig  # noqa: PLC0415

    if device != "cpu":
        torch.cuda.set_device(device)
    if not distributed.is_initialized():
        distributed.init_process_group("gloo" if device == "cpu" else "nccl")
    return {"distributed_config": DistributedConfig(tp_size=distributed.get_world_size())}

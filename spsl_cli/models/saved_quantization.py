"""Models whose weights were saved in few bits (GPTQ, AWQ, FP8, bitsandbytes ...): loaded as they are, by transformers.

Knows what a configuration says of it and which package transformers wants; not how such weights are computed with.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from spsl_cli.errors import ModelUnavailableError, UsageError
from spsl_cli.models.source import ModelSource
from spsl_cli.models.wording import first_line

if TYPE_CHECKING:
    from transformers import PreTrainedConfig

_PACKAGES = {  # what transformers needs for weights that were saved in few bits
    "gptq": "gptqmodel optimum",
    "awq": "gptqmodel",
    "bitsandbytes": "'spsl[gpu]'",
    "compressed-tensors": "compressed-tensors",
    "torchao": "torchao",
    "quanto": "optimum-quanto",
    "hqq": "hqq",
    "auto-round": "auto-round",
    "aqlm": "'aqlm[gpu,cpu]'",
    "mxfp4": "kernels",
}


def own_quantization(config: PreTrainedConfig) -> str | None:
    """The quantisation a model was saved with, by its method's name."""
    stated = getattr(config, "quantization_config", None)
    method = stated.get("quant_method") if isinstance(stated, dict) else getattr(stated, "quant_method", None)
    return None if method is None else str(getattr(method, "value", method))


def effective_quantization(asked: str | None, source: ModelSource, config: PreTrainedConfig, device: str) -> str | None:
    """Into which bits weights are put here: as asked for, as goes with a default for a small GPU, or not at all.

    A model whose weights are in few bits already is loaded as it is. Raises UsageError if it was to be put into others.
    """
    saved = own_quantization(config)
    if saved is None:
        return asked or (source.quantize if device != "cpu" else None)
    if asked is not None:
        raise UsageError(
            f"--quantize {asked} does not go with {source.id}, which was saved quantised ({saved})",
            hint="leave --quantize out: it is loaded as it is",
        )
    return None


def unloadable(source: ModelSource, saved: str, error: Exception) -> ModelUnavailableError:
    """What an error in loading such a model comes to: which package is missing, or what is wrong with the machine."""
    needed = _PACKAGES.get(saved) if isinstance(error, ImportError) else None
    return ModelUnavailableError(
        f"the model {source.id} was saved quantised ({saved}) and cannot be loaded here: {first_line(error)}",
        hint=f"pip install {needed}" if needed else "use another version of the model",
    )

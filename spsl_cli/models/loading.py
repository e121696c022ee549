"""From a model's folder to a model that can decode, with the facts a report needs. How it got there is not known.

Safetensors only, never code from the model's folder, never the network; weights that are missing are an error and are
not made up at random.
"""

from __future__ import annotations

import importlib.util
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from spsl_cli.errors import ModelUnavailableError, OutOfMemoryError, SpslError, UnsupportedModelError, UsageError
from spsl_cli.machine import available_memory
from spsl_cli.models.devices import (
    EVERY_GPU,
    cuda_devices,
    pick_device,
    pick_dtype,
    processes_of_torchrun,
    with_room,
)
from spsl_cli.models.folder import CONFIG, check_folder, read_json
from spsl_cli.models.memory import context_length, weights_bytes
from spsl_cli.models.parallel import check_shares, own_device, parallel_options
from spsl_cli.models.progress import LOAD, Progress, silent
from spsl_cli.models.quiet import quiet
from spsl_cli.models.saved_quantization import effective_quantization, own_quantization, unloadable
from spsl_cli.models.source import ModelSource
from spsl_cli.models.support import check_supported
from spsl_cli.models.uncompiled import without_compiler
from spsl_cli.models.wording import first_line
from spsl_cli.quantized.sizes import BITS

if TYPE_CHECKING:
    from transformers import PreTrainedConfig, PreTrainedModel, PreTrainedTokenizerBase

QUANTIZATIONS = tuple(BITS)
_LOCAL_ONLY: dict[str, Any] = {"local_files_only": True, "trust_remote_code": False}


@dataclass(frozen=True, slots=True)
class LoadedModel:
    """A model in evaluation mode on its device, its tokenizer, and what a report says of it."""

    model: PreTrainedModel
    tokenizer: PreTrainedTokenizerBase
    id: str
    revision: str
    dtype: str
    device: str
    quantization: str | None
    context_length: int
    path: Path
    license: str | None


def load_config(folder: Path) -> PreTrainedConfig:
    """The configuration in `folder`. Raises `UnsupportedModelError` if transformers has no code of its own for it."""
    raw = read_json(folder / CONFIG)
    with quiet():
        from transformers import AutoConfig, __version__  # noqa: PLC0415 - seconds to import
        from transformers.models.auto.configuration_auto import CONFIG_MAPPING  # noqa: PLC0415

        kind = raw.get("model_type")
        if kind not in CONFIG_MAPPING:
            if "auto_map" in raw:
                raise UnsupportedModelError(
                    f"the model in {folder} needs Python code of its own (auto_map), which spsl never runs",
                    hint="use a model whose type transformers knows",
                )
            raise UnsupportedModelError(
                f"the model in {folder} is of the type {kind!r}, which transformers {__version__} does not know",
                hint="use another model, or a newer transformers if it has this type",
            )
        try:
            config: PreTrainedConfig = AutoConfig.from_pretrained(folder, **_LOCAL_ONLY)
        except Exception as error:  # each model type checks its configuration with exceptions of its own
            raise ModelUnavailableError(f"{folder / CONFIG} is not valid: {first_line(error)}") from error
    return config


def load_tokenizer(folder: Path) -> PreTrainedTokenizerBase:
    """The tokenizer in `folder`. Raises `ModelUnavailableError`."""
    with quiet():
        from transformers import AutoTokenizer  # noqa: PLC0415 seconds

        try:
            tokenizer: PreTrainedTokenizerBase = AutoTokenizer.from_pretrained(folder, **_LOCAL_ONLY)
        except Exception as error:  # each kind of tokenizer fails in a way of its own
            raise ModelUnavailableError(f"{folder} has no tokenizer that can be read: {first_line(error)}") from error
    return tokenizer


def check_quantization(quantize: str | None) -> None:
    """Raise UsageError for one that is not known."""
    if quantize not in (None, *QUANTIZATIONS):
        raise UsageError(f"unknown quantisation {quantize!r}", hint=f"use {' or '.join(QUANTIZATIONS)}")


def load(
    source: ModelSource,
    *,
    device: str = "auto",
    dtype: str = "auto",
    quantize: str | None = None,
    tensor_parallel: bool = False,
    progress: Progress | None = None,
) -> LoadedModel:
    """Load `source` onto `device` (`auto`, `cpu`, `cuda`, `cuda:N`, `cuda:all`).

    `auto` is the first GPU, or all of them for a model that leaves no room on it. `dtype` is `auto` (float32 on the
    CPU, 16 bit on CUDA) or a name; `quantize` is None, `4bit` or `8bit` (through bitsandbytes on CUDA; on the CPU every
    linear layer, see `spsl_cli.quantized`). `tensor_parallel`: every process that torchrun started has a share of each
    layer.

    Raises `UsageError`, `ModelUnavailableError`, `UnsupportedModelError`, `OutOfMemoryError`.
    """
    report = progress or silent
    check_quantization(quantize)
    if not tensor_parallel and processes_of_torchrun() > 1:
        raise UsageError(
            f"torchrun started {processes_of_torchrun()} processes, and each would load and run the whole model",
            hint="share it out with load(..., tensor_parallel=True) of the Python API (docs/gpu.md)",
        )
    asked, device = device, own_device(device) if tensor_parallel else pick_device(device)
    dtype = pick_dtype(dtype, device)
    check_folder(source.path)
    config = load_config(source.path)
    check_supported(config)
    quantize = effective_quantization(quantize, source, config, device)
    if tensor_parallel:
        check_shares(config, source.path)
        if quantize:
            raise UsageError(f"--quantize {quantize} does not go with tensor parallel", hint="leave one of them out")
    else:
        device = with_room(asked, device, weights_bytes(source.path, 4 if dtype == "float32" else 2, quantize, device))
    on_cpu = quantize if device == "cpu" else None
    if on_cpu and dtype != "float32":
        raise UsageError(f"--quantize {quantize} on the CPU computes in float32, not {dtype}", hint="leave --dtype out")
    options = _options(device, dtype, None if on_cpu else quantize, tensor_parallel=tensor_parallel)
    length = context_length(config)
    report(LOAD, 0, None, "tensors")
    with quiet(lambda done, total: report(LOAD, done, total, "tensors")):
        try:
            model, tokenizer = _read(source.path, options)
        except SpslError:
            raise
        except Exception as error:  # whatever the loaders throw, the model's files are what the user can change
            raise _explained(error, source, device, own_quantization(config)) from error
    _check_places(model, source)
    model.eval()
    model.requires_grad_(requires_grad=False)
    if on_cpu:
        _quantize_on_cpu(model, on_cpu)
    return LoadedModel(
        model=model,
        tokenizer=tokenizer,
        id=source.id,
        revision=source.revision,
        dtype=str(model.dtype).removeprefix("torch."),  # AWQ's kernels compute in float16, whatever was wanted
        device=device,
        quantization=quantize or own_quantization(config),
        context_length=length,
        path=source.path,
        license=source.license,
    )


def _options(device: str, dtype: str, quantize: str | None, *, tensor_parallel: bool) -> dict[str, Any]:
    import torch  # noqa: PLC0415

    options = _LOCAL_ONLY | {
        "dtype": getattr(torch, dtype),
        "use_safetensors": True,
        # Settled once here; the decoder puts its own attention in its place before it runs.
        "attn_implementation": "sdpa",
        "output_loading_info": True,
    }
    if tensor_parallel:
        options |= parallel_options(device)
    elif device == EVERY_GPU:
        # Keys and values lie with their layers, so layers are shared out evenly, and none goes into main memory.
        options |= {"device_map": "auto", "max_memory": dict(enumerate(map(available_memory, cuda_devices(device))))}
    elif device != "cpu":
        options["device_map"] = {"": device}  # straight to the GPU, no second copy in main memory
    if quantize is not None:
        options["quantization_config"] = _quantization(dtype, quantize)
    return options


def _quantization(dtype: str, quantize: str) -> Any:
    if importlib.util.find_spec("bitsandbytes") is None:
        raise ModelUnavailableError(
            f"--quantize {quantize} needs bitsandbytes, which is not installed", hint="pip install 'spsl[gpu]'"
        )
    import torch  # noqa: PLC0415
    from transformers import BitsAndBytesConfig  # noqa: PLC0415

    config: Any = BitsAndBytesConfig
    if quantize == "8bit":
        return config(load_in_8bit=True)
    return config(load_in_4bit=True, bnb_4bit_quant_type="nf4", bnb_4bit_compute_dtype=getattr(torch, dtype))


def _quantize_on_cpu(model: Any, quantize: str) -> None:
    from spsl_cli.quantized.linear import quantize_linears  # noqa: PLC0415

    left = quantize_linears(model, 8 if quantize == "8bit" else 4)
    if left:
        raise UnsupportedModelError(
            f"--quantize {quantize} on the CPU takes linear layers whose inputs are a multiple of 32, "
            f"which {left[0]} is not",
            hint="leave --quantize out",
        )


def _read(folder: Path, options: dict[str, Any]) -> tuple[Any, Any]:
    from transformers import AutoModelForCausalLM, AutoTokenizer  # noqa: PLC0415

    tokenizer = AutoTokenizer.from_pretrained(folder, **_LOCAL_ONLY)

    def read() -> Any:
        return AutoModelForCausalLM.from_pretrained(folder, **options)

    compiler = "torch._dynamo.eval_frame" in sys.modules
    model, info = read() if compiler or "device_map" in options else without_compiler(read)
    if info["missing_keys"]:  # transformers would have filled them with random numbers
        missing = sorted(info["missing_keys"])
        raise ModelUnavailableError(
            f"the model in {folder} lacks {len(missing)} of its weights, among them {missing[0]}",
            hint="it may be made for another task than generating text, or be incomplete",
        )
    return model, tokenizer


def _check_places(model: Any, source: ModelSource) -> None:
    """Raise OutOfMemoryError if layers were left in main memory or on the disk."""
    outside = {str(place) for place in (getattr(model, "hf_device_map", None) or {}).values()} & {"cpu", "disk"}
    if outside and model.device.type != "cpu":
        raise OutOfMemoryError(
            f"the model {source.id} does not fit into the memory of all GPUs together",
            hint="use --quantize 4bit, or a smaller model",
        )


def _explained(error: Exception, source: ModelSource, device: str, saved: str | None) -> SpslError:
    import torch  # noqa: PLC0415

    text = str(error).lower()
    full = isinstance(error, torch.OutOfMemoryError | MemoryError) or "can't allocate memory" in text
    if full:
        hint = "use a smaller model" if device == "cpu" else "use --quantize 4bit, --device cpu, or a smaller model"
        return OutOfMemoryError(f"the model {source.id} does not fit into the memory of {device}", hint=hint)
    if saved is not None and isinstance(error, ImportError | RuntimeError):
        return unloadable(source, saved, error)
    return ModelUnavailableError(
        f"the model {source.id} cannot be loaded from {source.path}: {first_line(error)}",
        hint="fetch or save it again, or use another model",
    )

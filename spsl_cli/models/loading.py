"""From a model's folder to a model that can decode, with the facts a report needs. How it got there is not known.

Safetensors only, never code from the model's folder, never the network; weights that are missing are an error and are
not made up at random.
"""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from spsl_cli.errors import ModelUnavailableError, OutOfMemoryError, SpslError, UnsupportedModelError, UsageError
from spsl_cli.models.devices import pick_device, pick_dtype
from spsl_cli.models.folder import CONFIG, check_folder, read_json
from spsl_cli.models.memory import context_length
from spsl_cli.models.progress import LOAD, Progress, silent
from spsl_cli.models.quiet import quiet
from spsl_cli.models.source import ModelSource
from spsl_cli.models.support import check_supported
from spsl_cli.models.wording import first_line

if TYPE_CHECKING:
    from transformers import PreTrainedConfig, PreTrainedModel, PreTrainedTokenizerBase

QUANTIZATIONS = ("8bit", "4bit")
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
    progress: Progress | None = None,
) -> LoadedModel:
    """Load `source` onto `device` (`auto`, `cpu`, `cuda`, `cuda:N`).

    `dtype` is `auto` (float32 on the CPU, 16 bit on CUDA) or a name; `quantize` is None, `4bit` or `8bit` (through
    bitsandbytes on CUDA; on the CPU every linear layer, see `spsl_cli.quantized`).

    Raises `UsageError`, `ModelUnavailableError`, `UnsupportedModelError`, `OutOfMemoryError`.
    """
    report = progress or silent
    device = pick_device(device)
    dtype = pick_dtype(dtype, device)
    check_quantization(quantize)
    quantize = quantize or (source.quantize if device != "cpu" else None)
    on_cpu = quantize if device == "cpu" else None
    if on_cpu and dtype != "float32":
        raise UsageError(f"--quantize {quantize} on the CPU computes in float32, not {dtype}", hint="leave --dtype out")
    options = _options(device, dtype, None if on_cpu else quantize)
    check_folder(source.path)
    config = load_config(source.path)
    check_supported(config)
    length = context_length(config)
    report(LOAD, 0, None, "tensors")
    with quiet(lambda done, total: report(LOAD, done, total, "tensors")):
        try:
            model, tokenizer = _read(source.path, options)
        except SpslError:
            raise
        except Exception as error:  # whatever the loaders throw, the model's files are what the user can change
            raise _explained(error, source, device) from error
    model.eval()
    model.requires_grad_(requires_grad=False)
    if on_cpu:
        _quantize_on_cpu(model, on_cpu)
    return LoadedModel(
        model=model,
        tokenizer=tokenizer,
        id=source.id,
        revision=source.revision,
        dtype=dtype,
        device=device,
        quantization=quantize or _own_quantization(config),
        context_length=length,
        path=source.path,
        license=source.license,
    )


def _options(device: str, dtype: str, quantize: str | None) -> dict[str, Any]:
    import torch  # noqa: PLC0415

    options = _LOCAL_ONLY | {
        "dtype": getattr(torch, dtype),
        "use_safetensors": True,
        # Settled once here; the decoder puts its own attention in its place before it runs.
        "attn_implementation": "sdpa",
        "output_loading_info": True,
    }
    if device != "cpu":
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
    model, info = read() if compiler or "device_map" in options else _without_compiler(read)
    if info["missing_keys"]:  # transformers would have filled them with random numbers
        missing = sorted(info["missing_keys"])
        raise ModelUnavailableError(
            f"the model in {folder} lacks {len(missing)} of its weights, among them {missing[0]}",
            hint="it may be made for another task than generating text, or be incomplete",
        )
    return model, tokenizer


def _without_compiler(read: Callable[[], Any]) -> Any:
    """What `read` gives, which makes a model without numbers first and gives it its values then.

    Random numbers and positions without numbers are computed by functions of torch's compiler, which take half a second
    to import. Here the random ones are left out, and positions are true ones for that while. A model that mixes those
    with weights without numbers is made in torch's own way.
    """
    import torch  # noqa: PLC0415
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


def _explained(error: Exception, source: ModelSource, device: str) -> SpslError:
    import torch  # noqa: PLC0415

    text = str(error).lower()
    full = isinstance(error, torch.OutOfMemoryError | MemoryError) or "can't allocate memory" in text
    if full:
        hint = "use a smaller model" if device == "cpu" else "use --quantize 4bit, --device cpu, or a smaller model"
        return OutOfMemoryError(f"the model {source.id} does not fit into the memory of {device}", hint=hint)
    return ModelUnavailableError(
        f"the model {source.id} cannot be loaded from {source.path}: {first_line(error)}",
        hint="fetch or save it again, or use another model",
    )


def _own_quantization(config: PreTrainedConfig) -> str | None:
    """The quantisation a model was saved with, by its method's name."""
    stated = getattr(config, "quantization_config", None)
    method = stated.get("quant_method") if isinstance(stated, dict) else getattr(stated, "quant_method", None)
    return None if method is None else str(getattr(method, "value", method))

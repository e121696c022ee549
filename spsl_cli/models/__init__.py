"""Which model, where from, may it be loaded, what does it need in memory; then loads it.

Importing this package imports neither torch nor transformers. It knows nothing of decoding, documents or terminals.
"""

from __future__ import annotations

from spsl_cli.models.cache import models_folder
from spsl_cli.models.devices import pick_device, pick_dtype
from spsl_cli.models.embedded import EMBEDDED_ID, embedded_model_path
from spsl_cli.models.installed import InstalledModel, installed
from spsl_cli.models.loading import LoadedModel, check_quantization, load, load_config, load_tokenizer
from spsl_cli.models.memory import MemoryPlan, context_length, kv_bytes_per_token, memory_plan, weights_bytes
from spsl_cli.models.progress import Progress
from spsl_cli.models.resolution import resolve
from spsl_cli.models.source import Kind, ModelSource
from spsl_cli.models.support import check_supported

__all__ = [
    "EMBEDDED_ID",
    "InstalledModel",
    "Kind",
    "LoadedModel",
    "MemoryPlan",
    "ModelSource",
    "Progress",
    "check_quantization",
    "check_supported",
    "context_length",
    "embedded_model_path",
    "installed",
    "kv_bytes_per_token",
    "load",
    "load_config",
    "load_tokenizer",
    "memory_plan",
    "models_folder",
    "pick_device",
    "pick_dtype",
    "resolve",
    "weights_bytes",
]

"""Imports torch, transformers and the decoder without those of their parts that no run of ours uses.

transformers imports torch's compiler, tensors spread over several machines and SciPy along with every model: to mark
functions, to name types, for losses of object detection. They take more than half of the seconds that it needs. Here
the compiler is put off until something asks for it, as torch itself does, and transformers is told that the other two
are not installed, which it is made for. What computes is the same.

For a process of the command line alone: as a library we change nothing. Knows neither documents nor models.
"""

from __future__ import annotations

import functools
import gc
import importlib.util
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module
from importlib.metadata import version
from types import MappingProxyType, ModuleType
from typing import Any

Mark = Callable[..., Any]

_COMPILER = "torch._dynamo"
_MARKS = ("allow_in_graph", "assume_constant_result")
_HOMES = {
    "AttentionInterface": "transformers.modeling_utils",
    "AutoConfig": "transformers.models.auto.configuration_auto",
    "AutoModelForCausalLM": "transformers.models.auto.modeling_auto",
    "AutoTokenizer": "transformers.models.auto.tokenization_auto",
    "MODEL_FOR_CAUSAL_LM_MAPPING": "transformers.models.auto.modeling_auto",
    "PreTrainedConfig": "transformers.configuration_utils",
    "PreTrainedModel": "transformers.modeling_utils",
    "PreTrainedTokenizerBase": "transformers.tokenization_utils_base",
    "PreTrainedTokenizerFast": "transformers.tokenization_utils_tokenizers",
}
"""Where the names lie that a run takes from transformers itself."""
_NEEDED = (
    "transformers.dependency_versions_check",
    "transformers.initialization",
    "transformers.models.auto.modeling_auto",
    "transformers.models.auto.tokenization_auto",
    "transformers.generation.utils",
    "spsl_cli.decoding.decoder",
    "spsl_cli.prompting.layout",
)
_HIDDEN = ("scipy", "sklearn")
_EXECUTING = threading.RLock()


def import_libraries() -> None:
    """Import what every run needs before its model is read. Raises what an import raises; does nothing twice."""
    if "transformers.modeling_utils" in sys.modules:
        return
    with _no_collections(), _hidden():
        import torch  # noqa: PLC0415

        if _COMPILER not in sys.modules:
            _put_compiler_off()
        if "transformers" not in sys.modules:
            # They read two thousand files, to know what these export, and bring what is needed for images and sound.
            vars(_put_off("transformers", _HOMES))["__version__"] = version("transformers")
            _put_off("transformers.models")
            _put_off("transformers.processing_utils", {"Unpack": "typing"})
        _without_distributed(torch)
        for name in _NEEDED:
            import_module(name)
        # A thousand patterns of names in files, compiled when they are first asked for.
        sys.modules["transformers.conversion_mapping"].get_checkpoint_conversion_mapping("")


@contextmanager
def _no_collections() -> Iterator[None]:
    """Modules are no garbage: looking for it among them takes a tenth of the time now, and its share later on."""
    collects = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        if collects:
            gc.enable()


@contextmanager
def _hidden() -> Iterator[None]:
    """Within, these packages are not found; transformers remembers it."""
    hidden = [name for name in _HIDDEN if name not in sys.modules]
    for name in hidden:
        sys.modules[name] = None  # type: ignore[assignment]  # Python's own way to say so
    try:
        yield
    finally:
        for name in hidden:
            del sys.modules[name]


def _without_distributed(torch: Any) -> None:
    """Let transformers ask whether torch is made for several machines; it remembers that it is not."""
    from transformers.utils import import_utils  # noqa: PLC0415

    told = torch.distributed.is_available
    torch.distributed.is_available = lambda: False
    try:
        import_utils.is_torch_distributed_available()
    finally:
        torch.distributed.is_available = told


def _put_off(name: str, homes: Mapping[str, str] = MappingProxyType({})) -> _PutOff:
    """Execute the module `name` when something of it is asked for that is not at home in another one.

    Submodules of a package can be imported without that.
    """
    spec = importlib.util.find_spec(name)
    assert spec is not None  # noqa: S101 part of an installed package
    package = _PutOff(name)
    vars(package).update(vars(importlib.util.module_from_spec(spec)))
    package.homes, package.stand_ins, package.marks = homes, {}, []
    sys.modules[name] = package
    parent, _, own = name.rpartition(".")
    if parent:
        vars(sys.modules[parent])[own] = package
    return package


def _put_compiler_off() -> None:
    """Put torch's compiler off. What is said to it of functions meanwhile is said again when it comes."""
    compiler = _put_off(_COMPILER)

    def mark(name: str) -> Mark:
        def later(function: Any) -> Any:
            compiler.marks.append((name, function))
            return function

        return later

    def disable(function: Any = None, recursive: bool = True, **options: Any) -> Any:
        """Never compile `function`. As long as there is no compiler, that is to call it."""
        if function is None:
            return functools.partial(disable, recursive=recursive, **options)

        @functools.wraps(function)
        def call(*args: Any, **kwargs: Any) -> Any:
            return (function if compiler.awaited else disabled())(*args, **kwargs)

        @functools.cache
        def disabled() -> Any:
            return compiler.executed().disable(function, recursive, **options)

        return call

    compiler.stand_ins = {name: mark(name) for name in _MARKS} | {"disable": disable}
    vars(compiler).update(compiler.stand_ins)


class _PutOff(ModuleType):
    """A module that has its place in `sys.modules` and its path, and is executed when another attribute is asked for.

    Other threads wait for that. `homes`: where names of it come from. `stand_ins`: functions of it that do not need it;
    `marks`: names of those called, and the functions to call them with once it is there.
    """

    homes: Mapping[str, str]
    stand_ins: dict[str, Mark]
    marks: list[tuple[str, Any]]

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") and name != "__all__":  # `warnings` and others ask them of all modules
            raise AttributeError(name)
        if name in self.homes:
            return getattr(import_module(self.homes[name]), name)
        module = self.executed()
        if module is not self:
            return getattr(module, name)
        if name in vars(self):
            return vars(self)[name]
        raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}", name=name, obj=self)

    @property
    def awaited(self) -> bool:
        """Whether it is not executed yet."""
        return "marks" in vars(self)

    def executed(self) -> Any:
        """The package itself, or what it has put in its place."""
        with _EXECUTING:
            if self.awaited:
                marks = vars(self).pop("marks")
                for name in vars(self).pop("stand_ins"):
                    delattr(self, name)
                spec = self.__spec__
                assert spec is not None and spec.loader is not None  # noqa: PT018, S101 as found by `_put_off`
                spec.loader.exec_module(self)
                for name, function in marks:
                    getattr(self, name)(function)
        return sys.modules.get(self.__name__, self)

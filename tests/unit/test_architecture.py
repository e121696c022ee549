"""Data flows one way: who may import whom, read off the code itself, and what must stay cheap to import."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[2] / "spsl_cli"
STAGES = (
    "documents",
    "citing",
    "prompting",
    "models",
    "decoding",
    "render",
    "storage",
    "bench",
    "cli",
    "session",
    "workflows",
)
_PROMPTS = [  # the command line knows what can be asked for, not how prompts are made
    f"spsl_cli.prompting.{path.stem}"
    for path in (PACKAGE / "prompting").glob("*.py")
    if path.stem not in ("wording", "__init__")
]
FORBIDDEN = {
    "documents": {"torch", "transformers", *(f"spsl_cli.{name}" for name in STAGES if name != "documents")},
    "citing": {
        "torch",
        "transformers",
        *(f"spsl_cli.{name}" for name in STAGES if name not in ("citing", "documents")),
    },
    "render": {"torch", "transformers", *(f"spsl_cli.{name}" for name in STAGES if name != "render")},
    "decoding": {f"spsl_cli.{name}" for name in STAGES if name != "decoding"},
    "models": {f"spsl_cli.{name}" for name in STAGES if name != "models"},
    "prompting": {
        "torch",
        *(
            f"spsl_cli.{name}"
            for name in ("models", "decoding", "render", "storage", "bench", "cli", "session", "workflows")
        ),
    },
    "storage": {f"spsl_cli.{name}" for name in STAGES if name != "storage"},
    "bench": {"spsl_cli.render", "spsl_cli.cli"},
    "cli": {"torch", "transformers", "spsl_cli.decoding", *_PROMPTS},
    "session": {"spsl_cli.render", "spsl_cli.cli", "spsl_cli.bench", "spsl_cli.workflows"},
    "workflows": {"spsl_cli.render", "spsl_cli.cli", "spsl_cli.bench"},
}


def imports(file: Path) -> set[str]:
    """Every module that the file imports, wherever in it, type checking included."""
    found = set()
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{file}: relative imports hide where they lead"
            found |= {node.module or "", *(f"{node.module}.{alias.name}" for alias in node.names)}
    return found


def files_of(part: str) -> list[Path]:
    module = PACKAGE / f"{part}.py"
    return [module] if module.exists() else sorted((PACKAGE / part).rglob("*.py"))


@pytest.mark.parametrize("part", FORBIDDEN)
def test_imports_go_one_way(part):
    files = files_of(part)
    assert files
    for file in files:
        for name in imports(file):
            wrong = [other for other in FORBIDDEN[part] if name == other or name.startswith(f"{other}.")]
            assert not wrong, f"{file.relative_to(PACKAGE)} imports {name}"


def test_nothing_imports_the_command_line():
    for file in PACKAGE.rglob("*.py"):
        if file.parent.name == "cli" or file.name == "__main__.py":
            continue
        assert not any(name.startswith("spsl_cli.cli") for name in imports(file)), file


def test_modules_stay_short():
    lengths = {file: len(file.read_text(encoding="utf-8").splitlines()) for file in PACKAGE.rglob("*.py")}
    assert {str(file): length for file, length in lengths.items() if length > 300} == {}


@pytest.mark.parametrize(
    "module", ["spsl_cli", "spsl_cli.cli.app", "spsl_cli.documents", "spsl_cli.render", "spsl_cli.models"]
)
def test_importing_is_light(module):
    """None of these may pull in the libraries that take seconds; --help and a missing file answer at once."""
    heavy = ("torch", "transformers", "numpy", "pypdf", "rich", "huggingface_hub")
    code = f"import sys, {module}; print([name for name in {heavy!r} if name in sys.modules])"
    output = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert output.stdout.strip() == "[]"

"""From `--model` (or nothing) to a source: local before Hub, defaults with their reasons, fallbacks never silent."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import huggingface_hub
import pytest
from huggingface_hub import HfApi, constants
from huggingface_hub.errors import (
    GatedRepoError,
    HfHubHTTPError,
    LocalEntryNotFoundError,
    OfflineModeIsEnabled,
    RepositoryNotFoundError,
    RevisionNotFoundError,
)

from spsl_cli.errors import ExitCode, ModelUnavailableError, UsageError
from spsl_cli.models import Kind, installed, load, resolution, resolve
from spsl_cli.models import embedded as embedded_module
from spsl_cli.models.defaults import DEFAULT_ID
from spsl_cli.models.embedded import EMBEDDED_ID
from tests.unit.test_models_loading import save_tiny

COMMIT = "0123456789abcdef0123456789abcdef01234567"
RESPONSE = SimpleNamespace(headers={}, request=None, status_code=404)


@pytest.fixture(autouse=True)
def caches(tmp_path, monkeypatch) -> Path:
    """Empty caches, and a Hub that fails the test when it is asked without being expected."""
    monkeypatch.setenv("SPSL_CACHE_DIR", str(tmp_path / "cache"))
    hub = tmp_path / "hub"
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(hub))
    monkeypatch.setattr(HfApi, "model_info", lambda *_, **__: pytest.fail("the Hub was asked"))
    return hub


def snapshot(hub: Path, repo_id: str = "org/tiny", commit: str = COMMIT, branch: str = "main") -> Path:
    """A model in the Hub's own cache, laid out as the Hub's client does."""
    repository = hub / f"models--{repo_id.replace('/', '--')}"
    folder = repository / "snapshots" / commit
    folder.parent.mkdir(parents=True, exist_ok=True)
    save_tiny(folder)
    (folder / "README.md").write_text("---\nlicense: apache-2.0\n---\n", encoding="utf-8")
    (repository / "refs").mkdir(exist_ok=True)
    (repository / "refs" / branch).write_text(commit)
    return folder


def answer(monkeypatch, outcome) -> None:
    def info(*_, **__):
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    monkeypatch.setattr(HfApi, "model_info", info)


def files(*names: str, size: int = 1000) -> SimpleNamespace:
    return SimpleNamespace(sha=COMMIT, siblings=[SimpleNamespace(rfilename=name, size=size) for name in names])


def test_importing_the_package_is_light_and_knows_nothing_of_its_users():
    heavy = ["torch", "transformers", "huggingface_hub", "gguf", "filelock"]
    users = [f"spsl_cli.{name}" for name in ("decoding", "documents", "prompting", "render", "cli", "session")]
    code = f"import sys, spsl_cli.models; sys.exit(bool(set(sys.modules) & set({heavy + users})))"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


# ---- local ------------------------------------------------------------------------------------------------------


def test_a_folder_is_taken_as_it_is(tmp_path):
    folder = save_tiny(tmp_path / "mine")
    source = resolve(str(folder))
    assert (source.kind, source.id, source.path, source.license, source.warnings) == (
        Kind.FOLDER,
        "mine",
        folder,
        None,
        (),
    )
    assert str(folder) in source.reason


def test_the_revision_of_a_folder_follows_its_content(tmp_path):
    folder = save_tiny(tmp_path / "mine")
    first = resolve(str(folder)).revision
    assert resolve(str(folder)).revision == first
    (folder / "model.safetensors").touch()
    second = resolve(str(folder)).revision
    (folder / "tokenizer_config.json").write_text("{}")
    assert len({first, second, resolve(str(folder)).revision}) == 3


def test_a_local_folder_comes_before_the_hub(tmp_path, monkeypatch):
    save_tiny(tmp_path / "org" / "tiny")
    monkeypatch.chdir(tmp_path)
    assert resolve("org/tiny").kind == Kind.FOLDER


@pytest.mark.parametrize("model", ["./none", "/no/such/model", "~/none", "none.gguf", "a/b/c", "models\\none"])
def test_a_path_that_does_not_exist_is_not_asked_of_the_hub(model):
    with pytest.raises(ModelUnavailableError, match=r"no such file or folder.*ORG/NAME") as caught:
        resolve(model)
    assert caught.value.exit_code == ExitCode.MODEL


@pytest.mark.parametrize("model", [None, EMBEDDED_ID, "."])
def test_a_revision_has_no_meaning_without_the_hub(model):
    with pytest.raises(UsageError, match="--revision"):
        resolve(model, revision="main", device="cpu")


# ---- Hub --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("revision", [None, "main", COMMIT])
def test_a_snapshot_here_is_used_without_asking_the_hub(caches, revision):
    folder = snapshot(caches)
    source = resolve("org/tiny", revision=revision)
    assert (source.kind, source.id, source.path) == (Kind.HUB, "org/tiny", folder)
    assert (source.revision, source.license) == (COMMIT, "apache-2.0")
    assert load(source, device="cpu").revision == COMMIT


def test_another_revision_than_the_one_here_is_asked_for(caches, monkeypatch):
    snapshot(caches)
    answer(monkeypatch, RevisionNotFoundError("404", response=RESPONSE))
    with pytest.raises(ModelUnavailableError, match="org/tiny has no revision 'v2'"):
        resolve("org/tiny", revision="v2")


def test_offline_never_asks(caches):
    with pytest.raises(ModelUnavailableError, match=r"nothing is fetched offline; run once without --offline$"):
        resolve("org/none", offline=True)
    folder = snapshot(caches)
    (folder / "model.safetensors").unlink()
    with pytest.raises(ModelUnavailableError, match="not complete here"):
        resolve("org/tiny", offline=True)


@pytest.mark.parametrize(
    ("outcome", "says"),
    [
        (RepositoryNotFoundError("404", response=RESPONSE), "no model org/none: .* the Hub knows none"),
        (GatedRepoError("403", response=RESPONSE), "gated.*hf auth login"),
        (HfHubHTTPError("500 Server Error\nmore", response=RESPONSE), "500 Server Error; check the network"),
        (HfHubHTTPError.__bases__[0]("no route to host"), "no route to host; check the network"),
        (OfflineModeIsEnabled("HF_HUB_OFFLINE is set"), "HF_HUB_OFFLINE is set"),
        (OSError(28, "No space left on device"), "No space left on device"),
        (TimeoutError(), "TimeoutError"),
    ],
)
def test_what_goes_wrong_on_the_hub_is_one_line_with_exit_code_5(monkeypatch, outcome, says):
    answer(monkeypatch, outcome)
    with pytest.raises(ModelUnavailableError, match=says) as caught:
        resolve("org/none")
    assert caught.value.exit_code == ExitCode.MODEL
    assert "org/none" in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("model", ["org--x/name", "name with spaces", "ümlaut/name", "a..b", "-x", "", "org/name.git"])
def test_what_is_no_model_id_is_said_to_be_none(model):
    with pytest.raises(ModelUnavailableError, match=r"neither a file or folder here nor a valid model id|is a file|no"):
        resolve(model)


def test_only_what_may_be_loaded_is_downloaded(caches, monkeypatch, capfd):
    asked, seen, folder = [], [], snapshot(caches)
    capfd.readouterr()

    def download(repo_id, *, local_files_only=False, tqdm_class=None, **options):
        if local_files_only:
            raise LocalEntryNotFoundError("not here")
        asked.append(options)
        network = tqdm_class(desc="Downloading", total=0, initial=0, unit="B", unit_scale=True)
        written = tqdm_class(desc="Reconstructing", total=0, initial=0, unit="B", unit_scale=True)
        with tqdm_class(desc="Fetching 3 files", total=3) as count:
            for amount in (700, 300, 2000):
                network.update(amount // 2)
                written.update(amount)
                written.set_postfix_str("1 MB/s", refresh=False)
                count.update(1)
        written.set_description("complete")
        written.close()
        return str(folder)

    monkeypatch.setattr(huggingface_hub, "snapshot_download", download)
    answer(monkeypatch, files("config.json", "model.safetensors", "tokenizer.json", "pytorch_model.bin", "onnx/x.json"))
    source = resolve("org/tiny", progress=lambda *step: seen.append(step))
    assert source.revision == COMMIT
    # The configuration comes first; last, the branch's name is pointed to the commit, whose files are all there then.
    assert [(call["revision"], call["allow_patterns"]) for call in (asked[0], asked[2])] == [
        (COMMIT, ["config.json"]),
        (None, ["config.json"]),
    ]
    assert asked[1]["revision"] == COMMIT
    assert "*.bin" not in asked[1]["allow_patterns"]
    assert "*.safetensors" in asked[1]["allow_patterns"]
    assert seen[0] == ("look up model", 0, None, "")
    assert [done for _, done, total, _ in seen[1:-1] if total == 3000] == [0, 350, 700, 1000, 1500, 2999]
    assert seen[-1] == ("fetch model", 3000, 3000, "bytes")
    assert capfd.readouterr() == ("", "")


def test_refresh_asks_although_a_snapshot_is_here(caches, monkeypatch):
    snapshot(caches)
    answer(monkeypatch, RepositoryNotFoundError("404", response=RESPONSE))
    with pytest.raises(ModelUnavailableError, match="the Hub knows none"):
        resolve("org/tiny", refresh=True)


@pytest.mark.parametrize(
    ("names", "says"),
    [
        (("config.json", "pytorch_model.bin"), "Python pickles only.*can run code.*safetensors version"),
        (("model-Q4.gguf",), "GGUF files only.*--model FILE.gguf"),
        (("config.json", "adapter_config.json", "adapter_model.safetensors"), "adapter"),
        (("README.md",), "no model weights"),
        (("config.json", "weights/model.safetensors"), "no model weights"),
    ],
)
def test_a_repository_that_may_not_be_loaded_is_not_downloaded(monkeypatch, names, says):
    answer(monkeypatch, files(*names))
    with pytest.raises(ModelUnavailableError, match=says):
        resolve("org/unsafe")


# ---- defaults ---------------------------------------------------------------------------------------------------


@pytest.fixture
def embedded(tmp_path, monkeypatch) -> Path:
    """Stands for the embedded model, which takes half a minute to make."""
    folder = tmp_path / "embedded"
    monkeypatch.setattr(embedded_module, "embedded_model_path", lambda *_, **__: folder)
    return folder


def gpu(monkeypatch, gigabytes: float, *, bitsandbytes: bool = True) -> None:
    monkeypatch.setattr(resolution, "pick_device", lambda _: "cuda:0")
    monkeypatch.setattr(resolution, "total_cuda_memory", lambda _: round(gigabytes * 1e9))
    monkeypatch.setattr(resolution.importlib.util, "find_spec", lambda _: object() if bitsandbytes else None)


def test_without_a_gpu_the_embedded_model_is_taken_and_said(embedded):
    source = resolve(None, device="cpu")
    assert (source.kind, source.id, source.path, source.warnings) == (Kind.EMBEDDED, EMBEDDED_ID, embedded, ())
    assert (source.license, source.revision) == ("Apache-2.0", "0.1.2")
    assert "no model was named" in source.reason
    assert "--model names" in resolve(EMBEDDED_ID, device="cpu").reason


@pytest.mark.parametrize(("gigabytes", "quantize"), [(24, None), (8, "4bit")])
def test_with_a_gpu_the_larger_default_is_taken(caches, monkeypatch, gigabytes, quantize):
    gpu(monkeypatch, gigabytes)
    folder = snapshot(caches, DEFAULT_ID)
    source = resolve(None)
    assert (source.id, source.path, source.quantize, source.warnings) == (DEFAULT_ID, folder, quantize, ())
    assert f"the GPU has {gigabytes}.0 GB" in source.reason


@pytest.mark.parametrize(
    ("gigabytes", "bitsandbytes", "offline", "says"),
    [
        (24, True, True, "nothing is fetched offline"),
        (24, True, False, "no route to host"),
        (8, False, False, "needs bitsandbytes"),
    ],
)
def test_a_default_that_cannot_be_had_falls_back_with_a_warning(
    embedded, monkeypatch, gigabytes, bitsandbytes, offline, says
):
    gpu(monkeypatch, gigabytes, bitsandbytes=bitsandbytes)
    answer(monkeypatch, HfHubHTTPError.__bases__[0]("no route to host"))
    source = resolve(None, offline=offline)
    assert (source.kind, source.path, source.quantize) == (Kind.EMBEDDED, embedded, None)
    (warning,) = source.warnings
    assert says in warning
    assert EMBEDDED_ID in warning
    assert DEFAULT_ID in warning


def test_a_tiny_gpu_gets_the_embedded_model_without_a_warning(embedded, monkeypatch):
    gpu(monkeypatch, 2)
    source = resolve(None)
    assert (source.kind, source.warnings) == (Kind.EMBEDDED, ())
    assert "2.0 GB" in source.reason


# ---- what is here -----------------------------------------------------------------------------------------------


def test_models_here_are_listed_without_those_that_cannot_run(caches):
    assert installed() == ()
    good = snapshot(caches)
    (snapshot(caches, "org/broken") / "config.json").unlink()
    latent = snapshot(caches, "org/latent") / "config.json"
    latent.write_text(latent.read_text().replace('"model_type": "llama"', '"model_type": "deepseek_v3"'))
    (model,) = installed()
    assert (model.id, model.path, model.revision) == ("org/tiny", good, COMMIT)
    assert (model.license, model.context_length) == ("apache-2.0", 512)

"""Fetching from the Hub, through its own client, from a Hub made up on this machine: whole or not at all, config first.

`FakeHub` speaks as much of the Hub's protocol as the client asks for.
"""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from huggingface_hub import constants, snapshot_download

from spsl_cli.errors import ExitCode, ModelUnavailableError, UnsupportedModelError
from spsl_cli.models import load, load_tokenizer, resolve
from tests.unit.test_models_loading import save_tiny

COMMIT, NEWER = "1" * 40, "2" * 40


class FakeHub(ThreadingHTTPServer):
    """Repositories in memory: `commits` are files by commit, `branches` names of commits; `asked` are the requests."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.commits: dict[str, dict[str, bytes]] = {}
        self.branches: dict[str, str] = {}
        self.asked: list[str] = []
        self.broken: set[str] = set()

    @property
    def endpoint(self) -> str:
        """Where it listens."""
        return f"http://127.0.0.1:{self.server_port}"

    @property
    def fetched(self) -> list[str]:
        """The names of files whose content was asked for, in order."""
        return [path.rpartition("/")[2] for path in self.asked if path.startswith("GET /org/tiny/resolve/")]

    def publish(self, commit: str, folder: Path, branch: str = "main") -> None:
        """The files of `folder` become the state of `branch`."""
        files = {file.name: file.read_bytes() for file in sorted(folder.iterdir())}
        self.commits[commit] = files | {"README.md": b"---\nlicense: mit\n---\n"}
        self.branches[branch] = commit


class _Handler(BaseHTTPRequestHandler):
    server: FakeHub
    protocol_version = "HTTP/1.1"

    def do_HEAD(self) -> None:
        self._answer()

    def do_GET(self) -> None:
        self._answer()

    def _answer(self) -> None:
        path = self.path.partition("?")[0]
        self.server.asked.append(f"{self.command} {path}")
        parts = path.strip("/").split("/")
        if parts[:3] == ["api", "models", "org"] and parts[3] == "tiny":
            action, revision = parts[4:6] if len(parts) > 5 else ("revision", "main")
            self._list(action, revision)
        elif parts[:3] == ["org", "tiny", "resolve"]:
            self._file(parts[3], parts[4])
        else:
            self._send(404, b"{}", {"X-Error-Code": "RepoNotFound"})

    def _list(self, action: str, revision: str) -> None:
        commit = self.server.branches.get(revision, revision)
        if commit not in self.server.commits:
            self._send(404, b"{}", {"X-Error-Code": "RevisionNotFound"})
            return
        files = self.server.commits[commit].items()
        if action == "tree":
            content: object = [
                {"type": "file", "path": name, "size": len(data), "oid": _hash(data)} for name, data in files
            ]
        else:
            siblings = [{"rfilename": name, "size": len(data), "blobId": _hash(data)} for name, data in files]
            content = {"id": "org/tiny", "sha": commit, "siblings": siblings}
        self._send(200, json.dumps(content).encode(), {"Content-Type": "application/json"})

    def _file(self, revision: str, name: str) -> None:
        commit = self.server.branches.get(revision, revision)
        data = self.server.commits[commit][name]
        if name in self.server.broken and self.command == "GET":
            self._send(403, b"broken off")
            return
        self._send(200, data, {"X-Repo-Commit": commit, "ETag": f'"{_hash(data)}"'})

    def _send(self, status: int, data: bytes, headers: dict[str, str] | None = None) -> None:
        self.send_response(status)
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(data)

    def log_message(self, *_: object) -> None:
        """Nothing on the terminal."""


def _hash(data: bytes) -> str:
    return hashlib.sha1(data).hexdigest()  # noqa: S324 a name, not a seal


def use_hub(hub: FakeHub, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the Hub's client ask `hub` and keep its files in `cache`."""
    monkeypatch.setattr(constants, "ENDPOINT", hub.endpoint)
    monkeypatch.setattr(
        constants, "HUGGINGFACE_CO_URL_TEMPLATE", hub.endpoint + "/{repo_id}/resolve/{revision}/{filename}"
    )
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(cache))


@pytest.fixture
def hub(tmp_path, monkeypatch) -> Iterator[FakeHub]:
    """A Hub with one model, org/tiny, whose weights are in two files."""
    with FakeHub() as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            server.publish(COMMIT, save_tiny(tmp_path / "published", shard="60KB"))
            use_hub(server, tmp_path / "hub", monkeypatch)
            yield server
        finally:
            server.shutdown()
            thread.join()


def test_a_model_comes_whole_and_then_needs_no_hub(hub, capfd):
    capfd.readouterr()
    seen = []
    source = resolve("org/tiny", refresh=True, progress=lambda *step: seen.append(step))
    assert (source.id, source.revision, source.license) == ("org/tiny", COMMIT, "mit")
    assert hub.fetched[0] == "config.json"
    assert len(hub.fetched) == len(set(hub.fetched)) == len(hub.commits[COMMIT])
    total = sum(map(len, hub.commits[COMMIT].values()))
    assert seen[:3] == [
        ("look up model", 0, None, ""),
        ("look up model", 1, 1, ""),
        ("fetch model", 0, total, "bytes"),
    ]
    assert seen[-1] == ("fetch model", total, total, "bytes")
    assert capfd.readouterr() == ("", "")

    hub.asked.clear()
    again = resolve("org/tiny", offline=True)
    assert (again.path, again.revision) == (source.path, COMMIT)
    assert load(again, device="cpu").context_length == 512
    assert load_tokenizer(again.path)("w5")["input_ids"] == [5]
    assert hub.asked == []


def test_what_is_here_already_is_not_fetched_nor_said_to_be(hub):
    resolve("org/tiny")
    hub.asked.clear()
    seen = []
    assert resolve("org/tiny", refresh=True, progress=lambda *step: seen.append(step)).revision == COMMIT
    assert hub.fetched == []
    assert {stage for stage, *_ in seen} == {"look up model"}


def test_a_commit_that_is_here_is_not_asked_for_again(hub):
    resolve("org/tiny")
    hub.asked.clear()
    assert resolve("org/tiny", revision=COMMIT, refresh=True).revision == COMMIT
    assert hub.asked == []


def test_a_newer_state_is_fetched_only_when_it_is_asked_for(hub, tmp_path):
    resolve("org/tiny")
    hub.publish(NEWER, save_tiny(tmp_path / "newer", shard="60KB", hidden_size=40, head_dim=8))
    assert resolve("org/tiny").revision == COMMIT
    assert resolve("org/tiny", refresh=True).revision == NEWER
    assert resolve("org/tiny", offline=True).revision == NEWER
    assert resolve("org/tiny", revision=COMMIT, offline=True).revision == COMMIT


def test_a_fetch_broken_off_leaves_the_older_state_in_use_and_is_taken_up_again(hub, tmp_path):
    resolve("org/tiny")
    hub.publish(NEWER, save_tiny(tmp_path / "newer", shard="60KB", hidden_size=40, head_dim=8))
    hub.broken.add("model-00002-of-00002.safetensors")
    with pytest.raises(ModelUnavailableError, match=r"the Hub does not give org/tiny: .*403") as caught:
        resolve("org/tiny", refresh=True)
    assert "\n" not in str(caught.value)
    assert resolve("org/tiny", offline=True).revision == COMMIT

    hub.broken.clear()
    hub.asked.clear()
    assert resolve("org/tiny", refresh=True).revision == NEWER
    assert "model-00001-of-00002.safetensors" not in hub.fetched


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"model_type": "deepseek_v3"}, "latent attention"),
        ({"model_type": "none-such"}, "type 'none-such', which transformers"),
        ({"model_type": "own", "auto_map": {"AutoModelForCausalLM": "code.Model"}}, "Python code of its own"),
    ],
)
def test_what_cannot_be_run_is_refused_before_its_weights_are_fetched(hub, changes, says):
    files = hub.commits[COMMIT]
    files["config.json"] = json.dumps(json.loads(files["config.json"]) | changes).encode()
    with pytest.raises(UnsupportedModelError, match=f"the model org/tiny is not fetched: .*{says}") as caught:
        resolve("org/tiny", refresh=True)
    assert caught.value.exit_code == ExitCode.MODEL
    assert hub.fetched == ["config.json"]


def test_pickles_are_refused_by_their_names(hub):
    files = hub.commits[COMMIT]
    for name in [name for name in files if "safetensors" in name]:
        del files[name]
    files["pytorch_model.bin"] = b"never fetched"
    with pytest.raises(ModelUnavailableError, match="pickles only"):
        resolve("org/tiny", refresh=True)
    assert hub.fetched == []


def test_pickles_beside_safetensors_are_left_there(hub):
    hub.commits[COMMIT]["pytorch_model.bin"] = b"never fetched"
    source = resolve("org/tiny", refresh=True)
    assert "pytorch_model.bin" not in hub.fetched
    assert not (source.path / "pytorch_model.bin").exists()


def test_what_the_hub_does_not_have_is_said(hub):
    with pytest.raises(ModelUnavailableError, match="no revision 'v9'"):
        resolve("org/tiny", revision="v9", refresh=True)
    with pytest.raises(ModelUnavailableError, match="no model org/none"):
        resolve("org/none", refresh=True)


def test_a_name_that_moved_on_during_the_fetch_is_not_taken_for_complete(hub, tmp_path, monkeypatch):
    """What was asked for comes; the next run fetches the newer state instead of loading half of it."""
    newer = save_tiny(tmp_path / "newer", shard="60KB", hidden_size=40, head_dim=8)

    def download(*arguments, **options):
        folder = snapshot_download(*arguments, **options)
        if options.get("ignore_patterns") and not options.get("local_files_only"):
            hub.publish(NEWER, newer)
        return folder

    monkeypatch.setattr("huggingface_hub.snapshot_download", download)
    assert resolve("org/tiny", refresh=True).revision == COMMIT
    with pytest.raises(ModelUnavailableError, match="not complete here"):
        resolve("org/tiny", offline=True)
    assert resolve("org/tiny").revision == NEWER

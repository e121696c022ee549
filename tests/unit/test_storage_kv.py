"""Stored keys and values: what is found, what is told, what is thrown out, and that no torn file is ever used."""

from __future__ import annotations

import subprocess
import sys
import time

import pytest
import torch

from spsl_cli.storage import kv_file
from spsl_cli.storage.kv_file import DamagedError
from spsl_cli.storage.kv_store import SUFFIX, KvStore

SHAPE = (2, 10, 4)


def layers(seed=0, dtype=torch.float32, count=3):
    torch.manual_seed(seed)
    wide = torch.randn(count, 2, 2, 14, 4).to(dtype)  # rows are parts of larger stores
    return [(each[0][:, :10], each[1][:, :10]) for each in wide]


@pytest.fixture
def told():
    return []


@pytest.fixture
def store(tmp_path, told):
    return KvStore(tmp_path / "kv", 10**6, told.append)


def save(store, ids=range(10), seed=0, key="k", dtype=torch.float32):
    store.save(key, "a model", list(ids), [4, 10], layers(seed, dtype))


def all_of(_ids, splits):
    return splits[-1]


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
def test_what_is_stored_is_found_again(store, told, dtype):
    save(store, dtype=dtype)
    found = store.find("k", all_of)
    assert found.token_ids == list(range(10))
    assert found.header.splits == (4, 10)
    assert found.header.model == "a model"
    assert found.header.tokens == 10
    for mine, want in zip(found.rows(), layers(dtype=dtype), strict=True):
        assert all(torch.equal(one, other) for one, other in zip(mine, want, strict=True))
        assert mine[0].dtype == dtype
    assert told == []


def test_only_its_owner_may_read_it(store):
    save(store)
    (path,) = store.folder.iterdir()
    assert path.stat().st_mode & 0o777 == 0o600
    assert store.folder.stat().st_mode & 0o777 == 0o700


def test_other_keys_and_what_saves_nothing_are_passed_by(store):
    save(store)
    assert store.find("other", all_of) is None
    assert store.find("k", lambda *_: 0) is None
    assert store.find("k", all_of, more_than=10) is None
    assert store.find("k", all_of, more_than=9) is not None


def test_of_two_the_one_that_saves_more(store):
    save(store, ids=range(10))
    save(store, ids=range(100, 110), seed=1)
    assert store.find("k", lambda ids, _: ids[0] + 1).token_ids[0] == 100
    assert store.find("k", lambda ids, _: 200 - ids[0]).token_ids[0] == 0


def test_the_oldest_go_when_there_is_too_much(store):
    save(store)
    size = next(store.folder.iterdir()).stat().st_size
    store.limit = int(size * 2.5)
    for number in (1, 2):
        save(store, ids=range(number, number + 10), seed=number)
        time.sleep(0.01)
    assert sorted(header.tokens for header in store.headers()) == [10, 10]
    assert store.find("k", lambda ids, _: 1 if ids[0] == 0 else 0) is None
    assert store.find("k", lambda ids, _: 1 if ids[0] == 1 else 0) is not None  # and young again by that
    time.sleep(0.01)
    save(store, ids=range(3, 13), seed=3)
    assert sorted(kv_file.token_ids(header)[0] for header in store.headers()) == [1, 3]


def test_what_is_larger_than_everything_is_not_stored(store):
    store.limit = 100
    save(store)
    assert not store.folder.exists()


def damaged(path, how):
    data = bytearray(path.read_bytes())
    if how == "cut":
        data = data[:-7]
    elif how == "longer":
        data += b"0"
    elif how == "a bit":
        data[-100] ^= 1
    elif how == "tokens":
        data[data.index(b"token_ids") :][:0] = b""
        data[8 + int.from_bytes(data[:8], "little")] ^= 1
    elif how == "another kind":
        data = bytearray(b"\x10\0\0\0\0\0\0\0" + b'{"x":1}         ')
    elif how == "no header":
        data = bytearray(b"\xff" * 400)
    elif how == "empty":
        data = bytearray()
    path.write_bytes(bytes(data))


@pytest.mark.parametrize("how", ["cut", "longer", "a bit", "tokens", "another kind", "no header", "empty"])
def test_a_damaged_file_is_told_removed_and_never_used(store, told, how):
    save(store)
    (path,) = store.folder.iterdir()
    damaged(path, how)
    assert store.find("k", all_of) is None
    (warning,) = told
    assert str(path) in warning
    assert "damaged" in warning
    assert not path.exists()


def test_the_second_best_serves_where_the_best_is_damaged(store, told):
    save(store, ids=range(10))
    save(store, ids=range(100, 110), seed=1)
    (best,) = [header.path for header in store.headers() if kv_file.token_ids(header)[0] == 100]
    damaged(best, "a bit")
    assert store.find("k", lambda ids, _: ids[0] + 1).token_ids[0] == 0
    assert len(told) == 1


def test_a_folder_that_cannot_be_written_is_told(tmp_path, told):
    (tmp_path / "file").write_text("")
    save(KvStore(tmp_path / "file" / "kv", 10**6, told.append))
    (warning,) = told
    assert "not stored" in warning


def test_clearing_takes_half_written_files_too(store):
    save(store)
    (store.folder / ".kv-abc").write_bytes(b"half")
    (store.folder / "mine.txt").write_text("not ours")
    assert store.clear() == 2
    assert [path.name for path in store.folder.iterdir()] == ["mine.txt"]


def test_a_header_of_a_hundred_layers():
    rows = layers(count=100)
    header = kv_file._header([(f"{i}.keys", keys) for i, (keys, _) in enumerate(rows)], {"format": kv_file.FORMAT})
    assert len(header) % 8 == 0


WRITER = """
import sys, torch
from pathlib import Path
from spsl_cli.storage import kv_file
rows = [(torch.full((2, 4000, 8), float(i)), torch.full((2, 4000, 8), float(i))) for i in range(40)]
print("ready", flush=True)
for number in range(1000):
    kv_file.write(Path(sys.argv[1]) / f"{number % 3}.kv.safetensors", "k", "m", list(range(4000)), [4000], rows)
"""


def test_a_writer_killed_at_any_moment_leaves_whole_files_only(tmp_path, told):
    store = KvStore(tmp_path, 10**9, told.append)
    for delay in (0.0, 0.01, 0.03, 0.07, 0.11, 0.19):
        with subprocess.Popen([sys.executable, "-c", WRITER, str(tmp_path)], stdout=subprocess.PIPE) as writer:
            writer.stdout.readline()
            time.sleep(delay)
            writer.kill()
        for header in store.headers():
            kv_file.check(header)
    assert told == []
    left = [path.name for path in tmp_path.iterdir()]
    assert all(name.endswith(SUFFIX) or name.startswith(".kv-") for name in left)


def test_a_file_of_another_format_is_not_read(store):
    save(store)
    (path,) = store.folder.iterdir()
    data = path.read_bytes()
    path.write_bytes(data.replace(kv_file.FORMAT.encode(), b"spsl-kv/0"))
    with pytest.raises(DamagedError, match="spsl-kv/0"):
        kv_file.read_header(path)

"""PDFs are parsed in processes of their own: what such a process may do, and what its crashes and hangs cost.

Most tests run the real process with a stand-in for the parsing (faulty_child.py), for no file crashes a sound library.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from functools import partial
from pathlib import Path

import pytest

from spsl_cli.documents import Limits, Reading, read_paths
from spsl_cli.documents.pdf import protocol, reading, worker
from spsl_cli.documents.pdf.job import Job
from spsl_cli.documents.pdf.process import CrashedError, HungError, ParserProcess, _environment
from spsl_cli.documents.pdf.protocol import ProtocolError
from spsl_cli.documents.pdf.raw import Outline, RawPage
from spsl_cli.documents.pdf.replies import outline_of, page_of
from spsl_cli.documents.pdf.supervisor import ParserPool
from spsl_cli.documents.source import Extract, Source, UnreadableError
from tests.unit.test_documents_pdf import lines, make_pdf

FAULTY = partial(ParserProcess, "tests.unit.faulty_child")
POSIX = pytest.mark.skipif(os.name != "posix", reason="the system has no such limits")


@pytest.fixture(scope="module")
def shared():
    """One pool for all tests that leave their process as it was or ended."""
    with ParserPool(1, FAULTY) as pool:
        yield pool


def source(total: int = 3, limits: Limits | None = None, *, key: str | None = None, **told) -> Source:
    pages = {str(index): fault for index, fault in told.pop("pages", {}).items()}
    return Source("f.pdf", json.dumps({"total": total, "pages": pages} | told).encode(), key, limits or Limits())


def extract(pool: ParserPool, *arguments, **told) -> Extract:
    return pool.submit(source(*arguments, **told)).extract.result(timeout=300)


def texts(result: Extract) -> list[str]:
    return [page.text for page in result.pages]


def alone(pool: ParserPool, fault: str, limits: Limits | None = None, **told) -> str:
    return extract(pool, 1, limits, pages={0: fault}, **told).pages[0].text


def processes(pool: ParserPool) -> list[int]:
    return [own._process._process.pid for own in pool._workers if own._process]


def is_running(pid: int) -> bool:
    """Whether there is such a process, zombies not counted."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def wait_until(condition, seconds: float = 60) -> bool:
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            return False
        time.sleep(0.02)
    return True


# ---- faults of a page ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("fault", "told"),
    [
        ("crash", "it crashes the parser (SIGSEGV)"),
        ("end", "its parser ended (the library gave up)"),
        ("raise_", "a fault"),
        ("recurse", "maximum recursion depth exceeded"),
        ("flood", "4"),
        ("long", "1,000,001 characters, more than the limit of 1,000,000"),
        ("wrong_type", "its parser answers nonsense (list where <class 'str'> is wanted)"),
        ("nonsense", "its parser answers nonsense (a frame of 4,294,967,295 bytes, more than "),
        ("not_json", "its parser answers nonsense (not JSON: JSONDecodeError)"),
    ],
)
def test_a_fault_costs_its_page_only(shared, fault, told):
    result = extract(shared, 4, pages={1: fault})
    assert texts(result) == ["Page 1.", "", "Page 3.", "Page 4."]
    assert result.pages[1].warnings[0].startswith("could not be read: ")
    assert told in result.pages[1].warnings[0]
    assert [page.warnings for page in result.pages if page.number != 2] == [()] * 3


def test_a_page_that_hangs_costs_itself_and_its_time(shared):
    begun = time.monotonic()
    result = extract(shared, 4, Limits(page_seconds=2), pages={0: "hang", 3: "hang"})
    assert texts(result) == ["", "Page 2.", "Page 3.", ""]
    assert result.pages[0].warnings == ("could not be read: it takes longer than 2 s",)
    assert time.monotonic() - begun > 4


def test_what_crashes_in_the_c_library_is_read_without_it(shared):
    result = extract(shared, 3, pages={1: "crash-with-pdfium"})
    assert texts(result) == ["Page 1.", "Page 2.", "Page 3."]
    assert result.pages[1].warnings == ("read by pypdf alone: pdfium crashed on this file",)
    assert result.pages[2].warnings == ()


def test_a_library_that_crashes_again_and_again_is_not_asked_any_more(shared):
    faults = dict.fromkeys(range(12), "crash-with-pdfium")
    result = extract(shared, 12, pages=faults)
    assert texts(result) == [f"Page {number}." for number in range(1, 13)]
    assert all(page.warnings for page in result.pages)


def test_restarts_are_bounded(shared):
    result = extract(shared, 20, pages=dict.fromkeys(range(1, 20), "crash"))
    warnings = [page.warnings[0] if page.warnings else "" for page in result.pages]
    crashed = [number for number, text in enumerate(warnings, 1) if "crashes the parser" in text]
    given_up = [number for number, text in enumerate(warnings, 1) if text.startswith("not read: ")]
    assert texts(result)[0] == "Page 1."
    assert crashed == list(range(2, 2 + len(crashed)))
    assert given_up == list(range(2 + len(crashed), 21))
    assert 3 <= len(crashed) <= reading.MOST_CRASHES


@POSIX
def test_memory_is_limited_and_what_held_it_is_gone_for_the_next_page(shared):
    limits = Limits(parser_bytes=700 << 20)
    result = extract(shared, 3, limits, pages={1: "fill-memory"})
    assert texts(result) == ["Page 1.", "", "Page 3."]
    assert result.pages[1].warnings == ("could not be read: out of memory",)


def test_stray_output_of_a_library_does_not_reach_the_replies(shared, capfd):
    assert texts(extract(shared, 3, pages={0: "print_", 2: "print_"})) == ["Page 1.", "Page 2.", "Page 3."]
    assert capfd.readouterr() == ("", "")


def test_what_the_process_sends_is_cleaned_before_it_is_believed(shared):
    page = extract(shared, 2, pages={0: "foreign"}).pages[0]
    assert page.text == "a\ufffdb\ufffd[31mc\ufffdd\ufffde"
    assert page.warnings[0] == "two lines \\x1b[0m"
    assert page.warnings[-1] == "10 more remarks"


# ---- faults in opening ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("fault", "told"),
    [
        ("crash", "broken PDF: it crashes the parser (SIGSEGV)"),
        ("raise_", "broken PDF: a fault"),
        ("refuse", "broken PDF: no pages"),
        ("hang", "it takes longer than 3 s to open"),
        ("fill-memory", "broken PDF: out of memory"),
    ],
)
def test_a_file_that_cannot_be_opened_says_why(shared, fault, told):
    with pytest.raises(UnreadableError) as caught:
        extract(shared, 3, Limits(page_seconds=10 if fault == "fill-memory" else 1, parser_bytes=700 << 20), open=fault)
    assert str(caught.value) == told
    assert texts(extract(shared, 1)) == ["Page 1."]


def test_a_file_that_only_the_c_library_cannot_open_is_read_without_it(shared):
    result = extract(shared, 2, open="crash-with-pdfium")
    assert texts(result) == ["Page 1.", "Page 2."]
    assert result.pages[0].warnings == ("read by pypdf alone: pdfium crashed on this file",)


@pytest.mark.parametrize(("total", "labels"), [(0, []), (3, ["i"]), (20_001, [None] * 20_001)])
def test_an_outline_that_cannot_be_is_not_believed(shared, total, labels):
    with pytest.raises(UnreadableError, match="answers nonsense"):
        extract(shared, total, labels=labels)


# ---- limits of the whole file --------------------------------------------------------------------------------------


def test_a_file_that_takes_too_long_keeps_what_was_read(shared):
    result = extract(shared, 12, Limits(document_seconds=1), pages=dict.fromkeys(range(1, 12), "slow"))
    assert texts(result)[0] == "Page 1."
    assert texts(result)[-1] == ""
    assert result.pages[-1].warnings == ("not read: the file takes longer than 1 s",)


def test_text_is_counted_where_it_arrives(shared):
    with pytest.raises(UnreadableError, match="more than the limit of 20 characters"):
        extract(shared, 400, Limits(document_characters=20))


# ---- what the process may do ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("deed", ["socket", "resolve", "spawn", "fork", "write"])
def test_python_code_in_the_process_reaches_nothing_outside(shared, deed):
    assert alone(shared, deed).startswith("PermissionError: ")


@POSIX
def test_the_system_holds_the_process_down(shared):
    limits = Limits(parser_bytes=1 << 30, page_seconds=7)
    told = json.loads(alone(shared, "limited", limits))
    if sys.platform == "linux":
        assert told["RLIMIT_AS"][0] == limits.parser_bytes + len(source(1, pages={0: "limited"}).data)
    assert told["RLIMIT_FSIZE"] == told["RLIMIT_CORE"] == [0, 0]
    assert told["RLIMIT_NOFILE"] == [48, 48]
    soft, hard = told["RLIMIT_CPU"]
    assert limits.page_seconds < soft <= hard < 3 * limits.document_seconds


def test_the_process_is_light(shared):
    assert json.loads(alone(shared, "modules")) == []


def test_passwords_and_keys_stay_out_of_arguments_and_environment(shared, monkeypatch):
    monkeypatch.setenv("HF_TOKEN", "hf_secret")
    with ParserPool(1, FAULTY) as pool:
        arguments, environment, password = json.loads(alone(pool, "surroundings", key="bronze"))
    assert password == "bronze"  # noqa: S105
    assert "bronze" not in json.dumps([arguments, environment])
    assert "HF_TOKEN" not in environment


def test_a_module_in_the_current_folder_is_not_imported(tmp_path, monkeypatch):
    """People run spsl in the folder of their documents, and what lies there may come from anyone."""
    for name in ("pypdf", "logging", "json", "zipfile", "spsl_cli"):
        (tmp_path / f"{name}.py").write_text("open('imported', 'w')", encoding="utf-8")
    (tmp_path / "a.pdf").write_bytes(make_pdf(lines("Sound.")))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", ["", str(tmp_path), *sys.path])
    assert read_paths(["a.pdf"]).documents[0].text == "Sound."
    assert not Path("imported").exists()


def test_the_environment_names_only_what_python_needs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    given = {"PATH": "/bin", "PYTHONUTF8": "1", "AWS_SECRET_ACCESS_KEY": "x", "SPSL_MODEL": "y"}
    found = _environment(given, ["", str(tmp_path), "/elsewhere"])
    assert set(found) == {"PATH", "PYTHONUTF8", "PYTHONPATH"}
    first, *rest = found["PYTHONPATH"].split(os.pathsep)
    assert first == "/elsewhere"
    assert [(Path(entry) / "spsl_cli").is_dir() for entry in rest] == [True]


# ---- the life of the processes -------------------------------------------------------------------------------------


@POSIX
def test_no_process_is_left_behind():
    before = set(threading.enumerate())
    with ParserPool(2, FAULTY) as pool:
        extract(pool, 100, pages={10: "crash", 90: "hang"}, limits=Limits(page_seconds=1))
        running = processes(pool)
        assert running
    assert not any(is_running(pid) for pid in running)
    assert set(threading.enumerate()) <= before


@POSIX
def test_closing_kills_what_hangs_at_once():
    with ParserPool(1, FAULTY) as pool:
        job = pool.submit(source(3, pages={1: "hang"}))
        assert wait_until(lambda: job.progress == (1, 3))
        running, begun = processes(pool), time.monotonic()
    assert time.monotonic() - begun < 10
    assert running
    assert not any(is_running(pid) for pid in running)
    assert not job.extract.done()


SCRIPT = """
    import signal, sys, time
    from functools import partial
    from pathlib import Path
    from spsl_cli.documents.pdf import supervisor
    from spsl_cli.documents.pdf.process import ParserProcess
    from spsl_cli.documents.source import Source

    signal.signal(signal.SIGINT, signal.default_int_handler)  # whoever runs the tests may have it ignored
    with supervisor.ParserPool(1, partial(ParserProcess, "tests.unit.faulty_child")) as pool:
        job = pool.submit(Source("f.pdf", b'{"total": 2, "pages": {"1": "hang"}}'))
        while job.progress != (1, 2):
            time.sleep(0.02)
        print(pool._workers[0]._process._process.pid, flush=True)
        job.extract.result()
"""


@POSIX
@pytest.mark.parametrize("end", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_the_process_ends_with_its_parent(end):
    root = Path(__file__).parents[2]
    parent = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(SCRIPT)],
        cwd=root, env={**os.environ, "PYTHONPATH": str(root)},
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    with parent:
        pid = int(parent.stdout.readline())
        assert is_running(pid)
        parent.send_signal(end)
        _, errors = parent.communicate(timeout=60)
    assert wait_until(lambda: not is_running(pid))
    if end == signal.SIGINT:
        assert "KeyboardInterrupt" in errors
    assert "faulty_child" not in errors


@POSIX
def test_an_interrupt_meant_for_the_parent_leaves_the_process_alone(shared):
    assert texts(extract(shared, 1)) == ["Page 1."]
    (pid,) = processes(shared)
    os.kill(pid, signal.SIGINT)
    assert alone(shared, "pid") == str(pid)


def test_a_process_serves_many_files_but_not_for_ever(shared, monkeypatch):
    first = alone(shared, "pid")
    assert alone(shared, "pid") == first
    monkeypatch.setattr(worker, "_MOST_FILES", 1)
    assert alone(shared, "pid") != first


@POSIX
def test_nothing_is_left_open(shared):
    extract(shared, 1)

    def descriptors() -> int:
        return len(list(Path("/proc/self/fd" if sys.platform == "linux" else "/dev/fd").iterdir()))

    before = descriptors()
    for _ in range(3):
        extract(shared, 2, pages={0: "crash"})
    assert descriptors() == before


def test_a_process_that_does_not_start_is_told_and_not_tried_for_ever():
    started = []

    def start() -> ParserProcess:
        started.append(1)
        return ParserProcess("spsl_cli.no_such_module")

    with ParserPool(1, start) as pool:
        for _ in range(8):
            with pytest.raises(UnreadableError, match="the process that parses PDFs does not start: "):
                extract(pool, 1)
    assert len(started) == 6


def test_a_system_without_room_for_a_process_is_told():
    def start() -> ParserProcess:
        raise OSError(11, "Resource temporarily unavailable")

    with ParserPool(1, start) as pool, pytest.raises(UnreadableError, match="Resource temporarily unavailable"):
        extract(pool, 1)


# ---- several processes ---------------------------------------------------------------------------------------------


def test_the_result_does_not_depend_on_the_number_of_processes():
    told = {"pages": {3: "crash", 70: "crash-with-pdfium", 71: "raise_", 150: "long"}, "labels": ["x"] * 200}
    results = []
    for number in (1, 3):
        with ParserPool(number, FAULTY) as pool:
            results.append(extract(pool, 200, **told))
            assert len(processes(pool)) <= number
    assert results[0] == results[1]
    assert [page.number for page in results[0].pages] == list(range(1, 201))


@pytest.mark.parametrize("total", [1, 2, 63, 64, 65, 128, 129, 1000, 1024, 1025, 19_999, 20_000])
def test_runs_cover_every_page_once(total):
    runs = Job(source()).begin(Outline(total, (None,) * total), pdfium=True)
    assert [index for run in runs for index in run] == list(range(total))
    assert len(runs) <= 16
    assert len({len(run) for run in runs[:-1]}) <= 1


def test_results_come_in_the_order_given_and_the_first_name_wins(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    slow = make_pdf(*(lines(f"Chapter {number}.", *["It went on."] * 30) for number in range(40)))
    Path("a.pdf").write_bytes(slow)
    Path("b.pdf").write_bytes(make_pdf(lines("Quick.")))
    Path("c.pdf").write_bytes(slow)
    Path("d.txt").write_text("Plain.", encoding="utf-8")
    Path("e.pdf").write_bytes(b"%PDF-1.7\nnothing")
    Path("f.pdf").write_bytes(b"%PDF-1.7\nnothing")
    told = []
    collection = read_paths(["."], on_progress=told.append)
    assert [document.path for document in collection.documents] == ["a.pdf", "b.pdf", "d.txt"]
    assert [skip.path for skip in collection.skipped] == ["c.pdf", "e.pdf", "f.pdf"]
    assert collection.skipped[0].reason == "same content as a.pdf"
    assert collection.skipped[1].reason == collection.skipped[2].reason
    assert told[0] == Reading(0, 6, "a.pdf")
    assert told[-1] == Reading(6, 6)
    assert [at.done for at in told] == sorted(at.done for at in told)
    assert {at.total for at in told} == {6}


def test_progress_is_told_while_one_file_lasts(tmp_path, monkeypatch):
    monkeypatch.setattr("spsl_cli.documents.collect.ParserPool", partial(ParserPool, 1, FAULTY))
    pages = json.dumps({"total": 8, "pages": {str(index): "slow" for index in range(8)}}).encode()
    (tmp_path / "long.pdf").write_bytes(pages + b"\0")
    told = []
    read_paths([str(tmp_path / "long.pdf")], on_progress=told.append)
    during = [at for at in told if at.pages]
    assert during
    assert {(at.name, at.pages) for at in during} == {(str(tmp_path / "long.pdf"), 8)}
    assert [at.pages_done for at in during] == sorted(at.pages_done for at in during)
    assert any(0 < at.pages_done < 8 for at in during)


@POSIX
def test_an_interrupt_while_a_pdf_is_read_reaches_the_caller_and_ends_the_processes(tmp_path):
    (tmp_path / "a.pdf").write_bytes(make_pdf(*(lines("Words.") for _ in range(5))))
    pools = []

    def interrupt(_: Reading) -> None:
        if pools:
            raise KeyboardInterrupt

    class Watched(ParserPool):
        def __init__(self) -> None:
            super().__init__()
            pools.append(self)

    with contextlib.ExitStack() as stack:
        patch = stack.enter_context(pytest.MonkeyPatch.context())
        patch.setattr("spsl_cli.documents.collect.ParserPool", Watched)
        with pytest.raises(KeyboardInterrupt):
            read_paths([str(tmp_path / "a.pdf")], on_progress=interrupt)
    assert processes(pools[0]) == []


# ---- the protocol --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "message",
    [
        None,
        [],
        {},
        {"text": "a", "failed": None},
        {"text": "a", "failed": None, "warnings": [], "unjoined": [], "margins": [], "more": 1},
        {"text": 1, "failed": None, "warnings": [], "unjoined": [], "margins": []},
        {"text": "a", "failed": 1, "warnings": [], "unjoined": [], "margins": []},
        {"text": "a", "failed": None, "warnings": "ab", "unjoined": [], "margins": []},
        {"text": "a", "failed": None, "warnings": [None], "unjoined": [], "margins": []},
        {"text": None, "failed": None, "warnings": [], "unjoined": [], "margins": []},
        {"text": "a", "failed": None, "warnings": [], "unjoined": [], "margins": ["0"]},
        {"text": "a", "failed": None, "warnings": [], "unjoined": [None], "margins": []},
    ],
)
def test_a_page_of_another_form_is_refused(message):
    with pytest.raises(ProtocolError):
        page_of({"page": message}, Limits())


@pytest.mark.parametrize(
    "reply", [{"unreadable": 1}, {"outline": {"total": True, "labels": [None], "warnings": []}}, {}]
)
def test_an_outline_of_another_form_is_refused(reply):
    with pytest.raises(ProtocolError):
        outline_of(reply, Limits())


def test_a_sound_page_arrives_as_it_was_sent():
    page = RawPage("Grüße, \U0001f30a\tof\nall \u202e kinds", None, ("one",), (0, 2), (1,))
    sent = {"text": page.text, "failed": page.failed, "warnings": page.warnings, "margins": page.margins,
            "unjoined": page.unjoined}  # fmt: skip
    assert page_of(protocol.load(protocol.dump({"page": sent})), Limits()) == page


def test_of_lines_in_the_margins_no_more_are_believed_than_a_page_can_have():
    many = [0] * 100_000
    sent = {"text": "a", "failed": None, "warnings": [], "margins": many, "unjoined": many}
    assert page_of({"page": sent}, Limits()).margins == (0,) * 8
    assert page_of({"page": sent}, Limits()).unjoined == (0,) * 1000


@pytest.mark.parametrize("payload", [b"", b"\xff", b"1", b"[" * 100_000, b'{"a": NaN}x', b"9" * 5000])
def test_a_payload_that_is_no_object_is_refused(payload):
    with pytest.raises(ProtocolError):
        protocol.load(payload)


def test_a_request_that_gets_no_answer_in_time_costs_the_process():
    process = FAULTY()
    try:
        told = {"total": 1, "open": "hang"}
        data = json.dumps(told).encode()
        limits = {"page_seconds": 1.0}
        load = {"do": "load", "name": "f", "password": None, "limits": limits, "size": len(data)}
        assert process.ask(load, 120, 1000) == {"ready": True}
        assert process.send(data, 120, 1000) == {"loaded": len(data)}
        with pytest.raises(HungError):
            process.ask({"do": "open", "pdfium": True}, 0.5, 1000)
        with pytest.raises((HungError, CrashedError)):
            process.ask({"do": "open", "pdfium": True}, 5, 1000)
    finally:
        process.close()

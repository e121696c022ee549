"""On a real pseudo-terminal: the panel, Ctrl-C, and what stays on the screen."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess

import pexpect
import pytest

from tests.cli.run import COMMAND


def start(arguments, **environment):
    env = {**os.environ, "OMP_NUM_THREADS": "1", "TERM": "xterm-256color", **environment}
    return pexpect.spawn(
        COMMAND[0], [*COMMAND[1:], *map(str, arguments)], env=env, dimensions=(24, 80), encoding="utf-8", timeout=120
    )


def test_the_panel_shows_the_run_and_the_answer_follows_it(model, note):
    child = start(["ask", note, "Why?", "--model", model, "--max-new-tokens", 120, "--compare-ar", "--k", 4])
    child.expect("prefill")
    child.expect("accepted")
    child.expect(r"x AR measured")
    child.expect("identical to AR")
    child.expect(pexpect.EOF)
    child.close()
    assert child.exitstatus == 0


@pytest.mark.parametrize("environment", [{"NO_COLOR": "1"}, {"TERM": "dumb"}])
def test_no_colour_where_none_is_wanted(model, note, environment):
    child = start(["ask", note, "Why?", "--model", model, "--max-new-tokens", 20], **environment)
    text = child.read()
    child.close()
    assert child.exitstatus == 0
    colours = re.findall(r"\x1b\[(?:3|4|9|10)[0-9](?:;[0-9;]*)?m", text)
    assert colours == []
    if "TERM" in environment:
        assert "\x1b" not in text


def test_ctrl_c_keeps_what_there_is(model, note, tmp_path):
    """The partial answer goes out, marked, with exit code 130."""
    target = tmp_path / "partial.json"
    arguments = ["ask", note, "Why?", "--model", model, "--max-new-tokens", 1200, "--json", "-o", target, "--k", 2]
    child = start(arguments)
    child.expect("accepted")
    child.sendintr()
    child.expect(pexpect.EOF)
    child.close()
    assert child.exitstatus == 130
    answer = json.loads(target.read_text(encoding="utf-8"))
    assert answer["finish_reason"] == "interrupted"
    assert 0 < answer["usage"]["new_tokens"] < 1200
    assert any("interrupted" in warning for warning in answer["warnings"])


def test_impatience_does_not_lose_the_answer(model, note, tmp_path):
    """Ctrl-C again and again while the first is being obeyed."""
    target = tmp_path / "partial.json"
    arguments = ["ask", note, "Why?", "--model", model, "--max-new-tokens", 1200, "--json", "-o", target, "--k", 2]
    child = start(arguments)
    child.expect("accepted")
    for _ in range(20):
        child.sendintr()
    child.expect(pexpect.EOF)
    child.close()
    assert child.exitstatus == 130
    answer = json.loads(target.read_text(encoding="utf-8"))
    assert answer["finish_reason"] == "interrupted"
    speculation = answer["speculation"]
    assert answer["usage"]["new_tokens"] == 1 + speculation["accepted"] + speculation["bonus"]


def test_termination_gives_the_terminal_back(model, note):
    child = start(["ask", note, "Why?", "--model", model, "--max-new-tokens", 1200])
    child.expect("accepted")
    child.kill(signal.SIGTERM)
    rest = child.read()
    child.close()
    assert child.exitstatus == 128 + signal.SIGTERM
    assert rest.rfind("\x1b[?25h") > rest.rfind("\x1b[?25l")  # the cursor is shown again


def test_ctrl_c_before_the_first_token(model, note):
    """Nothing on standard output, one line on standard error, exit code 130."""
    code = (
        "import sys, spsl_cli.session as session; from spsl_cli.cli.app import main\n"
        "def stop(*_): raise KeyboardInterrupt\n"
        "session.Session.prefill = stop\n"
        f"sys.exit(main(['ask', {str(note)!r}, 'Why?', '--model', {str(model)!r}]))"
    )
    done = subprocess.run([COMMAND[0], "-c", code], capture_output=True, check=False)
    assert done.returncode == 130
    assert done.stdout == b""
    assert done.stderr.decode().splitlines()[-1] == "spsl: error: interrupted before there was an answer"


def interrupted_at(place, note, model, *options):
    """A run in which Ctrl-C is pressed when `place` (module, name of a function in it) is first called."""
    module, name = place
    code = (
        f"import os, signal, sys, importlib; from unittest import mock; from spsl_cli.cli.app import main\n"
        f"owner = importlib.import_module({module!r}); path = {name!r}.split('.')\n"
        "for part in path[:-1]: owner = getattr(owner, part)\n"
        "right, calls = getattr(owner, path[-1]), []\n"
        "def pressed(*a, **k):\n"
        "    calls.append(1)\n"
        "    if len(calls) == NUMBER: os.kill(os.getpid(), signal.SIGINT)\n"
        "    return right(*a, **k)\n"
        "setattr(owner, path[-1], pressed)\n"
        f"sys.exit(main(['ask', {str(note)!r}, '--model', {str(model)!r}, '--max-new-tokens', '12', '--json', "
        f"*{list(options)!r}]))"
    )
    return lambda number: subprocess.run(
        [COMMAND[0], "-c", code.replace("NUMBER", str(number))], capture_output=True, check=False
    )


def test_ctrl_c_between_prefill_and_first_token(model, note):
    done = interrupted_at(("spsl_cli.decoding.run", "DecodingRun.decode"), note, model, "Why?")(1)
    assert done.returncode == 130, done.stderr.decode()
    assert json.loads(done.stdout)["finish_reason"] == "interrupted"


def test_ctrl_c_in_the_second_question_keeps_the_first_answer(model, note):
    done = interrupted_at(("spsl_cli.decoding.run", "DecodingRun.prefill"), note, model, "-q", "A?", "-q", "B?")(2)
    assert done.returncode == 130, done.stderr.decode()
    answer = json.loads(done.stdout)
    assert (answer["question"], answer["finish_reason"]) == ("A?", "length")


def test_ctrl_c_in_the_comparison_keeps_the_answer(model, note):
    done = interrupted_at(("spsl_cli.decoding.run", "DecodingRun.rewind"), note, model, "Why?", "--compare-ar")(1)
    assert done.returncode == 130, done.stderr.decode()
    answer = json.loads(done.stdout)
    assert answer["finish_reason"] == "length"
    assert answer["comparison"] is None

"""On a real pseudo-terminal: the panel, Ctrl-C, and what stays on the screen."""

from __future__ import annotations

import json
import os
import re
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
    child.expect(r"speedup over AR.*measured")
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

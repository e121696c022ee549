"""`spsl ask` and `spsl summarize` from outside: streams, JSON, exit codes."""

from __future__ import annotations

import json
import subprocess

import pytest
import torch
from transformers import AutoModelForCausalLM

from tests.cli.run import COMMAND, check_failed, spsl, spsl_process
from tests.models import generate

CONTRACT = {
    "schema": str, "command": str, "question": str, "answer": str, "finish_reason": str, "model": dict,
    "documents": list, "skipped": list, "citations": list, "usage": dict, "timing": dict, "speculation": dict,
    "comparison": dict, "warnings": list,
}  # fmt: skip
KEYS = {
    "model": {"id", "revision", "dtype", "device", "quantization"},
    "usage": {"prompt_tokens", "cached_tokens", "prefilled_tokens", "new_tokens"},
    "timing": {"load_s", "ingest_s", "prefill_s", "decode_s", "ttft_s", "total_s"},
    "speculation": {
        "enabled", "controller", "budget", "rounds", "drafted", "accepted", "lookup_drafted", "lookup_accepted",
        "acceptance_rate", "mean_accepted", "tokens_per_s", "k_histogram", "refresh_s", "draft_s", "verify_s",
    },
    "comparison": {
        "baseline", "tokens_per_s", "decode_s", "speedup", "identical", "first_difference", "top2_margin",
    },
}  # fmt: skip


def test_json_keeps_the_contract(model, note):
    result = spsl(
        "ask", note, "When does it leave?", "--model", model, "--max-new-tokens", 30, "--compare-ar", "--json"
    )
    assert result.returncode == 0, result.stderr.decode()
    answer = json.loads(result.stdout)
    assert answer["schema"] == "spsl.answer/1"
    for key, kind in CONTRACT.items():
        assert isinstance(answer[key], kind), key
    for key, names in KEYS.items():
        assert names <= set(answer[key]), key
    (document,) = answer["documents"]
    assert set(document) >= {"path", "sha256", "media_type", "pages", "characters", "tokens", "warnings"}
    assert answer["comparison"]["identical"] is True
    assert answer["comparison"]["speedup"] > 0
    assert answer["usage"]["new_tokens"] == 30
    speculation = answer["speculation"]
    assert answer["usage"]["new_tokens"] == 1 + speculation["accepted"] + speculation["bonus"]
    assert speculation["rounds"] == sum(speculation["k_histogram"].values())
    assert sum(int(k) * count for k, count in speculation["k_histogram"].items()) == speculation["drafted"] > 0


@pytest.mark.parametrize("options", [(), ("--k", "3"), ("--no-speculation",), ("--budget", "20")])
def test_the_tokens_are_those_of_generate(model, note, options):
    """On the ids that the answer itself names, whatever the options of drafting."""
    result = spsl("ask", note, "Why?", "--model", model, "--max-new-tokens", 24, "--json", *options)
    answer = json.loads(result.stdout)
    network = AutoModelForCausalLM.from_pretrained(model, dtype=torch.float32)
    assert answer["token_ids"] == generate(network, answer["prompt_token_ids"], 24)
    assert answer["speculation"]["enabled"] is ("--no-speculation" not in options)


def test_stdout_is_the_answer_and_nothing_else(model, note):
    arguments = ("ask", note, "Why?", "--model", model, "--max-new-tokens", 12)
    text = spsl_process(*arguments)
    assert text.returncode == 0
    answer = json.loads(spsl(*arguments, "--json").stdout)["answer"]
    printable = "".join(c for c in answer if c.isprintable() or c == "\n").strip()
    assert printable
    assert "".join(c for c in text.stdout.decode() if c.isprintable() or c == "\n").strip() == printable
    assert b"\x1b" not in text.stdout + text.stderr
    assert b"tokens" in text.stderr


def test_quiet_is_quiet(model, note):
    result = spsl("ask", note, "Why?", "--model", model, "--max-new-tokens", 4, "--quiet")
    assert (result.returncode, result.stderr) == (0, b"")


def test_sampling_repeats_with_its_seed(model, note):
    arguments = ("ask", note, "Why?", "--model", model, "--max-new-tokens", 20, "--json", "--temperature", "1.3")
    first, again, other = (
        json.loads(spsl(*arguments, "--seed", seed, "--compare-ar").stdout) for seed in ("4", "4", "5")
    )
    assert first["token_ids"] == again["token_ids"] != other["token_ids"]
    assert first["comparison"]["identical"] is None
    assert first["comparison"]["speedup"] > 0


def test_several_questions(model, note):
    result = spsl("ask", note, "-q", "Why?", "-q", "When?", "--model", model, "--max-new-tokens", 4, "--json")
    answers = json.loads(result.stdout)
    assert answers["schema"] == "spsl.answers/1"
    assert [answer["question"] for answer in answers["answers"]] == ["Why?", "When?"]


def test_standard_input_is_a_document(model):
    result = spsl(
        "ask", "-", "Why?", "--model", model, "--max-new-tokens", 4, "--json", stdin=b"Some text from a pipe."
    )
    assert json.loads(result.stdout)["documents"][0]["path"] == "stdin"


def test_skipped_inputs_are_named_and_exit_7(model, note, tmp_path):
    broken = tmp_path / "broken.pdf"
    broken.write_bytes(b"%PDF-1.7 nothing more")
    result = spsl("ask", note, broken, "Why?", "--model", model, "--max-new-tokens", 4, "--json")
    assert result.returncode == 7
    assert [skip["path"] for skip in json.loads(result.stdout)["skipped"]] == [str(broken)]
    assert b"broken.pdf" in result.stderr


def test_hidden_and_repeated_inputs_do_not_change_the_exit_code(model, note, tmp_path):
    (tmp_path / ".hidden").write_text("secret", encoding="utf-8")
    (tmp_path / "copy.txt").write_bytes(note.read_bytes())
    result = spsl("ask", tmp_path, "Why?", "--model", model, "--max-new-tokens", 4, "--json")
    assert result.returncode == 0
    assert len(json.loads(result.stdout)["skipped"]) == 2


def test_output_file(model, note, tmp_path):
    target = tmp_path / "answer.json"
    result = spsl("ask", note, "Why?", "--model", model, "--max-new-tokens", 4, "--json", "-o", target)
    assert (result.returncode, result.stdout) == (0, b"")
    assert json.loads(target.read_text(encoding="utf-8"))["command"] == "ask"
    assert target.stat().st_mode & 0o077 == 0
    for wrong in (tmp_path / "none" / "a.txt", tmp_path, ""):  # found before a model is looked for
        check_failed(spsl("ask", note, "Why?", "--model", "nobody/nothing", "-o", wrong), 2, "-o")


def test_a_reader_that_leaves_early_ends_the_run_quietly(model, note):
    command = [*COMMAND, "ask", str(note), "Why?", "--model", str(model), "--max-new-tokens", "8", "--quiet"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    process.stdout.close()
    error = process.stderr.read()
    assert process.wait() == 0
    assert error == b""
    process.stderr.close()


# ---- what goes wrong ----------------------------------------------------------------------------------------------


def test_missing_file(model, tmp_path):
    check_failed(spsl("ask", tmp_path / "none.pdf", "Why?", "--model", model), 3, "none.pdf", "no such file")


def test_nothing_readable_in_a_folder(tmp_path):
    (tmp_path / "data.bin").write_bytes(bytes(range(256)))
    check_failed(spsl("ask", tmp_path, "Why?"), 3, "data.bin", "binary")


def test_broken_pdf(tmp_path):
    (tmp_path / "b.pdf").write_bytes(b"%PDF-1.4\ngarbage\n%%EOF")
    check_failed(spsl("ask", tmp_path / "b.pdf", "Why?"), 3, "b.pdf")


@pytest.mark.parametrize("question", ["", "   "])
def test_empty_question(note, question):
    check_failed(spsl("ask", note, question), 2, "question is empty")
    check_failed(spsl("ask", note, "-q", question), 2, "question is empty")


def test_no_question_and_no_document(note):
    check_failed(spsl("ask", note), 2, "no question was given")
    check_failed(spsl("ask", "Why?"), 2, "is the question")
    check_failed(spsl("ask"), 2, "spsl ask --help")
    check_failed(spsl(), 2, "spsl --help")


def test_unknown_model(note, tmp_path):
    check_failed(spsl("ask", note, "Why?", "--model", tmp_path / "none"), 5, "none")
    check_failed(spsl("ask", note, "Why?", "--model", "nobody/nothing", "--offline"), 5, "nobody/nothing")


def test_pickle_weights_are_refused(note, tmp_path):
    folder = tmp_path / "pickle"
    folder.mkdir()
    (folder / "config.json").write_text('{"model_type": "llama"}', encoding="utf-8")
    (folder / "pytorch_model.bin").write_bytes(b"anything")
    check_failed(spsl("ask", note, "Why?", "--model", folder), 5, "pickle", "safetensors")


def test_context_overflow_says_by_how_much(model, tmp_path):
    (tmp_path / "long.txt").write_text("word " * 600, encoding="utf-8")
    result = spsl("ask", tmp_path / "long.txt", "Why?", "--model", model)
    check_failed(result, 4, "exceed", "2,048")
    words = result.stderr.decode().splitlines()[-1]
    prompt = int(words.split("the prompt of ")[1].split(" tokens")[0].replace(",", ""))
    assert f"by {prompt + 256 - 2048:,}" in words


def test_an_answer_cut_short_by_the_context_is_told(model, tmp_path):
    """Without a wish for a length, what room there is is used, with a word; with one, it is an error."""
    (tmp_path / "long.txt").write_text("x" * 1500, encoding="utf-8")
    arguments = ("ask", tmp_path / "long.txt", "Why?", "--model", model, "--json")
    length = json.loads(spsl(*arguments, "--max-new-tokens", 1).stdout)["usage"]["prompt_tokens"]
    (tmp_path / "long.txt").write_text("x" * (1500 + 2048 - length - 20), encoding="utf-8")
    result = spsl(*arguments)
    answer = json.loads(result.stdout)
    assert result.returncode == 0
    assert any("20 tokens instead of 256" in warning for warning in answer["warnings"])
    check_failed(spsl(*arguments, "--max-new-tokens", 21), 4, "by 1;")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--k", "0"), "k must be"),
        (("--k", "many"), "many"),
        (("--budget", "1.5"), "budget"),
        (("--budget", "lots"), "lots"),
        (("--max-new-tokens", "0"), "max_new_tokens"),
        (("--temperature", "-1"), "temperature"),
        (("--top-p", "0"), "top_p"),
        (("--top-k", "-3"), "top_k"),
        (("--device", "abacus"), "abacus"),
        (("--dtype", "int3"), "int3"),
        (("--controller", "fixed"), "draft length"),
        (("--quantize", "3bit"), "8bit or 4bit"),
    ],
)
def test_wrong_options(model, note, options, words):
    check_failed(spsl("ask", note, "Why?", "--model", model, *options), 2, words)


def test_debug_shows_the_traceback_and_the_line(note):
    result = spsl("ask", note, "", "--debug")
    assert result.returncode == 2
    assert "Traceback" in result.stderr.decode()
    assert result.stderr.decode().splitlines()[-1].startswith("spsl: error: the question is empty")


def test_closed_standard_input(note):
    """As under cron: no matter where it is not read, no readable input where it is."""

    def run_closed(*arguments):
        shell = ["/bin/sh", "-c", 'exec "$@" <&-', "sh", *COMMAND, *map(str, arguments)]
        return subprocess.run(shell, capture_output=True, check=False)

    assert run_closed("read", note).returncode == 0
    check_failed(run_closed("read", "-"), 3, "no readable input")


def test_an_answer_file_has_no_control_characters(model, note, tmp_path):
    target = tmp_path / "answer.txt"
    spsl("ask", note, "Why?", "--model", model, "--max-new-tokens", 60, "-o", target, "--temperature", "1.5")
    text = target.read_text(encoding="utf-8")
    assert not [c for c in text if ord(c) < 32 and c not in "\n\t"]

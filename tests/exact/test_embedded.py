"""The embedded model on real text: every controller gives the plain loop's tokens, and those are Hugging Face's own.

The long run (`-m slow`) takes documents from the folder that `SPSL_TEST_DOCUMENTS` names, or Python's own reference
texts without it: 22 prompts of 500 to 7,500 tokens, five draft lengths each.
"""

from __future__ import annotations

import os
from pathlib import Path
from pydoc_data.topics import topics

import pytest
import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

from spsl_cli.decoding.config import DecodeConfig
from spsl_cli.decoding.decoder import SparseSpecDecoder
from spsl_cli.documents import Document, Page, read_paths
from spsl_cli.models import embedded_model_path
from spsl_cli.prompting.layout import build_prompt
from tests.models import generate

LENGTHS = ["auto", 1, 2, 4, 8]
QUESTIONS = [
    "What is this text about?",
    "Quote the most important sentence of the text.",
    "List the main points of the text.",
    "Which names, numbers or dates does the text mention?",
]


@pytest.fixture(scope="module")
def embedded():
    path = embedded_model_path()
    model = AutoModelForCausalLM.from_pretrained(path, dtype=torch.float32).eval()
    torch.set_num_threads(os.cpu_count() or 1)
    yield model, AutoTokenizer.from_pretrained(path)
    torch.set_num_threads(1)


def texts() -> list[str]:
    """Texts to cut prompts from, in a stable order."""
    folder = os.environ.get("SPSL_TEST_DOCUMENTS")
    if folder is None:
        return ["\n\n".join(topics[name] for name in sorted(topics))]
    files = sorted(path for path in Path(folder).rglob("*") if path.suffix in (".txt", ".md", ".rst", ".pdf"))
    sizes = [path for path in files if 70_000 < path.stat().st_size < 700_000]
    found = [document.text for path in sizes for document in read_paths([str(path)]).documents]
    return [text for text in found if len(text) > 70_000]


def prompts(tokenizer, count, shortest, longest):
    """`count` prompts whose lengths run evenly from `shortest` to `longest` tokens, each from another place."""
    sources = texts()
    for i in range(count):
        tokens = shortest + (longest - shortest) * i // max(count - 1, 1)
        text = sources[i % len(sources)]
        begin = (i * 7919 * 50) % max(1, len(text) - 8 * tokens)
        excerpt = tokenizer.decode(tokenizer(text[begin : begin + 12 * tokens])["input_ids"][:tokens])
        document = Document("excerpt.txt", "0" * 64, "text/plain", (Page(1, excerpt),))
        yield build_prompt(tokenizer, [document], QUESTIONS[i % len(QUESTIONS)]).ids


def check_identity(embedded, count, shortest, longest, new_tokens):
    """Every controller against the plain loop, that against `generate`; returns how many drafts were tried."""
    model, tokenizer = embedded
    decoder = SparseSpecDecoder(model, DecodeConfig(k=8))
    stop = {tokenizer.eos_token_id}
    drafted = differences = 0
    for number, ids in enumerate(prompts(tokenizer, count, shortest, longest)):
        run = decoder.prepare(ids, max_new_tokens=new_tokens, stop_token_ids=stop)
        list(run.prefill())
        list(run.decode(speculation=False))
        plain = list(run.output.token_ids)
        same = [plain == generate(model, ids, new_tokens, eos_token_id=tokenizer.eos_token_id)]
        for k in LENGTHS:
            run.rewind()
            list(run.decode(config=DecodeConfig(k=k)))
            stats = run.stats()
            drafted += stats.drafted
            same.append(list(run.output.token_ids) == plain)
            assert stats.new_tokens == len(plain) == 1 + stats.accepted + stats.bonus
        differences += same.count(False)
        print(f"prompt {number}: {len(ids)} tokens, {len(plain)} new, equal: {same}", flush=True)  # noqa: T201
    assert differences == 0
    return drafted


@pytest.mark.embedded
def test_a_few_prompts(embedded):
    assert check_identity(embedded, count=2, shortest=300, longest=900, new_tokens=24) > 50


@pytest.mark.embedded
@pytest.mark.slow
def test_prompts_of_500_to_7500_tokens(embedded):
    assert check_identity(embedded, count=22, shortest=450, longest=7400, new_tokens=32) > 1000

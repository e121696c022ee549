"""The chat template around the content: split at the right place, one BOS, and facts instead of silence."""

from __future__ import annotations

import pytest
from tokenizers import AddedToken
from transformers import PreTrainedTokenizerFast

from spsl_cli.errors import UnsupportedModelError
from spsl_cli.prompting.data_tokens import DataEncoder
from spsl_cli.prompting.template import NO_SYSTEM_ROLE, NO_TEMPLATE, Template, split_template
from tests.unit.test_prompting_tokenizers import byte_level, sentencepiece, with_bos

BOS, START = "<bos>", "<|start|>"
CHATML = (
    "{% for m in messages %}<|start|>{{ m['role'] }}\n{{ m['content'] | trim }}<|end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|start|>assistant\n{% endif %}"
)
USER_ONLY = "{% for m in messages %}<|start|>{{ m.content }}<|end|>{% endfor %}"
REFUSES = "{% if messages[0].role == 'system' %}{{ raise_exception('no system role') }}{% endif %}" + USER_ONLY
DROPS = "{% for m in messages if m.role == 'user' %}<|start|>{{ m.content }}<|end|>{% endfor %}"
MERGES = (
    "{% if messages[0].role == 'system' %}{% set first = messages[0].content + '\n\n' %}{% set rest = messages[1:] %}"
    "{% else %}{% set first = '' %}{% set rest = messages %}{% endif %}"
    "<|start|>user\n{{ first }}{{ rest[0].content }}<|end|>"
)
SYSTEM_BEHIND = "{{ messages[-1].content }}<|start|>{{ messages[0].content }}<|end|>"


def split(tokenizer: PreTrainedTokenizerFast, system: str = "") -> Template:
    return split_template(tokenizer, DataEncoder(tokenizer), system)


def whole(tokenizer: PreTrainedTokenizerFast, template: Template, content: str) -> list[int]:
    return template.before + DataEncoder(tokenizer).encode(template.lead + content) + template.after


@pytest.mark.parametrize("system", ["", "Be brief."])
def test_the_parts_are_what_the_template_renders(system: str) -> None:
    tokenizer = byte_level(chat_template=CHATML)
    messages = [{"role": "system", "content": system}] if system else []
    messages.append({"role": "user", "content": "What?"})
    rendered = tokenizer.apply_chat_template(messages, tokenize=False, add_generation_prompt=True)
    template = split(tokenizer, system)
    assert whole(tokenizer, template, "What?") == tokenizer(rendered, add_special_tokens=False)["input_ids"]
    assert (template.lead, template.chat, template.notes) == ("", True, ())


@pytest.mark.parametrize("kind", ["prepend", "first"])
@pytest.mark.parametrize("closing", [" [/INST]", "</s>\n[bot]\n", "\n</s>the end</s>"])
def test_sentencepiece_puts_no_space_in_front_of_what_follows_the_content(kind: str, closing: str) -> None:
    tokenizer = sentencepiece(kind, chat_template="<s>[INST] {{ messages[0].content }}" + closing)
    template = split(tokenizer)
    rendered = tokenizer.apply_chat_template([{"role": "user", "content": "What?"}], tokenize=False)
    assert whole(tokenizer, template, "What?") == tokenizer(rendered, add_special_tokens=False)["input_ids"]


@pytest.mark.parametrize("source", [REFUSES, DROPS])
def test_a_system_text_the_template_has_no_place_for_leads_the_content_and_is_told(source: str) -> None:
    tokenizer = byte_level(chat_template=source)
    template = split(tokenizer, "Be brief.")
    assert (template.lead, template.notes) == ("Be brief.", (NO_SYSTEM_ROLE,))
    assert split(tokenizer).notes == ()
    assert tokenizer.decode(template.before) == "<|start|>"


@pytest.mark.parametrize(
    ("source", "before", "after"),
    [(MERGES, "<|start|>user\nBe brief.\n\n", "<|end|>"), (SYSTEM_BEHIND, "", "<|start|>Be brief.<|end|>")],
)
def test_the_system_text_goes_where_the_template_puts_it(source: str, before: str, after: str) -> None:
    tokenizer = byte_level(chat_template=source)
    template = split(tokenizer, "Be brief.")
    assert (tokenizer.decode(template.before), tokenizer.decode(template.after)) == (before, after)
    assert (template.lead, template.notes) == ("", ())


def test_the_system_text_is_data() -> None:
    tokenizer = byte_level(chat_template=CHATML)
    template = split(tokenizer, "a<|end|>b")
    end = tokenizer.convert_tokens_to_ids("<|end|>")
    assert template.before.count(end) == 1
    assert tokenizer.decode(template.before) == "<|start|>system\na<|end|>b<|end|>\n<|start|>user\n"


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        ("{{ messages[0].content }} and {{ messages[0].content }}", "2 times instead of once"),
        ("{{ messages[0].content | upper }}", "0 times instead of once"),
        ("{% for part in messages[0].content %}{{ part.text }}{% endfor %}", "0 times instead of once"),
        ("{{ raise_exception('only\n\n tool calls') }}", "TemplateError: only tool calls"),
        ("{{ messages[5].content }}", "UndefinedError"),
        ("{{ 1 / 0 }}", "ZeroDivisionError"),
        ("{{ 'a' + 1 }}", "TypeError"),
        ("{% for %}", "TemplateSyntaxError"),
        ("{{ messages.append(1) }}", "SecurityError"),
        ({"tool_use": CHATML, "rag": CHATML}, "ValueError: This model has multiple chat templates"),
    ],
)
@pytest.mark.parametrize("system", ["", "Be brief."])
def test_a_template_that_cannot_be_used_is_one_line(source: str, reason: str, system: str) -> None:
    tokenizer = byte_level()
    tokenizer.chat_template = source
    with pytest.raises(UnsupportedModelError, match=reason) as caught:
        split(tokenizer, system)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 400


def test_the_default_of_several_templates_is_taken() -> None:
    tokenizer = byte_level()
    tokenizer.chat_template = {"default": USER_ONLY, "tool_use": CHATML}
    assert tokenizer.decode(split(tokenizer).before) == "<|start|>"


@pytest.mark.parametrize("template_has_it", [True, False])
@pytest.mark.parametrize("tokenizer_adds_it", [True, False])
def test_exactly_one_bos_where_either_side_wants_one(template_has_it: bool, tokenizer_adds_it: bool) -> None:
    source = ("{{ bos_token }}" if template_has_it else "") + "user: {{ messages[0].content }}"
    tokenizer = byte_level((BOS, "<|end|>"), bos_token=BOS, chat_template=source)
    if tokenizer_adds_it:
        tokenizer = with_bos(tokenizer, BOS)
    template = split(tokenizer)
    expected = 1 if template_has_it or tokenizer_adds_it else 0
    assert template.before.count(tokenizer.bos_token_id) == expected
    assert tokenizer.decode(template.before) == BOS * expected + "user: "


def test_a_bos_that_also_opens_every_turn_is_left_as_it_is() -> None:
    tokenizer = with_bos(byte_level(bos_token=START, chat_template=CHATML), "<|start|>")
    assert tokenizer.decode(split(tokenizer).before) == "<|start|>user\n"


@pytest.mark.parametrize("tokenizer_adds_it", [True, False])
def test_without_a_template_only_bos_stands_around_the_content(tokenizer_adds_it: bool) -> None:
    tokenizer = byte_level((BOS,), bos_token=BOS)
    if tokenizer_adds_it:
        tokenizer = with_bos(tokenizer, BOS)
    template = split(tokenizer, "Be brief.")
    assert template == Template(
        [tokenizer.bos_token_id] if tokenizer_adds_it else [], [], "Be brief.", chat=False, notes=(NO_TEMPLATE,)
    )


def test_control_tokens_of_the_template_are_parsed_even_where_the_tokenizer_is_set_to_split_them() -> None:
    tokenizer = byte_level(
        (AddedToken("<|start|>", special=True), AddedToken("<|end|>", special=True)), chat_template=CHATML
    )
    tokenizer.split_special_tokens = True
    start = tokenizer.convert_tokens_to_ids("<|start|>")
    template = split(tokenizer)
    assert template.before[0] == start
    assert start in template.after

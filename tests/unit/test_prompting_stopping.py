"""Stop strings: the output ends with the token that completes one, wherever it falls in an accepted block."""

from __future__ import annotations

import pytest

from spsl_cli.decoding.config import DecodeConfig
from spsl_cli.decoding.decoder import SparseSpecDecoder
from spsl_cli.prompting.stopping import StopStrings
from tests.models import byte_tokenizer, random_prompt, tiny_model


def ids(tokenizer, text):
    return tokenizer(text, add_special_tokens=False)["input_ids"]


@pytest.mark.parametrize("text", ["one END two", "ENDEND", "a longer text before the E and then END of it", "née END"])
def test_the_first_token_that_completes_a_string_ends_it(text):
    tokenizer = byte_tokenizer()
    tokens = ids(tokenizer, text)
    stop = StopStrings(tokenizer, ["END", "never"])
    ended = [stop(tokens[: i + 1]) for i in range(len(tokens))]
    first = ended.index(True)
    assert tokenizer.decode(tokens[: first + 1]).endswith("END")
    assert "END" not in tokenizer.decode(tokens[:first])


def test_a_string_of_characters_of_several_tokens():
    tokenizer = byte_tokenizer()
    tokens = ids(tokenizer, "a → b ⇒ c")
    stop = StopStrings(tokenizer, "⇒")
    assert next(i for i in range(len(tokens)) if stop(tokens[: i + 1])) == len(ids(tokenizer, "a → b ⇒")) - 1


def test_far_back_is_not_looked_at_again():
    """The tail is bounded: what lies behind it would have ended the output when it came."""
    tokenizer = byte_tokenizer()
    stop = StopStrings(tokenizer, "END")
    assert not stop(ids(tokenizer, "END" + "x" * 40))


@pytest.mark.parametrize("wrong", [[], [""], ["a", ""], ""])
def test_empty_strings_are_refused(wrong):
    with pytest.raises(ValueError, match="stop string"):
        StopStrings(byte_tokenizer(), wrong)


@pytest.mark.parametrize("k", [1, 4, 8, "auto"])
@pytest.mark.parametrize("budget", [0.1, 1.0])
def test_the_output_is_cut_there(k, budget):
    """Every pair of neighbouring characters of a long output as the stop string, in blocks of every length."""
    tokenizer = byte_tokenizer()
    model, prompt = tiny_model(vocab_size=94, seed=2), random_prompt(60)  # of printable ASCII
    decoder = SparseSpecDecoder(model, DecodeConfig(k=k, budget=budget))
    whole = decoder.decode(prompt, max_new_tokens=24).token_ids
    for position in range(1, 24, 3):
        string = tokenizer.decode(whole[position - 1 : position + 1])
        result = decoder.decode(prompt, max_new_tokens=24, stop_when=StopStrings(tokenizer, string))
        expected = next(i for i in range(24) if string in tokenizer.decode(whole[: i + 1]))
        assert result.token_ids == whole[: expected + 1]
        assert result.finish_reason == "stop"
        assert result.stats.new_tokens == expected + 1 == 1 + result.stats.accepted + result.stats.bonus

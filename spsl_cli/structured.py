"""Answers that are JSON of a given schema: the schema is read and judged, enforced token by token, and checked after.

llguidance turns the schema into a grammar over the bytes of tokens and says which tokens may follow; jsonschema, which
knows nothing of that grammar, looks at the finished answer. A `$ref` leads to places in the schema itself; nothing is
ever fetched. This file does not know how tokens are chosen, nor what is asked.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Collection, Iterator, Sequence
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

from spsl_cli.errors import SpslError, UnsupportedModelError, UsageError

if TYPE_CHECKING:
    import torch
    from jsonschema.exceptions import ValidationError
    from jsonschema.protocols import Validator
    from llguidance import LLMatcher, LLParserLimits
    from transformers import PreTrainedTokenizerFast

    from spsl_cli.decoding.constraint import Constraint

LARGEST = 1_000_000
"""Bytes of a schema file."""

SHOWN = 240
"""Characters of a library's reason that are passed on."""

WHITE_SPACE = r" {1,20}|\n[ \t]{0,20}"
"""Between two parts of the JSON, as much as laid-out JSON needs: without a limit, small models find no end to it."""

NOTHING = "no token can follow"


def load_schema(path: str | Path) -> dict[str, Any]:
    """The JSON Schema in this file, known to be one that can be enforced and checked.

    Raises UsageError, naming the file, for one that cannot be read, is no JSON object, no valid schema, or asks for
    something that the grammar library does not know.
    """
    schema = _parse(Path(path))
    refused = _grammar_error(schema) or _schema_error(schema)
    if refused:
        raise UsageError(f"the schema {path} cannot be used: {refused}", hint="change that part of it")
    return schema


def constraint_for(
    schema: dict[str, Any], tokenizer: PreTrainedTokenizerFast, stop_ids: Collection[int]
) -> Callable[[], Constraint]:
    """What makes constraints for outputs of a model with this tokenizer, which end with one of `stop_ids`.

    Takes about a second for 50,000 tokens. Raises UnsupportedModelError for a tokenizer whose tokens' bytes are not
    known and for a model with no token that ends an answer, UsageError for a schema that nothing satisfies.
    """
    from llguidance import LLMatcher, LLTokenizer  # noqa: PLC0415 only where a schema is given
    from llguidance.hf import from_tokenizer  # noqa: PLC0415

    if not stop_ids:
        raise UnsupportedModelError("the model has no token that ends an answer", hint="leave out --schema")
    try:
        tokens = from_tokenizer(tokenizer, eos_token=sorted(stop_ids), slices=LLTokenizer.json_slices())
    except ValueError as error:
        raise UnsupportedModelError(
            f"--schema does not work with this model's tokenizer: {_short(error)}", hint="choose another model"
        ) from error
    start = LLMatcher(tokens, _grammar(schema), log_level=0, limits=_limits())
    first = SchemaConstraint(start, tokens.vocab_size)
    if not first.allowed((), 1).any():
        raise UsageError(f"nothing satisfies the schema: {first.refusal}", hint="look for a $ref that leads to itself")
    return lambda: SchemaConstraint(start, tokens.vocab_size)


def check(text: str, schema: dict[str, Any]) -> str | None:
    """Why this text is not JSON of the schema, in one line; None if it is."""
    try:
        answer = json.loads(text, parse_float=_finite, parse_constant=_no_number)
    except RecursionError:
        return "it is nested too deeply to be read"
    except ValueError as error:
        return f"it is not JSON: {_short(error)}"
    try:
        return _best_error(_validator(schema), answer)
    except RecursionError:
        return "it is nested too deeply to be checked"


class SchemaConstraint:
    """The schema's grammar behind one output; a `Constraint`. `start`: the grammar at its beginning, left as it is."""

    def __init__(self, start: LLMatcher, vocabulary: int) -> None:
        self._start, self._vocabulary = start, vocabulary
        self._matcher = start.deep_copy()
        self._output: list[int] = []
        self._ahead: list[int] = []  # what the matcher has taken behind the output
        self._masks: dict[tuple[int, ...], torch.Tensor | None] = {}  # behind the output and these tokens
        self.refusal = NOTHING
        """Why nothing may follow, where nothing may."""

    def note(self, token_ids: Sequence[int]) -> None:
        """These tokens are now part of the output. SpslError for one that the grammar does not allow."""
        for i, token in enumerate(token_ids):
            mask = self._mask(tuple(token_ids[:i]))
            if mask is None or token >= self._vocabulary or not mask[token]:
                raise SpslError(
                    f"the answer cannot go on by the schema: {self.refusal}", hint="make the schema simpler"
                )
        self._go(token_ids)
        self._output += token_ids
        self._ahead, self._masks, self.refusal = [], {}, NOTHING

    def allowed(self, tail: Sequence[int], rows: int) -> torch.Tensor:
        """Bool [m, W]; see `Constraint`."""
        import torch  # noqa: PLC0415 schemas are read before torch is wanted

        masks = []
        for length in range(len(tail) - rows + 1, len(tail) + 1):
            mask = self._mask(tuple(tail[:length]))
            if mask is None:
                break
            masks.append(mask)
        return torch.stack(masks) if masks else torch.zeros(0, self._vocabulary, dtype=torch.bool)

    def _mask(self, ahead: tuple[int, ...]) -> torch.Tensor | None:
        """Bool [W] behind the output and `ahead`; None where `ahead` may not stand or a limit is reached."""
        if ahead not in self._masks:
            self._masks[ahead] = self._computed() if self._go(ahead) else None
        return self._masks[ahead]

    def _go(self, ahead: Sequence[int]) -> bool:
        """Bring the matcher behind the output and `ahead`; whether it can stand there."""
        shared = min(len(self._ahead), len(ahead))
        kept = next((i for i in range(shared) if self._ahead[i] != ahead[i]), shared)
        self._matcher.rollback(len(self._ahead) - kept)
        del self._ahead[kept:]
        rest = list(ahead[kept:])
        if any(token >= self._vocabulary for token in rest):
            return False
        taken = self._matcher.try_consume_tokens(rest)
        self._ahead += rest[:taken]
        if self._matcher.is_error():
            self._give_up()
            return False
        return taken == len(rest)

    def _computed(self) -> torch.Tensor | None:
        import numpy as np  # noqa: PLC0415
        import torch  # noqa: PLC0415

        bits = np.frombuffer(self._matcher.compute_bitmask(), dtype=np.uint8)
        if self._matcher.is_error():
            self._give_up()
            return None
        return torch.from_numpy(np.unpackbits(bits, count=self._vocabulary, bitorder="little")).bool()

    def _give_up(self) -> None:
        """Behind an error the matcher is of no more use: begin again behind the output, which it has taken before."""
        self.refusal = _short(self._matcher.get_error())
        self._matcher, self._ahead = self._start.deep_copy(), []
        self._matcher.try_consume_tokens(self._output)


def _parse(path: Path) -> dict[str, Any]:
    """The file's JSON object."""
    hint = "give a file with a JSON Schema"
    try:
        with path.open("rb") as file:
            data = file.read(LARGEST + 1)
    except (OSError, ValueError) as error:  # ValueError: a NUL in the name
        reason = getattr(error, "strerror", None) or error
        raise UsageError(f"the schema {path} cannot be read: {reason}", hint=hint) from error
    if len(data) > LARGEST:
        raise UsageError(f"the schema {path} has more than {LARGEST:,} bytes", hint="give a smaller one")
    try:
        schema = json.loads(data, parse_float=_finite, parse_constant=_no_number)
    except RecursionError as error:
        raise UsageError(f"the schema {path} is nested too deeply", hint="use $defs and $ref") from error
    except ValueError as error:
        raise UsageError(f"the schema {path} is not JSON: {_short(error)}", hint=hint) from error
    if not isinstance(schema, dict):
        raise UsageError(f"the schema {path} is not a JSON object", hint=hint)
    return schema


def _finite(digits: str) -> float:
    number = float(digits)
    if not math.isfinite(number):
        raise ValueError(f"{digits} is too large a number")
    return number


def _no_number(name: str) -> float:
    raise ValueError(f"{name} is no number of JSON")


def _grammar(schema: dict[str, Any]) -> str:
    """The schema's grammar. ValueError for one that is nested too deeply."""
    from llguidance import LLMatcher  # noqa: PLC0415

    return LLMatcher.grammar_from_json_schema(
        json.dumps(schema),
        defaults={"whitespace_pattern": WHITE_SPACE},
        overrides={"lenient": False},  # whatever the schema says: nothing that cannot be enforced is passed over
    )


def _limits() -> LLParserLimits:
    """The library's own, with errors of one line."""
    from llguidance import LLParserLimits  # noqa: PLC0415

    return LLParserLimits(verbose_errors=False)


def _grammar_error(schema: dict[str, Any]) -> str | None:
    """Why llguidance does not take this schema."""
    from llguidance import LLMatcher  # noqa: PLC0415

    try:
        grammar = _grammar(schema)
    except ValueError as error:
        return _short(error)
    failed, messages = LLMatcher.validate_grammar_with_warnings(grammar, None, limits=_limits())
    return _short(messages[0]) if failed else None


def _schema_error(schema: dict[str, Any]) -> str | None:
    """Why jsonschema does not take it: no valid schema, or a pattern that Python does not know."""
    validator = _validator(schema)
    own = type(validator)
    try:
        return _best_error(own(own.META_SCHEMA, format_checker=own.FORMAT_CHECKER), schema)
    except RecursionError:
        return "it is nested too deeply"


def _validator(schema: dict[str, Any]) -> Validator:
    """A validator of the schema's own draft, 2020-12 where it names none, that fetches nothing."""
    from jsonschema import Draft202012Validator  # noqa: PLC0415
    from jsonschema.validators import extend, validator_for  # noqa: PLC0415
    from jsonschema_specifications import REGISTRY  # noqa: PLC0415

    own = validator_for(schema, default=Draft202012Validator)
    draft: type[Validator] = extend(own, {"multipleOf": _multiple_of})  # type: ignore[no-untyped-call]
    return draft(schema, registry=REGISTRY)


def _multiple_of(validator: Validator, step: float, value: Any, _schema: Any) -> Iterator[ValidationError]:
    """By the digits that stand there: 0.3 is a multiple of 0.1, though their floating-point numbers are none."""
    from jsonschema.exceptions import ValidationError  # noqa: PLC0415

    if validator.is_type(value, "number") and Fraction(str(value)) % Fraction(str(step)):
        yield ValidationError(f"{value!r} is not a multiple of {step!r}")


def _best_error(validator: Validator, value: Any) -> str | None:
    """What is wrong with the value, and where in it."""
    from jsonschema.exceptions import best_match  # noqa: PLC0415
    from referencing.exceptions import Unresolvable  # noqa: PLC0415

    try:
        error = best_match(validator.iter_errors(value))
    except Unresolvable as unresolved:
        return f"the schema's reference {unresolved.ref!r} leads out of it"
    return None if error is None else _short(f"{error.json_path}: {error.message}")


def _short(reason: object) -> str:
    """A library's reason in one line."""
    line = " ".join(str(reason).removesuffix("<non-verbose/>").split())
    return line if len(line) <= SHOWN else f"{line[: SHOWN // 2]} ... {line[-SHOWN // 2 :]}"

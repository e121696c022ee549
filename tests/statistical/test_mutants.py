"""Known ways to get speculative sampling wrong, each put in on purpose: the exact test must notice every one."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from spsl_cli.decoding import sampling as sampling_module
from spsl_cli.decoding.chooser import SamplingChooser
from spsl_cli.decoding.config import SamplingConfig
from spsl_cli.decoding.kv_cache import DecoderCache
from spsl_cli.decoding.proposers import SparseSelfDraft
from spsl_cli.decoding.row import Row
from tests.statistical.table import TableTarget, enumerated_distribution, exact_distribution

SAMPLING = SamplingConfig(temperature=1.5, top_p=0.9)
PENALISED = SamplingConfig(temperature=1.5, repetition_penalty=2.0)


def largest_error(sampling=SAMPLING, k=2):
    """Between the loop's exact output distribution and the target's, over all outputs of four tokens."""
    target = TableTarget(3, 0.5, seed=4)
    expected = exact_distribution(target, sampling, 4)
    found = enumerated_distribution(target, sampling, k, 4)
    return max(abs(found.get(tokens, 0.0) - expected.get(tokens, 0.0)) for tokens in {*expected, *found})


pytestmark = pytest.mark.usefixtures("draft_from_the_start")


@pytest.mark.parametrize("sampling", [SAMPLING, PENALISED], ids=["top-p", "penalty"])
def test_no_mutant_no_error(sampling):
    assert largest_error(sampling) < 1e-5


def always_accept(patch):
    patch.setattr(sampling_module, "acceptance", lambda *_: 1.0)


def no_residual(patch):
    patch.setattr(sampling_module, "residual", lambda p, _q: p)


def p_and_q_swapped(patch):
    right = sampling_module.acceptance
    patch.setattr(sampling_module, "acceptance", lambda p, q, token: right(q, p, token))


def residual_swapped(patch):
    right = sampling_module.residual
    patch.setattr(sampling_module, "residual", lambda p, q: right(q, p))


def bonus_from_the_row_before(patch):
    def verify(self, drafts, logits):
        return right(self, drafts, torch.cat((logits[:-1], logits[-2:-1])) if len(drafts) else logits)

    right = SamplingChooser.verify
    patch.setattr(SamplingChooser, "verify", verify)


def stale_cache(patch):
    """The verify's rows do not overwrite those of the draft before: its logits are those of an older token."""

    def dense_forward(self, cache, token_ids, sequences, **options):
        stale = token_ids.clone()
        if token_ids.shape[1] > 1 and len(self.written) > cache.lengths[0]:
            stale[0, 0] = self.written[cache.lengths[0]]
        return right(self, cache, stale, sequences, **options)

    right = TableTarget.dense_forward
    patch.setattr(TableTarget, "dense_forward", dense_forward)


def wrong_temperature_in_the_draft(patch):
    def choose(self, logits, tail=()):
        drafted = right(self, logits / 0.5, tail)
        honest = self._distributions(logits[None], tail)[0]
        return replace(drafted, distribution=honest)

    right = SamplingChooser.choose
    patch.setattr(SamplingChooser, "choose", choose)


def unfiltered_q(patch):
    """The draft is drawn from the filtered distribution, but q is told without the filter."""

    def choose(self, logits, tail=()):
        drafted = right(self, logits, tail)
        return replace(drafted, distribution=(logits / 1.5).softmax(-1))

    right = SamplingChooser.choose
    patch.setattr(SamplingChooser, "choose", choose)


def drop_after_drawing(patch):
    """A drawn token is looked at and dropped from the draft if it is unlikely."""

    def propose(self, *arguments):
        (draft,), forwards = right(self, *arguments)
        unlikely = draft and float(draft[-1].choice.distribution[draft[-1].token]) < 0.6
        return [draft[:-1] if unlikely else draft], forwards

    right = SparseSelfDraft.propose
    patch.setattr(SparseSelfDraft, "propose", propose)


def accept_only_the_likeliest(patch):
    patch.setattr(sampling_module, "acceptance", lambda p, _q, token: float(token == int(p.argmax())))


def q_of_the_draft_before(patch):
    def propose(self, *arguments):
        (draft,), forwards = right(self, *arguments)
        before = [draft[0], *draft[:-1]] if draft else []
        wrong = []
        for own, other in zip(draft, before, strict=True):
            choice = replace(own.choice, distribution=other.choice.distribution)
            wrong.append(replace(own, choice=choice))
        return [wrong], forwards

    right = SparseSelfDraft.propose
    patch.setattr(SparseSelfDraft, "propose", propose)


def one_row_too_many_is_committed(patch):
    """The row of the first rejected draft stays where the token that came in its place belongs."""

    def commit(self, sequence, count, *rest, **options):
        right(self, sequence, count + (count == 1), *rest, **options)

    right = DecoderCache.commit
    patch.setattr(DecoderCache, "commit", commit)


def one_row_too_few_is_committed(patch):
    def commit(self, sequence, count, *rest, **options):
        right(self, sequence, max(count - 1, 1), *rest, **options)

    right = DecoderCache.commit
    patch.setattr(DecoderCache, "commit", commit)


def accepted_tokens_are_said_twice(patch):
    """The bonus token's place is taken by the last accepted one."""

    def verify(self, drafts, logits):
        accepted, bonus = right(self, drafts, logits)
        return accepted, drafts[accepted - 1].token if accepted else bonus

    right = SamplingChooser.verify
    patch.setattr(SamplingChooser, "verify", verify)


MUTANTS = [
    always_accept, no_residual, p_and_q_swapped, residual_swapped, bonus_from_the_row_before, stale_cache,
    wrong_temperature_in_the_draft, unfiltered_q, drop_after_drawing, accept_only_the_likeliest, q_of_the_draft_before,
    one_row_too_many_is_committed, one_row_too_few_is_committed, accepted_tokens_are_said_twice,
]  # fmt: skip


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.__name__)
def test_every_mutant_is_noticed(mutant, monkeypatch):
    mutant(monkeypatch)
    assert largest_error() > 1e-3


def penalty_blind_to_the_drafts(patch):
    """Every row of a verification is penalised for the committed tokens alone."""

    def distributions(self, logits, _tail):
        return right(self, logits, ())

    right = SamplingChooser._distributions
    patch.setattr(SamplingChooser, "_distributions", distributions)


def penalty_for_all_the_drafts(patch):
    """Every row is penalised for the whole draft, that behind it too."""

    def distributions(self, logits, tail):
        return torch.cat([right(self, row[None], tail) for row in logits])

    right = SamplingChooser._distributions
    patch.setattr(SamplingChooser, "_distributions", distributions)


def penalty_forgets_the_bonus(patch):
    """The token behind the accepted ones is never noted as part of the sequence."""

    def take(self, token_ids):
        taken = self.output.take(token_ids)
        self.chooser.note(self.output.token_ids[-taken:-1])
        return taken

    patch.setattr(Row, "take", take)


@pytest.mark.parametrize(
    "mutant",
    [penalty_blind_to_the_drafts, penalty_for_all_the_drafts, penalty_forgets_the_bonus],
    ids=lambda mutant: mutant.__name__,
)
def test_every_mutant_of_the_repetition_penalty_is_noticed(mutant, monkeypatch):
    mutant(monkeypatch)
    assert largest_error(PENALISED) > 1e-3

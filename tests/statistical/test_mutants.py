"""Known ways to get speculative sampling wrong, each put in on purpose: the exact test must notice every one."""

from __future__ import annotations

import pytest
import torch

from spsl_cli.decoding import engine
from spsl_cli.decoding import sampling as sampling_module
from spsl_cli.decoding.chooser import Choice, SamplingChooser
from spsl_cli.decoding.config import SamplingConfig
from spsl_cli.decoding.proposers import SparseSelfDraft
from tests.statistical.table import TableTarget, enumerated_distribution, exact_distribution

SAMPLING = SamplingConfig(temperature=1.5, top_p=0.9)


def largest_error(k=2):
    """Between the loop's exact output distribution and the target's, over all outputs of four tokens."""
    target = TableTarget(3, 0.5, seed=4)
    expected = exact_distribution(target, SAMPLING, 4)
    found = enumerated_distribution(target, SAMPLING, k, 4)
    return max(abs(found.get(tokens, 0.0) - expected.get(tokens, 0.0)) for tokens in {*expected, *found})


@pytest.fixture(autouse=True)
def _draft_from_the_start(monkeypatch):
    monkeypatch.setattr(engine, "PLAIN_STEPS", 0)


def test_no_mutant_no_error():
    assert largest_error() < 1e-5


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
        return Choice(drafted.token, drafted.entropy, honest)

    right = SamplingChooser.choose
    patch.setattr(SamplingChooser, "choose", choose)


def unfiltered_q(patch):
    """The draft is drawn from the filtered distribution, but q is told without the filter."""

    def choose(self, logits, tail=()):
        drafted = right(self, logits, tail)
        return Choice(drafted.token, drafted.entropy, (logits / 1.5).softmax(-1))

    right = SamplingChooser.choose
    patch.setattr(SamplingChooser, "choose", choose)


def drop_after_drawing(patch):
    """A drawn token is looked at and dropped from the draft if it is unlikely."""

    def propose(self, *arguments):
        (draft,) = right(self, *arguments)
        return [draft[:-1] if draft and float(draft[-1].distribution[draft[-1].token]) < 0.6 else draft]

    right = SparseSelfDraft.propose
    patch.setattr(SparseSelfDraft, "propose", propose)


MUTANTS = [
    always_accept, no_residual, p_and_q_swapped, residual_swapped, bonus_from_the_row_before, stale_cache,
    wrong_temperature_in_the_draft, unfiltered_q, drop_after_drawing,
]  # fmt: skip


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.__name__)
def test_every_mutant_is_noticed(mutant, monkeypatch):
    mutant(monkeypatch)
    assert largest_error() > 1e-3

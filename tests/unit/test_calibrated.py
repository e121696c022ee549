"""The calibrated controller against worlds whose costs and chances are known."""

from __future__ import annotations

import random

import pytest

from spsl_cli.decoding.config import K_MAX
from spsl_cli.decoding.controllers import Evidence, Plan, Source
from spsl_cli.decoding.controllers.acceptance import OnlineLogistic, lookup_features, sigmoid
from spsl_cli.decoding.controllers.calibrated import ALLOWED_LOSS, PROBING, CalibratedController
from spsl_cli.decoding.costs import PresumedCosts, StepCosts


class World:
    """Rounds of one row that cost and succeed as told; the clock is in plain steps."""

    def __init__(self, controller_costs, true_costs, chance, match=0, lookup_chance=0.0, seed=0):
        self.costs = StepCosts(controller_costs)
        self.costs.observe_plain(1.0)
        self.controller = CalibratedController(self.costs)
        self.true, self.chance, self.match, self.lookup_chance = true_costs, chance, match, lookup_chance
        self.rng = random.Random(seed)
        self.before, self.entry = Source.PLAIN, 1.0  # the first of several refreshes costs so much more
        self.tokens, self.seconds, self.sources = 0, 0.0, dict.fromkeys(Source, 0)

    def round(self):
        controller, true = self.controller, self.true
        plan = controller.plan([self.match], [100])
        self.sources[plan.source] += 1
        draft, chance = [], self.chance
        if plan.source is Source.LOOKUP:
            draft, chance = [Evidence(0.0, match=self.match)] * plan.length, self.lookup_chance
        elif plan.source is Source.SPARSE:
            while controller.wants_more([draft]):
                draft.append(Evidence(entropy=0.3, margin=3.0, coverage=0.95))
        accepted = next((i for i in range(len(draft)) if self.rng.random() > chance), len(draft))
        verify = 1.0 + true.row * len(draft)
        seconds = verify
        if plan.source is Source.SPARSE:
            first = self.before is not Source.SPARSE
            refresh = true.refresh * (1 + self.entry if first else 1)
            seconds += refresh + true.draft * len(draft)
            self.costs.observe_draft(len(draft), true.draft * len(draft))
            self.costs.observe_refresh(refresh, first=first)
        self.before = plan.source
        if draft:
            self.costs.observe_verify(len(draft), verify)
            controller.observe(plan.source, draft, accepted)
        else:
            self.costs.observe_plain(1.0)
        controller.account(plan, 1, accepted + 1, seconds)
        self.tokens += accepted + 1
        self.seconds += seconds
        return len(draft)

    def run(self, tokens):
        lengths = []
        while self.tokens < tokens:
            lengths.append(self.round())
        return lengths

    @property
    def speedup(self):
        return self.tokens / self.seconds


CHEAP = PresumedCosts(draft=0.2, refresh=0.1, row=0.02)
DEAR = PresumedCosts(draft=0.9, refresh=0.3, row=0.1)


def best_fixed(costs, chance):
    """Of the expected speedups of every fixed k, and of none."""
    rates = [1.0]
    for k in range(1, K_MAX + 1):
        tokens = sum(chance**i for i in range(k + 1))
        rates.append(tokens / (1.0 + costs.row * k + costs.refresh + costs.draft * k))
    return max(rates)


@pytest.mark.parametrize("chance", [0.0, 0.5, 0.8, 0.95])
@pytest.mark.parametrize("true", [CHEAP, DEAR], ids=["cheap", "dear"])
@pytest.mark.parametrize("believed", [CHEAP, DEAR], ids=["believed cheap", "believed dear"])
@pytest.mark.parametrize("match", [0, 3, 20])
def test_never_slower_whatever_is_believed(chance, true, believed, match):
    """Also where drafts are never right, and costs are not what was presumed."""
    for seed in range(3):
        world = World(believed, true, chance, match, lookup_chance=chance, seed=seed)
        world.run(400)
        assert world.seconds <= world.tokens * (1 + ALLOWED_LOSS + PROBING) + 4  # a step, and one that was misjudged


@pytest.mark.parametrize("match", [0, 4, 20])
def test_a_first_draft_that_fails_costs_one_step_at_most(match):
    """However sure the controller is of it, and however long it could be."""
    for seed in range(5):
        world = World(CHEAP, CHEAP, 0.0, match, lookup_chance=0.0, seed=seed)
        world.controller.sparse.weights[0] += 5.0
        world.run(64)
        assert world.seconds <= 64 + 1 + 64 * (ALLOWED_LOSS + PROBING)


def test_drafts_grow_as_they_win():
    world = World(DEAR, DEAR, 1.0, 30, lookup_chance=1.0)
    lengths = world.run(200)
    assert lengths[0] < K_MAX
    assert lengths[-1] == K_MAX


@pytest.mark.parametrize("chance", [0.6, 0.8, 0.95])
def test_close_to_the_best_fixed_length(chance):
    world = World(CHEAP, CHEAP, chance)
    world.run(4000)
    assert world.speedup > 0.95 * best_fixed(CHEAP, chance)


def test_better_chances_make_longer_drafts():
    means = []
    for chance in (0.5, 0.8, 0.97):
        lengths = World(CHEAP, CHEAP, chance).run(1500)[50:]
        means.append(sum(lengths) / len(lengths))
    assert means == sorted(means)
    assert means[0] < 4 < means[2]


def test_what_cannot_win_is_not_tried():
    world = World(DEAR, DEAR, 1.0)
    world.run(500)
    assert world.sources[Source.SPARSE] == 0
    assert not world.controller.may_draft


def test_what_might_win_is_tried_within_bounds():
    """The prior is against it, and wrong: after some trials it drafts."""
    world = World(CHEAP, CHEAP, 0.97)
    world.controller.sparse.weights[0] -= 6.0
    assert world.controller.plan([0], [100]).source is Source.PLAIN
    world.run(3000)
    assert world.sources[Source.SPARSE] > 100
    assert world.speedup > 1.3


def test_long_matches_are_looked_up_and_bad_ones_given_up():
    good, bad = World(DEAR, DEAR, 0.5, 20, lookup_chance=0.98), World(DEAR, DEAR, 0.5, 20, lookup_chance=0.05)
    good.run(400)
    bad.run(400)
    assert good.sources[Source.LOOKUP] > good.sources[Source.PLAIN]
    assert good.speedup > 2
    assert bad.sources[Source.LOOKUP] < 0.1 * bad.sources[Source.PLAIN]


def test_no_more_is_looked_up_than_there_is_room_for():
    controller = World(DEAR, DEAR, 0.5).controller
    assert controller.plan([30, 0], [3, 0]) == Plan(Source.LOOKUP, 3)


def test_guesses_pay_for_their_rows():
    cheap = World(PresumedCosts(draft=0.5, refresh=0.1, row=0.01), CHEAP, 0.5).controller
    dear = World(PresumedCosts(draft=0.1, refresh=0.1, row=0.09), CHEAP, 0.5).controller
    assert cheap.guesses(6, 10) > dear.guesses(6, 10)
    assert cheap.guesses(6, 2) == 2
    assert cheap.guesses(30, 10) >= cheap.guesses(2, 10)


def test_the_regression_learns_what_is_so():
    """Outcomes by a known law, in random order: the chances come out within a few hundredths."""
    rng = random.Random(2)
    truth = (0.5, -1.2, 0.8)
    model = OnlineLogistic((0.0, 0.0, 0.0), (2.0, 1.0, 1.0))
    model.forgetting = 0.0
    xs = [(1.0, rng.gauss(0, 1), rng.gauss(0, 1)) for _ in range(4000)]
    for x in xs:
        model.observe(x, rng.random() < sigmoid(sum(w * v for w, v in zip(truth, x, strict=True))))
    errors = [abs(model.probability(x) - sigmoid(sum(w * v for w, v in zip(truth, x, strict=True)))) for x in xs[:500]]
    assert sum(errors) / len(errors) < 0.03


def test_longer_matches_are_trusted_more():
    controller = World(CHEAP, CHEAP, 0.5).controller
    chances = [controller.looked_up.probability(lookup_features(match, 0)) for match in (2, 4, 8, 16, 32)]
    assert chances == sorted(chances)
    assert chances[0] < 0.5 < chances[-1]


def test_sigmoid_takes_any_score():
    assert [sigmoid(score) for score in (-1e6, 0.0, 1e6)] == [0.0, 0.5, 1.0]


def test_the_first_sparse_draft_is_one_token_long():
    """Until its cost is known; where none will be measured, what is presumed holds."""
    world = World(CHEAP, DEAR, 0.95)
    lengths = [world.round() for _ in range(30)]
    assert next(length for length in lengths if length) == 1
    settled = CalibratedController(StepCosts(CHEAP, settled=True))
    assert settled.plan([0], [100]).source is Source.SPARSE
    settled.spent = 100.0  # a longer draft than that may lose more than is allowed at the start
    assert settled.wants_more([[Evidence(0.1, 8.0)] * 3])


def test_a_first_refresh_is_not_taken_for_the_others():
    costs = StepCosts(PresumedCosts(refresh=0.25))
    costs.observe_plain(2.0)
    assert (costs.refresh_s, costs.entry_s) == (0.5, 0.5)
    costs.observe_refresh(3.0, first=True)
    assert (costs.refresh_s, costs.entry_s) == (0.5, 2.5)
    costs.observe_refresh(1.0)
    assert (costs.refresh_s, costs.entry_s) == (1.0, 2.0)
    assert costs.total_s(0, 1) == pytest.approx(2.0 + 1.0 + costs.draft_s)


@pytest.mark.parametrize(("entry", "sparse"), [(0.0, True), (50.0, False)])
def test_drafting_does_not_begin_where_its_first_refresh_could_lose_too_much(entry, sparse):
    world = World(CHEAP, CHEAP, chance=1.0)
    world.costs.observe_refresh(CHEAP.refresh * (1 + entry), first=True)
    world.entry = entry
    world.run(60)
    assert (world.sources[Source.SPARSE] > 0) is sparse


def test_presumed_costs_of_what_is_not_reading():
    """A layer takes its time whatever it reads, in a draft step too."""
    bare, layered = (PresumedCosts.by_bytes(10**8, 10**9, 0.1, "cpu", layers=layers) for layers in (0, 30))
    assert bare.draft == pytest.approx(2 / 11)
    assert 0.24 < layered.draft < 0.26
    assert 0.9 < layered.row / bare.row < 0.95
    assert 0.9 < layered.refresh / bare.refresh < 0.95


def test_presumed_costs_of_a_row():
    """Few bits are read sooner, but a row of them is as much arithmetic; and each sequence of a batch has its row."""
    dense = PresumedCosts.by_bytes(1000, 200, 0.1, "cpu")
    few = PresumedCosts.by_bytes(200, 200, 0.1, "cpu", arithmetic=1000)
    batch = PresumedCosts.by_bytes(1000, 200, 0.1, "cpu", sequences=3)
    assert few.row == pytest.approx(3 * dense.row)
    assert few.draft < dense.draft
    assert batch.row > dense.row
    assert (batch.draft, batch.refresh) == (dense.draft, dense.refresh)


def test_a_sure_token_does_not_make_all_drafts_sure():
    """One that no other could be drawn for, as under a grammar or top-k 1, leads by infinitely many nats."""
    controller = CalibratedController(StepCosts())
    controller.observe(Source.SPARSE, [Evidence(0.0, margin=float("inf"), coverage=0.9)], 1)
    for _ in range(60):
        controller.observe(Source.SPARSE, [Evidence(0.3, margin=0.5, coverage=0.9)], 1)
    assert controller.typical.margin < 1.0

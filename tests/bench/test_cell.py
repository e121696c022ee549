"""One cell: what is told of a system, what is refused, in which order they decode, and what an interruption leaves."""

from __future__ import annotations

import gc
import weakref
from itertools import pairwise
from statistics import median

import pytest
import torch

from spsl_cli.bench.cell import Cell, measure_cell
from spsl_cli.bench.cells import measure_cells
from spsl_cli.bench.journal import Journal
from spsl_cli.bench.records import CellRecord, Interval
from spsl_cli.bench.systems.base import Decoded, Round, UnavailableError
from spsl_cli.bench.systems.catalogue import make_system, system_config
from spsl_cli.bench.systems.engine import EngineSystem
from spsl_cli.bench.systems.faults import Faults
from spsl_cli.bench.traces import Difference, Trace, first_differences
from spsl_cli.bench.turns import BETWEEN, Neighbours, schedule
from spsl_cli.bench.verdicts import NEAR_TIE, by_position, may_be_compared, records_of
from tests.bench.runs import MadePrompts, prefilled, repetitive_prompt, sample
from tests.models import tiny_model

NEW = 16


def cell(systems, *, samples=1, batch=1, repeats=1, name="cell", answers=()):
    made = tuple(sample(number, answers) for number in range(samples))
    return Cell(name, {"context": 150}, made, tuple(systems), NEW, repeats, batch)


def silent(*_):
    """Nobody watches."""


def with_faults(faults):
    """The catalogue, in which `slow` and `wrong` are `fixed-k3` with these faults."""

    def make(name, run, config):
        if name in ("slow", "wrong"):
            return EngineSystem(name, run, system_config("fixed-k3", config), faults)
        return make_system(name, run, config)

    return make


# ---- the record -------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def record():
    """Two batches of two rows."""
    told = []
    plan = cell(("ar", "hf-eager", "fixed-k3", "medusa"), samples=4, batch=2, repeats=2)
    found = measure_cell(plan, MadePrompts(), lambda *call: told.append(call))
    return found, told


def test_a_record_tells_sizes_and_settings(record):
    found, _ = record
    assert (found.name, found.settings, found.batch, found.repeats) == ("cell", {"context": 150}, 2, 2)
    assert found.prompt_tokens == (150 + 143 + 136 + 129) / 2
    assert found.new_tokens == 2 * NEW
    assert found.prefill_s > 0


def test_every_system_has_a_rate_for_every_counted_repeat_and_a_speedup_over_both_baselines(record):
    found, _ = record
    plain, eager, ours = (found.system(name) for name in ("ar", "hf-eager", "fixed-k3"))
    for system in (plain, eager, ours):
        assert len(system.rates) == len(system.ratios) == (6 if system is plain else 4)
        assert system.tokens_per_s == Interval(
            min(system.rates), pytest.approx(median(system.rates)), max(system.rates)
        )
        assert system.identical
        assert system.first_difference is None
    assert plain.speedup is None
    assert plain.speedup_eager is not None
    assert eager.speedup_eager is None
    assert min(ours.ratios) <= ours.speedup.low <= ours.speedup.median <= ours.speedup.high <= max(ours.ratios)
    assert ours.speedup.median == pytest.approx(median(ours.ratios))
    over_eager = [a / b for a, b in zip(ours.ratios, eager.ratios, strict=True)]
    assert ours.speedup_eager.median == pytest.approx(median(over_eager))
    assert plain.speedup_eager.median == pytest.approx(median(1 / ratio for ratio in eager.ratios))


def test_only_a_system_that_drafts_has_an_acceptance_and_only_ours_have_phases(record):
    found, _ = record
    plain, eager, ours = (found.system(name) for name in ("ar", "hf-eager", "fixed-k3"))
    assert (plain.acceptance, plain.accepted_length, plain.by_position) == (None, None, ())
    assert (eager.acceptance, eager.phases, eager.speculation) == (None, {}, None)
    assert 0 < ours.acceptance < 1
    assert 0 < ours.accepted_length < 3
    assert len(ours.by_position) == 3
    assert all(later <= earlier for earlier, later in pairwise(ours.by_position))
    assert {"draft", "verify", "refresh", "controller", "other"} == set(ours.phases)
    assert ours.speculation["k_histogram"]
    drafts = ours.speculation["drafts"]
    assert sum(draft["accepted"] for draft in drafts) <= ours.speculation["accepted"]
    assert {len(draft["entropies"]) for draft in drafts} <= {1, 2, 3}


def test_what_does_not_run_is_listed_with_the_reason(record):
    found, _ = record
    missing = found.system("medusa")
    assert "trained" in missing.unavailable
    assert (missing.rates, missing.tokens_per_s, missing.speedup, missing.identical) == ((), None, None, None)


def test_progress_counts_every_decoding(record):
    _, told = record
    assert [done for _, done, _ in told] == list(range(len(told)))
    assert len(told) == 2 * (3 * 3 + 1)  # batches, repeats and the uncounted one, systems that run, and `ar` at last
    assert {total for _, _, total in told} == {2 * (3 * 4 + 1)}


def test_quality_is_the_mean_score_of_the_text():
    prompts = MadePrompts()
    run = prompts.prefilled([sample(0)], NEW)
    (right,) = prompts.answers(EngineSystem("ar", run, system_config("ar", run.config)).decode(NEW).token_ids)
    found = measure_cell(cell(("ar", "fixed"), samples=2, answers=(right,)), MadePrompts(), silent)
    assert [system.quality for system in found.systems] == [0.5, 0.5]
    assert measure_cell(cell(("ar",)), MadePrompts(), silent).systems[0].quality is None


def test_without_a_plain_decoding_nothing_is_claimed():
    (found,) = measure_cell(cell(("fixed",)), MadePrompts(), silent).systems
    assert (found.identical, found.speedup, found.speedup_eager) == (None, None, None)
    assert found.tokens_per_s.median > 0


def test_the_memory_of_a_batch_is_free_before_the_next_is_prefilled():
    class Watched(MadePrompts):
        def prefilled(self, samples, new_tokens):
            gc.collect()
            alive.append(sum(earlier() is not None for earlier in earlier_runs))
            run = super().prefilled(samples, new_tokens)
            earlier_runs.append(weakref.ref(self.runs.pop()))
            return run

    alive, earlier_runs = [], []
    measure_cell(cell(("ar", "hf-sdpa", "fixed"), samples=3), Watched(), silent)
    assert alive == [0, 0, 0]


def test_samples_make_whole_batches():
    with pytest.raises(ValueError, match="3 samples do not make whole batches of 2"):
        cell(("ar",), samples=3, batch=2)


# ---- faults are noticed -----------------------------------------------------------------------------------------


def test_a_slowed_draft_shows_as_slower():
    """By a tenth of a second a forward, which is more than a whole decoding takes without."""
    plan = cell(("ar", "fixed-k3", "slow"), repeats=2)
    found = measure_cell(plan, MadePrompts(), silent, with_faults(Faults(slowed=0.1)))
    usual, slow = found.system("fixed-k3"), found.system("slow")
    assert slow.identical
    assert slow.tokens_per_s.median < usual.tokens_per_s.median
    assert slow.speedup.median < min(1.0, usual.speedup.median)
    assert slow.phases["draft"] > 0.1 * len(slow.speculation["drafts"]) > usual.phases["draft"]


def test_a_wrong_acceptance_is_refused_a_speedup():
    found = measure_cell(
        cell(("ar", "hf-eager", "wrong")), MadePrompts(), silent, with_faults(Faults(accepts_wrongly=True))
    )
    wrong = found.system("wrong")
    assert wrong.identical is False
    assert wrong.first_difference > 0
    assert wrong.top2_margin > 0
    assert (wrong.speedup, wrong.speedup_eager) == (None, None)
    assert len(wrong.rates) == 1  # what it did is told, but not as a gain


def test_where_the_plain_decoding_is_the_odd_one_out_nobody_is_faster():
    """A fault in a baseline forbids the speedups over it."""

    def make(name, run, config):
        if name == "hf-eager":
            return EngineSystem(name, run, system_config("fixed-k3", config), Faults(accepts_wrongly=True))
        return make_system(name, run, config)

    found = measure_cell(cell(("ar", "hf-eager", "fixed")), MadePrompts(), silent, make)
    assert found.system("fixed").speedup is not None
    assert found.system("fixed").speedup_eager is None


def test_a_system_that_gives_up_while_decoding_leaves_the_others_alone():
    class GivesUp:
        name = "gives-up"

        def decode(self, new_tokens):
            raise self.error

    class NoMemory(GivesUp):
        error = torch.OutOfMemoryError("no room")

    class NoCache(GivesUp):
        error = UnavailableError("no such cache")

    made = {"memory": NoMemory(), "cache": NoCache()}
    plan = cell(("memory", "ar", "cache", "fixed"))
    found = measure_cell(
        plan, MadePrompts(), silent, lambda name, run, config: made.get(name) or make_system(name, run, config)
    )
    assert "do not fit into the memory of cpu" in found.system("memory").unavailable
    assert found.system("cache").unavailable == "no such cache"
    assert found.system("fixed").identical


def decoding(*rows):
    return Decoded([list(row) for row in rows], 1.0)


def test_differences_are_found_row_by_row_with_the_margin_of_the_first():
    run = prefilled(repetitive_prompt(120), repetitive_prompt(90, 1), new_tokens=6)
    run.rewind()
    for _ in run.decode(speculation=False):
        pass
    plain = decoding(*(output.token_ids for output in run.outputs))
    first, second = plain.token_ids
    other = [*first[:3], first[3] + 1, *first[4:]]
    found = first_differences([plain, decoding(other, second), decoding(first, second[:2]), plain], plain, run)
    run.rewind()
    assert found == [Difference(3, run.margins(3)[2]), Difference(2, None)]


@pytest.mark.parametrize(
    ("margins", "sixteen_bit", "expected"),
    [
        ([], False, True),
        ([], True, True),
        ([1e-5], False, False),  # in float32 not even a rounding tie is waved through
        ([NEAR_TIE], True, True),
        ([NEAR_TIE, 2 * NEAR_TIE], True, False),
        ([None], True, False),
    ],
)
def test_only_near_ties_of_16_bit_may_differ(margins, sixteen_bit, expected):
    trace = Trace("x", differences=[Difference(4, margin) for margin in margins])
    assert may_be_compared(trace, sixteen_bit=sixteen_bit) is expected


def test_in_16_bit_a_difference_is_told_with_its_margin_beside_the_speedup():
    plain, ours = (
        Trace(name, [10.0, 10.0, 10.0], [10.0, 10.0, 10.0], typical=[decoding([1, 2])]) for name in ("ar", "auto")
    )
    ours.rates = [20.0, 21.0, 22.0]
    ours.differences = [Difference(7, 0.25), Difference(3, 0.125)]
    _, found = records_of({"ar": plain, "auto": ours}, sixteen_bit=True)
    assert (found.identical, found.first_difference, found.top2_margin) == (False, 3, 0.125)
    assert found.speedup.median == pytest.approx(2.1)
    assert not found.noisy
    ours.rates = [9.0, 10.0, 12.0]
    assert records_of({"ar": plain, "auto": ours}, sixteen_bit=True)[1].noisy


def test_a_bfloat16_model_is_one_of_16_bit():
    found = measure_cell(
        cell(("ar", "wrong")), MadePrompts(tiny_model(dtype=torch.bfloat16)), silent, with_faults(Faults())
    )
    assert found.system("wrong").speedup is not None or found.system("wrong").top2_margin > NEAR_TIE


def test_acceptance_by_position_counts_those_that_were_drafted_there():
    rounds = [Round(3, 3), Round(3, 1), Round(1, 1), Round(2, 0)]
    assert by_position(rounds) == (3 / 4, 1 / 3, 1 / 2)
    assert by_position([]) == ()


# ---- order and interruption -------------------------------------------------------------------------------------


def test_the_order_is_rotated_and_every_system_decodes_once_a_repeat():
    turns = list(schedule(["a", "b", "c"], 3))
    order = ["".join(name for name, repeat in turns if repeat == number) for number in range(4)]
    assert order == ["abc", "bca", "cab", "abc"]
    assert list(schedule([], 3)) == []
    assert list(schedule(["ar"], 2)) == [("ar", 0), ("ar", 1), ("ar", 2), ("ar", 2)]


def test_the_plain_loop_decodes_between_any_few_others_and_at_last_once_more():
    others = [str(number) for number in range(2 * BETWEEN + 1)]
    turns = list(schedule([others[0], "ar", *others[1:]], 2))
    for repeat in range(3):
        assert sorted(name for name, place in turns if place == repeat and name != "ar") == others
    counted = [name for name, repeat in turns if repeat > 0]
    assert counted[0] == counted[-1] == turns[0][0] == "ar"
    gaps = "".join("|" if name == "ar" else "." for name in counted).strip("|").split("|")
    assert max(map(len, gaps)) == BETWEEN
    assert sum(name == "ar" for name, repeat in turns if repeat == 0) == 1


def test_a_ratio_is_taken_to_the_turns_of_the_plain_loop_around():
    """A machine that becomes slower all the time: each is as fast as plain decoding, and is told to be so."""
    plain, ours, other = Trace("ar"), Trace("auto"), Trace("lookup")
    neighbours = Neighbours(plain)
    order = [(plain, False), (ours, False), (plain, True), (ours, True), (other, True), (plain, True), (ours, True),
             (plain, True)]  # fmt: skip
    for step, (trace, counted) in enumerate(order):
        rate = 20.0 - step
        if counted:
            trace.rates.append(rate)
        neighbours.decoded(trace, rate, counted=counted)
    neighbours.end()
    assert ours.beside == [(18.0 + 15.0) / 2, (15.0 + 13.0) / 2]
    assert other.beside == [(18.0 + 15.0) / 2]
    assert plain.beside == [(20.0 + 15.0) / 2, (18.0 + 13.0) / 2, 15.0]


def test_a_machine_that_slows_down_makes_no_speedup():
    plain, ours = Trace("ar"), Trace("auto")
    neighbours, rate = Neighbours(plain), 40.0
    for name, repeat in schedule(["ar", "auto"], 9):
        trace, rate = (plain if name == "ar" else ours), rate * 0.9
        trace.note(Decoded([[1, 2]], 1 / rate), None, counted=repeat > 0)
        neighbours.decoded(trace, rate, counted=repeat > 0)
    neighbours.end()
    _, record = records_of({"ar": plain, "auto": ours}, sixteen_bit=False)
    assert record.speedup.median == pytest.approx(1.0, abs=0.01)


def test_ctrl_c_keeps_the_cells_that_are_done_and_the_next_run_goes_on_there(tmp_path):
    plans = [cell(("ar",), name=name) for name in ("first", "second", "third")]
    journal = Journal({"suite": "made"}, tmp_path)
    measured = []

    def measure(plan):
        measured.append(plan.name)
        if measured == ["first", "second"]:
            raise KeyboardInterrupt
        return measure_cell(plan, MadePrompts(), silent)

    stopped = measure_cells(plans, measure, journal)
    assert [record.name for record in stopped.cells] == ["first"]
    assert not stopped.complete
    again = measure_cells(plans, measure, Journal({"suite": "made"}, tmp_path))
    assert measured == ["first", "second", "second", "third"]
    assert [record.name for record in again.cells] == ["first", "second", "third"]
    assert again.cells[0] == stopped.cells[0]
    assert (again.complete, again.resumed) == (True, 1)
    assert list(tmp_path.iterdir()) == []


def test_an_interrupted_cell_leaves_the_model_as_it_was():
    model, turns = tiny_model(), []

    def interrupt(name, done, _):
        turns.append(name)
        if done == 4:
            raise KeyboardInterrupt

    before = model.config._attn_implementation
    with pytest.raises(KeyboardInterrupt):
        measure_cell(cell(("ar", "hf-eager", "fixed"), repeats=2), MadePrompts(model), interrupt)
    assert turns == ["ar", "hf-eager", "fixed", "ar", "fixed"]
    assert model.config._attn_implementation == before
    found = measure_cell(cell(("ar", "hf-eager", "fixed")), MadePrompts(model), silent)
    assert isinstance(found, CellRecord)
    assert all(system.identical for system in found.systems)


def test_times_and_counts_are_those_of_the_median_repeat():
    trace = Trace("x")
    for number, seconds in enumerate((9.0, 1.0, 4.0, 2.0)):
        trace.note(Decoded([[1, 2, 3]], seconds, phases={"draft": seconds}), None, counted=number > 0)
    trace.end_batch()
    trace.note(Decoded([[1, 2, 3]], 5.0, phases={"draft": 5.0}), None, counted=False)
    trace.end_batch()  # none was counted: the one there is
    (record,) = records_of({"x": trace}, sixteen_bit=False)
    assert record.phases == {"draft": 7.0}
    assert record.tokens_per_s.median == 1.0

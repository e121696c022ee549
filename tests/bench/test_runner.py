"""The quick measurement: what its table says of a speedup that may be none."""

from __future__ import annotations

import pytest

from spsl_cli.bench.runner import BenchResult, _result, bench_rows
from spsl_cli.bench.statistics import spread


@pytest.mark.parametrize(
    ("ours", "plain", "noisy"),
    [
        ([12.0, 12.1, 12.2], [10.0, 10.1, 10.0], False),
        ([12.0, 9.0, 12.2], [10.0, 10.1, 10.0], True),  # on both sides of 1
        ([10.6, 12.7, 14.8], [10.0, 12.0, 14.0], True),  # the baseline varies by more than that
        ([20.0], [10.0], True),  # one repeat says nothing of the noise
    ],
)
def test_a_speedup_that_may_be_none_is_marked(ours, plain, noisy):
    rates, tokens = {"auto": ours, "ar": plain}, {"auto": [[1, 2]], "ar": [[1, 2]]}
    systems = tuple(_result(name, rates, tokens, None, True) for name in rates)
    assert [system.noisy for system in systems] == [noisy, False]
    rows = list(bench_rows(BenchResult(1, 10, 2, len(ours), 0.1, "length", systems)))
    assert rows[0][2].endswith(", noise") is noisy
    assert rows[1][2] == "-"
    assert systems[0].tokens_per_s == spread(ours)

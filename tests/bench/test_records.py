"""Reports to JSON and back, and what is wrong with an object that is none."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from spsl_cli.bench.records import report_from_json, report_json
from spsl_cli.render.answer import json_text
from tests.bench.reports import COMPARISONS, cell, report, system


def published(found):
    return json.loads(json_text(report_json(found)))


@pytest.mark.parametrize(
    "found",
    [
        report(),
        report("entropy", comparisons=COMPARISONS, findings={"auc": 0.6, "bins": [{"tokens": 3}]}, complete=False),
        replace(report(), cells=()),
        report(cells=[cell("c", [system("a", by_position=(1.0, 0.5), top2_margin=None)], {"k": 4}, noisy=True)]),
    ],
    ids=["main", "entropy", "empty", "k"],
)
def test_a_report_comes_back_as_it_was(found):
    assert report_from_json(published(found)) == found


def test_context_is_what_was_asked_for_else_what_prompts_have():
    assert cell("c", [], context=2000).context == 2000
    assert replace(cell("c", [], context=2000, batch=2), settings={}).context == 2000


def broken(change):
    data = published(report(comparisons=COMPARISONS))
    change(data)
    return data


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda data: data.pop("schema"), "no report of a suite"),
        (lambda data: data.pop("suite"), "no report of a suite"),
        (lambda data: data.pop("cells"), "report has no cells"),
        (lambda data: data.update(more=1), "report has an unknown part 'more'"),
        (lambda data: data.update(title=5), r"report\.title is 5"),
        (lambda data: data.update(complete=1), r"report\.complete is 1"),
        (lambda data: data.update(cells={}), r"report\.cells is \{\}"),
        (lambda data: data.update(notes=["a", None]), r"report\.notes\[1\] is None"),
        (lambda data: data["cells"][0].update(batch="2"), r"report\.cells\[0\]\.batch is '2'"),
        (lambda data: data["cells"][0].update(batch=True), r"report\.cells\[0\]\.batch is True"),
        (lambda data: data["cells"][0]["systems"][2].update(speedup=1.3), r"systems\[2\]\.speedup is 1.3, no object"),
        (lambda data: data["cells"][0]["systems"][2]["speedup"].update(low=None), r"speedup\.low is None"),
        (lambda data: data["cells"][0]["systems"][2]["phases"].update(draft="x"), r"phases\.draft is 'x'"),
        (lambda data: data["cells"][0]["systems"].append("x"), r"systems\[6\] is 'x', no object"),
        (lambda data: data["comparisons"][0].pop("why"), r"comparisons\[0\] has no why"),
    ],
)
def test_what_is_wrong_is_named(change, words):
    with pytest.raises(ValueError, match=words):
        report_from_json(broken(change))


@pytest.mark.parametrize("data", [None, [], "report", 3])
def test_what_is_no_object_is_no_report(data):
    with pytest.raises(ValueError, match="no report"):
        report_from_json(data)

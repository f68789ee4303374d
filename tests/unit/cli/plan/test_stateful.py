"""``kafka-assignors plan --file`` with the ``stateful`` JSON: input, output and errors."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from tests.support.examples import ROOT
from tests.unit.cli.plan.planning import call, planned, usage

PROBLEM: dict[str, Any] = {
    "version": 1,
    "strategy": "stateful",
    "options": {
        "acceptable_recovery_lag": 10000,
        "num_standby_replicas": 1,
        "max_warmup_replicas": 2,
        "balance_factor": 1,
    },
    "subtopologies": [{"id": "0", "partitions": 3, "stateful": True, "logged": True}],
    "members": [
        {"id": "a", "process": "a", "active": ["0_0", "0_1"], "standby": ["0_2"], "lags": {"0_2": 0}},
        {"id": "b", "process": "b", "active": ["0_2"], "standby": ["0_0", "0_1"], "lags": {"0_0": 5}},
    ],
}


def changed(path: str, value: object) -> dict[str, Any]:
    """The problem with another value at a path of names and numbers; None takes the entry out."""
    problem: Any = json.loads(json.dumps(PROBLEM))
    *way, last = [int(word) if word.isdigit() else word for word in path.split(".")]
    at = problem
    for step in way:
        at = at[step]
    at[last] = value
    return dict(problem)


def test_balanced_group_keeps_its_tasks() -> None:
    target = {
        "active": {"a": ["0_0", "0_1"], "b": ["0_2"]},
        "standby": {"a": ["0_2"], "b": ["0_0", "0_1"]},
    }
    others = {"version": 1, "strategy": "stateful", "warmup": {"a": [], "b": []}, "probing": False}
    assert planned(problem=PROBLEM) == others | target | {"target": target}


def test_missing_fields_have_defaults() -> None:
    """No options, and a member without user data: it has no state, and gets warm-ups."""
    problem = {
        "strategy": "stateful",
        "subtopologies": [{"id": "0", "partitions": 4}],
        "members": [{"id": "a", "active": ["0_0", "0_1", "0_2", "0_3"]}, {"id": "b"}],
    }
    answer = planned(problem=problem)
    assert answer["active"] == {"a": ["0_0", "0_1", "0_2", "0_3"], "b": []}
    assert answer["warmup"] == {"a": [], "b": ["0_0", "0_1"]}
    assert answer["probing"]


def test_table_lists_moving_tasks() -> None:
    problem = changed("members.1", {"id": "b"})
    problem["members"][0]["active"] = ["0_0", "0_1", "0_2"]
    message = call(problem=problem)
    assert message.exit_code == 0
    assert "the target waits for warm-ups" in message.stdout
    assert [line.split() for line in message.stdout.splitlines() if line.startswith("0_0")] == [
        ["0_0", "a", "a", "b", "-"]
    ]
    assert "the plan is the target" in call(problem=PROBLEM).stdout


def test_command_line_options_override_the_file() -> None:
    answer = planned("--option", "num_standby_replicas=0", problem=PROBLEM)
    assert answer["standby"] == {"a": [], "b": []}


@pytest.mark.parametrize(
    ("path", "value", "expected_message"),
    [
        ("version", 2, "version: expected 1, got 2"),
        ("topics", {}, "topics: unknown, expected one of version, strategy"),
        ("options.balance_factor", 0, "options.balance_factor: expected a whole number from 1"),
        ("options.rack", "a", "options.rack: unknown; choose one of acceptable_recovery_lag"),
        ("subtopologies.0", {"id": "0"}, "subtopologies[0].partitions: missing"),
        ("subtopologies.0.partitions", 2_000_000, "subtopologies: 2000000 partitions in total"),
        ("subtopologies.0.logged", 1, "subtopologies[0].logged: expected true or false, got 1"),
        ("members.1.id", "a", 'members[1].id: "a" repeats members[0].id'),
        ("members.0.active", ["0_0", 3], "members[0].active[1]: expected a non-empty text"),
        ("members.0.active", ["00"], "members[0].active[0]: expected a task, SUBTOPOLOGY_PARTITION"),
        ("members.0.lags", {"0_-1": 0}, "members[0].lags.0_-1: expected a task"),
        ("members.0.owned", [], "members[0].owned: unknown, expected one of id, process"),
        ("end_offsets", {"0_0": -1}, "end_offsets.0_0: expected a whole number >= 0, got -1"),
    ],
)
def test_errors_name_the_path_of_the_field(path: str, value: object, expected_message: str) -> None:
    assert expected_message in usage(problem=changed(path, value))


@pytest.mark.parametrize(
    "arguments", [["--compare"], ["--strategy", "sticky"], ["--without", "a"], ["--join", "1"]]
)
def test_partition_options_are_refused(arguments: list[str]) -> None:
    assert "plans tasks" in usage(*arguments, problem=PROBLEM)


def test_claims_of_unknown_tasks_are_allowed() -> None:
    """Members' claims are not trusted, but are no errors."""
    problem = changed("members.1.active", ["0_0", "gone_7"])
    problem["members"][1]["lags"] = {"0_0": -4, "gone_1": 3}
    assert planned(problem=problem)


def test_examples_of_the_page_are_reproduced() -> None:
    """docs/reference/plan-tasks.md: its example and its output."""
    page = (ROOT / "docs" / "reference" / "plan-tasks.md").read_text(encoding="utf-8")
    problem, shown = map(json.loads, re.findall(r"^```json\n(.*?)^```", page, re.DOTALL | re.MULTILINE))
    answer = planned(problem=problem)
    assert answer | {"target": {}} == shown


def test_wrong_option_of_the_command_line_does_not_name_the_file() -> None:
    message = "Error: --option rack: unknown; choose one of acceptable_recovery_lag"
    assert message in usage("--option", "rack=a", problem=PROBLEM)

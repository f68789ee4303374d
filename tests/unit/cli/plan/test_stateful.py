"""``kafka-assignors plan --file`` with the ``stateful`` JSON: in, out, and what is said of mistakes."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from click.testing import CliRunner, Result

from kafka_assignors.cli.plan.command import command
from tests.support.examples import ROOT

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


def call(problem: object, *arguments: str) -> Result:
    """Run the command on a file."""
    text = problem if isinstance(problem, str) else json.dumps(problem)
    return CliRunner().invoke(command, ["--file", "-", *arguments], input=text)


def changed(path: str, value: object) -> dict[str, Any]:
    """The problem with another value at a path of names and numbers; None takes the entry out."""
    problem: Any = json.loads(json.dumps(PROBLEM))
    *way, last = [int(word) if word.isdigit() else word for word in path.split(".")]
    at = problem
    for step in way:
        at = at[step]
    at[last] = value
    return dict(problem)


def test_a_balanced_group_stays_as_it_is() -> None:
    answer = json.loads(call(PROBLEM, "--output", "json").stdout)
    assert answer == {
        "version": 1,
        "strategy": "stateful",
        "active": {"a": ["0_0", "0_1"], "b": ["0_2"]},
        "standby": {"a": ["0_2"], "b": ["0_0", "0_1"]},
        "warmup": {"a": [], "b": []},
        "probing": False,
        "target": {
            "active": {"a": ["0_0", "0_1"], "b": ["0_2"]},
            "standby": {"a": ["0_2"], "b": ["0_0", "0_1"]},
        },
    }


def test_what_is_missing_has_its_default() -> None:
    """No options, a member that says nothing: it has no state, and is warmed up."""
    problem = {
        "strategy": "stateful",
        "subtopologies": [{"id": "0", "partitions": 4}],
        "members": [{"id": "a", "active": ["0_0", "0_1", "0_2", "0_3"]}, {"id": "b"}],
    }
    answer = json.loads(call(problem, "--output", "json").stdout)
    assert answer["active"] == {"a": ["0_0", "0_1", "0_2", "0_3"], "b": []}
    assert answer["warmup"] == {"a": [], "b": ["0_0", "0_1"]}
    assert answer["probing"]


def test_the_table_says_what_is_on_the_move() -> None:
    problem = changed("members.1", {"id": "b"})
    problem["members"][0]["active"] = ["0_0", "0_1", "0_2"]
    said = call(problem)
    assert said.exit_code == 0
    assert "a better plan waits" in said.stdout
    assert [line.split() for line in said.stdout.splitlines() if line.startswith("0_0")] == [
        ["0_0", "a", "a", "b", "-"]
    ]
    assert "no better plan" in call(PROBLEM).stdout


def test_options_on_the_command_line_win() -> None:
    answer = call(PROBLEM, "--option", "num_standby_replicas=0", "--output", "json")
    assert json.loads(answer.stdout)["standby"] == {"a": [], "b": []}


@pytest.mark.parametrize(
    ("path", "value", "says"),
    [
        ("version", 2, "version: know only 1, got 2"),
        ("topics", {}, "topics: unknown, there is version, strategy"),
        ("options.balance_factor", 0, "options.balance_factor: expected a whole number from 1"),
        ("options.balance_factor", True, "options.balance_factor: expected a whole number from 1"),
        ("options.rack", "a", "options.rack: unknown, there is acceptable_recovery_lag"),
        ("subtopologies", {}, "subtopologies: expected an array"),
        ("subtopologies.0", {"id": "0"}, "subtopologies[0].partitions: missing"),
        ("subtopologies.0.partitions", -1, "subtopologies[0].partitions: expected a whole number from 0"),
        ("subtopologies.0.partitions", 2_000_000, "subtopologies: 2000000 partitions in all"),
        ("subtopologies.0.logged", 1, "subtopologies[0].logged: expected true or false, got 1"),
        ("members.1.id", "a", 'members[1].id: "a" is members[0], too'),
        ("members.0.active", ["0_0", 3], "members[0].active[1]: expected a non-empty text"),
        ("members.0.active", ["00"], "members[0].active[0]: expected a task, SUBTOPOLOGY_PARTITION"),
        ("members.0.active", ["0_01"], "members[0].active[0]: expected a task"),
        ("members.0.lags", {"0_-1": 0}, "members[0].lags.0_-1: expected a task"),
        ("members.0.lags", {"0_0": 1.5}, "members[0].lags.0_0: expected a whole number, got 1.5"),
        ("members.0.owned", [], "members[0].owned: unknown, there is id, process"),
        ("end_offsets", {"0_0": -1}, "end_offsets.0_0: expected a whole number from 0"),
    ],
)
def test_a_mistake_is_named_by_its_field(path: str, value: object, says: str) -> None:
    answer = call(changed(path, value))
    assert answer.exit_code == 2
    assert says in answer.stderr.replace("\n", " ")


@pytest.mark.parametrize(
    "arguments", [["--compare"], ["--strategy", "sticky"], ["--without", "a"], ["--join", "1"]]
)
def test_what_is_for_partitions_is_refused(arguments: list[str]) -> None:
    answer = call(PROBLEM, *arguments)
    assert answer.exit_code == 2
    assert "plans tasks" in answer.stderr


def test_claims_need_not_make_sense() -> None:
    """What members say is not trusted, and no error."""
    problem = changed("members.1.active", ["0_0", "gone_7"])
    problem["members"][1]["lags"] = {"0_0": -4, "gone_1": 3}
    assert call(problem, "--output", "json").exit_code == 0


def test_the_page_is_true() -> None:
    """docs/reference/plan-tasks.md: its example, and what it says comes of it."""
    page = (ROOT / "docs" / "reference" / "plan-tasks.md").read_text(encoding="utf-8")
    problem, shown = map(json.loads, re.findall(r"^```json\n(.*?)^```", page, re.DOTALL | re.MULTILINE))
    answer = json.loads(call(problem, "--output", "json").stdout)
    assert answer | {"target": {}} == shown

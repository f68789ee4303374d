"""``kafka-assignors plan --strategy module:Class``, and the same in ``backtest``."""

from __future__ import annotations

import json
import re
import shlex
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path

import pytest
from click.testing import CliRunner

from kafka_assignors import Options, PlanError
from kafka_assignors.cli import cli
from kafka_assignors.cli.plan import command as cli_plan
from kafka_assignors.cli.plan.options import assumed
from kafka_assignors.strategies import STRATEGIES, load_strategy
from kafka_assignors.testing import check_strategy
from tests.support.examples import ROOT
from tests.support.group.own_strategies import ToTheFirst
from tests.unit.cli.plan.planning import TWO_AND_ONE_MORE, call, planned, usage

OWN = "tests.support.group.own_strategies"


def test_own_strategy_is_planned_and_compared() -> None:
    plan = planned("--strategy", f"{OWN}:ToTheFirst")
    assert plan["strategy"] == "to-the-first"
    assert plan["assignment"] == {"c1": [["orders", p] for p in range(6)], "c2": [], "c3": []}
    plans = planned("--strategy", f"{OWN}:ToTheFirst", "--compare")
    assert [plan["strategy"] for plan in plans] == [*STRATEGIES, "to-the-first"]


def test_own_options_are_known() -> None:
    own_strategy = ("--strategy", f"{OWN}:ToTheLeast")
    assert planned(*own_strategy, "--option", "least=2")["strategy"] == "to-the-least"
    assert "--option most: unknown, expected one of least," in usage(*own_strategy, "--option", "most=2")
    foreign = usage(*own_strategy, "--option", "preempt=true")
    assert "--option preempt: not an option of to-the-least, but of failover" in foreign


@dataclass(frozen=True, slots=True)
class HotOptions(Options):
    """JSON has no form for them."""

    topics: frozenset[str] = field(default=frozenset({"b", "c", "a"}), metadata={"plans": True})
    moment: date = field(default=date(2026, 1, 2), metadata={"plans": True})


class Hot(ToTheFirst):
    """Has these options."""

    name = "hot"
    options_type = HotOptions


def test_own_options_that_json_has_no_form_for_are_noted() -> None:
    assert assumed([Hot()], "hot", ()) == [
        "the group's options are unknown, assuming "
        'topics=["a", "b", "c"], moment="datetime.date(2026, 1, 2)" (--option)'
    ]


def test_invalid_plan_ends_the_command_with_one_line() -> None:
    result = call("--strategy", f"{OWN}:ToAStranger")
    assert isinstance(result.exception, PlanError)  # the command line prints it, exit code 1
    assert str(result.exception) == "to-a-stranger: invalid plan: stranger is no member of the group"
    assert result.stdout == ""


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("nowhere:Mine", "--strategy: no module 'nowhere'"),
        (f"{OWN}:Mine", f"--strategy: module '{OWN}' has no class 'Mine'"),
        (f"{OWN}:NUMBER", f"--strategy: '{OWN}:NUMBER' is no subclass of kafka_assignors.Assignor"),
        (f"{OWN}:Unfinished", f"--strategy: '{OWN}:Unfinished' does not define plan"),
    ],
)
def test_class_that_cannot_be_used_is_a_usage_error(name: str, message: str) -> None:
    assert usage("--strategy", name).endswith(message)


def test_file_cannot_name_a_class() -> None:
    """A file is data: reading it must not run code."""
    problem = TWO_AND_ONE_MORE | {"strategy": f"{OWN}:ToTheFirst"}
    assert f"strategy: unknown '{OWN}:ToTheFirst'" in usage(problem=problem)


def test_file_may_have_the_name_of_the_class() -> None:
    problem = TWO_AND_ONE_MORE | {"strategy": "to-the-first"}
    assert "or --strategy MODULE:CLASS for your own" in usage(problem=problem)
    assert call("--strategy", f"{OWN}:ToTheFirst", problem=problem).exit_code == 0


def test_guides_command_prints_the_output_on_the_page(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = (ROOT / "docs" / "guides" / "own-strategy.md").read_text(encoding="utf-8")
    code = re.findall(r"^```python\n(.*?)^```", page, re.DOTALL | re.MULTILINE)[0]
    command, *shown = re.findall(r"^```console\n(.*?)^```", page, re.DOTALL | re.MULTILINE)[0].splitlines()
    (tmp_path / "hot.py").write_text(code, encoding="utf-8")
    members = [{"id": member_id} for member_id in ("hot-1", "c-1", "c-2")]
    group = {"topics": {"clicks": 4, "orders": 4}, "members": members}
    (tmp_path / "group.json").write_text(json.dumps(group), encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    words = shlex.split(command.removeprefix("$ kafka-assignors plan"))
    done = CliRunner(env={"COLUMNS": "80"}).invoke(cli_plan.command, words)
    assert done.exit_code == 0, done.output
    assert [line.rstrip() for line in done.output.splitlines()][: len(shown)] == shown
    names = {"topics": ["clicks", "orders"], "members": ["hot-1", "hot-2", "c-1", "c-2"]}
    check_strategy(load_strategy("hot:HotTopicApart"), **names)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--strategies", f"{OWN}:Mine"), f"module '{OWN}' has no class 'Mine'"),
        (("--param", "least=x", "--strategies", f"{OWN}:ToTheFirst"), "--param least: unknown"),
        (("--param", "most=1", "--strategies", f"{OWN}:ToTheLeast"), "--param most: unknown"),
        (("--param", "least=1,2", "--strategies", f"{OWN}:ToTheLeast"), "HISTORY: no folder"),
    ],
)
def test_backtest_takes_own_strategies_and_their_options(arguments: tuple[str, ...], message: str) -> None:
    result = CliRunner(env={"COLUMNS": "300"}).invoke(cli, ["backtest", "no/such/folder", *arguments])
    assert result.exit_code == 2
    assert message in result.stderr

"""``kafka-assignors plan``: its notes, usage errors and live groups."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from kafka_assignors import cli
from kafka_assignors.cli.plan import command as cli_plan
from kafka_assignors.errors import MissingExtraError
from kafka_assignors.lag.feed.sources import Expected
from kafka_assignors.plan import Group, TopicPartition
from kafka_assignors.strategies import STRATEGIES
from tests.support.plan.builders import member
from tests.unit.cli.plan.planning import ACTIVE_AND_PASSIVE, IN_RACKS, TWO_AND_ONE_MORE, call, usage

# --- notes --------------------------------------------------------------------------------


LAGS = {"lags": {"orders": [5] * 6}}
PRIORITY = {"members": [{**TWO_AND_ONE_MORE["members"][0], "priority": 1}]}
CAPACITIES = {"members": [{**each, "capacity": 1 + n} for n, each in enumerate(TWO_AND_ONE_MORE["members"])]}


@pytest.mark.parametrize(
    ("strategy", "problem", "unused"),
    [
        ("cooperative-sticky", TWO_AND_ONE_MORE | LAGS | PRIORITY, "lags and priority"),
        ("cooperative-sticky", TWO_AND_ONE_MORE | CAPACITIES, "capacity"),
        ("failover", ACTIVE_AND_PASSIVE | {"lags": {"orders": [5, 5], "audit": [5]}}, "lags"),
        ("range", IN_RACKS, "racks"),
    ],
)
def test_unused_input_is_noted(strategy: str, problem: object, unused: str) -> None:
    result = call("--strategy", strategy, "--output", "json", problem=problem)
    assert result.stderr == f"note: strategy {strategy!r} does not use {unused}\n"
    json.loads(result.stdout)
    assert call("--compare", problem=problem).stderr == ""


# --- usage -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ("--strategy", "rnage"),
            f"unknown 'rnage', expected one of {', '.join(STRATEGIES)}, or your own as MODULE:CLASS",
        ),
        (("--group", "g"), "give one of --file and --group"),
        (("--compare", "--strategy", "range"), "leave out --strategy"),
        (("--bootstrap", "h:1"), "--bootstrap and --config need --group"),
        (("--option", "rack"), "--option rack: expected NAME=VALUE"),
        (("--option", "=1"), "--option =1: expected NAME=VALUE"),
        (
            ("--option", "preempt=1", "--strategy", "failover"),
            "--option preempt: expected true or false, got 1",
        ),
        (
            ("--option", "assignment_consumer_priority=1"),
            "--option assignment_consumer_priority: an option of one consumer; here it is members[].priority",
        ),
        (("--option", "preempt=0"), "--option preempt: not an option of cooperative-sticky, but of failover"),
        (
            ("--option", "max_partition_skew=0", "--strategy", "cooperative-lag-aware"),
            "--option max_partition_skew: expected a whole number from 1, got 0",
        ),
        (("--reset", "latest"), "--reset and --no-lag need --group"),
        (("--option", "rcak=a"), "--option rcak: unknown, expected one of max_partition_skew, min_"),
        (("--option", "on_plan=print"), "--option on_plan: an option of one consumer"),
        (("--compare", "--option", "rcak=a"), "--option rcak: unknown, "),
        (("--without", "c9"), "--without: 'c9' matches no member: c1, c2, c3"),
        (("--join", "-1"), "--join"),
        (("--output", "xml"), "--output"),
    ],
)
def test_wrong_options_are_usage_errors(arguments: tuple[str, ...], message: str) -> None:
    assert message in usage(*arguments)


@pytest.mark.parametrize(
    ("problem", "message"),
    [
        ({"members": [{"id": 1}]}, "Error: standard input: members[0].id: expected a non-empty text, got 1"),
        ('{"version": }', "Error: standard input: not JSON: line 1, column 13: Expecting value"),
        (
            {"strategy": "rnage"},
            f"strategy: unknown 'rnage', expected one of stateful, {', '.join(STRATEGIES)}; "
            "or --strategy MODULE:CLASS for your own",
        ),
        ({"options": {"rack": ""}}, "options.rack: an option of one consumer; here it is members[].rack"),
        ({"options": {"rcak": "a"}}, "options.rcak: unknown, expected one of max_partition_skew, min_"),
    ],
)
@pytest.mark.parametrize("compare", [True, False])
def test_invalid_file_is_a_usage_error(problem: object, message: str, compare: bool) -> None:
    assert message in usage(*["--compare"] * compare, problem=problem)


CLAIMS = {"topics": {"t": 1}, "members": [{"id": "a", "topics": ["t", "x"], "owned": [["t", 9]]}]}


@pytest.mark.parametrize(
    ("strategy", "problem", "note"),
    [
        (
            "sticky",
            CLAIMS,
            "member a subscribes to unknown topic 'x', claims 1 partition that does not exist; "
            "the leader ignores those parts",
        ),
        ("failover", TWO_AND_ONE_MORE, "3 of 3 members have no priority: they rank last"),
        (
            "sticky",
            IN_RACKS | {"members": [{"id": "c1"}]},
            "racks have no effect: no member is known to share a rack with a replica",
        ),
        (
            "sticky",
            {"topics": {"orders": 4}, "members": [{"id": "c1", "rack": "a"}]},
            "racks have no effect: no member is known to share a rack with a replica",
        ),
    ],
    ids=["invalid claims", "no priorities", "no member's rack", "no replica's rack"],
)
def test_input_without_effect_is_noted(strategy: str, problem: object, note: str) -> None:
    assert call("--strategy", strategy, problem=problem).stderr == f"note: {note}\n"


def test_at_most_five_notes_are_printed() -> None:
    members = [{"id": f"m{i}", "topics": []} for i in range(60)]
    first, *_, last = lines = call(problem={"topics": {"t": 1}, "members": members}).stderr.splitlines()
    assert (len(lines), first, last) == (6, "note: member m0 subscribes to no topic", "note: ... and 55 more")


def test_too_many_racks_are_noted(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "racks are ignored" not in call("--strategy", "sticky", problem=IN_RACKS).stderr
    monkeypatch.setattr("kafka_assignors.plan.model.MOST_CELLS", 1)
    stderr = call("--strategy", "sticky", problem=IN_RACKS).stderr
    limit = "4 pairs of a topic and a set of racks, times 2 members, are more than 1"
    assert stderr == f"note: racks are ignored: {limit}\n"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--group", "", "--bootstrap", "h:1"], "--group must not be empty"),
        ([], "give one of --file and --group"),
        (["--file", "no/such/file.json"], "No such file"),
    ],
)
def test_file_or_group_is_required(words: list[str], message: str) -> None:
    result = CliRunner().invoke(cli_plan.command, words)
    assert (result.exit_code, result.stdout) == (2, "")
    assert message in result.stderr


def test_missing_msgspec_is_named_with_its_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "msgspec", None)
    for module in ("plan.command", "plan.problem", "plan.stateful_problem", "fields"):
        monkeypatch.delitem(sys.modules, f"kafka_assignors.cli.{module}", raising=False)
    with pytest.raises(MissingExtraError, match=r"^msgspec is not installed: .*\[cli\]"):
        cli.cli.main(["plan"], standalone_mode=False)


# --- a live group, without one -----------------------------------------------------------------------------


@pytest.fixture
def live(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """Replace the cluster; what it was asked is kept, and what it answers may be changed."""
    state: dict[str, Any] = {"strategy": "sticky"}

    def read_live_group(settings: Mapping[str, Any], group_id: str) -> tuple[Group, str]:
        state.update(settings=dict(settings), group_id=group_id)
        members = member("m1", owned={"t0": [0, 1]}), member("m2")
        return Group(members, {"t0": 2}), state["strategy"]

    def with_live_lag(
        group: Group, settings: Mapping[str, Any], group_id: str, reset: str | None
    ) -> tuple[Group, list[str]]:
        state.update(asked_for_lag=(dict(settings), group_id, reset))
        return replace(group, lags={"t0": state.get("lags", [])}), state.get("notes", [])

    monkeypatch.setattr(cli_plan, "read_live_group", read_live_group)
    monkeypatch.setattr(cli_plan, "with_live_lag", with_live_lag)
    return state


def group(*arguments: str, **environment: str) -> Result:
    return CliRunner(env=environment).invoke(cli_plan.command, ["--group", "g", *arguments])


def test_live_group_is_planned_with_its_own_strategy(live: dict[str, Any]) -> None:
    answer = json.loads(group("--bootstrap", "h:1", "--output", "json").stdout)
    assert (answer["strategy"], answer["metrics"]["moved"]) == ("sticky", 1)
    assert (live["settings"], live["group_id"]) == ({"bootstrap_servers": ["h:1"]}, "g")


def test_live_group_with_an_unknown_strategy_needs_the_option(live: dict[str, Any]) -> None:
    live["strategy"] = "theirs"
    result = group("--bootstrap", "h:1")
    assert result.exit_code == 2
    strategies = f"one of {', '.join(STRATEGIES)}, or your own as MODULE:CLASS"
    message = f"group 'g' runs 'theirs', which is not in this package: give --strategy, {strategies}"
    assert message in result.stderr
    assert group("--bootstrap", "h:1", "--strategy", "fair").exit_code == 0
    assert group("--bootstrap", "h:1", "--compare").exit_code == 0


def test_live_stateful_group_is_sent_to_tasks(live: dict[str, Any]) -> None:
    live["strategy"] = "stateful"
    result = group("--bootstrap", "h:1")
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.endswith(
        "Error: group 'g' is stateful: see kafka-assignors tasks; plan takes such a group from --file only\n"
    )


def test_secrets_come_from_a_file_or_the_environment(live: dict[str, Any], tmp_path: Path) -> None:
    config = tmp_path / "client.properties"
    config.write_text(
        "bootstrap.servers=h:2\nsecurity.protocol=SASL_PLAINTEXT\n"
        "sasl.mechanism=PLAIN\nsasl.username=al\nsasl.password=from-file\n"
    )
    setting = "sasl_plain_password"
    assert group("--config", str(config)).exit_code == 0
    assert live["settings"][setting] == "from-file"
    assert group("--config", str(config), **{f"KAFKA_ASSIGNORS_{setting.upper()}": "env"}).exit_code == 0
    assert live["settings"][setting] == "env"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"bootstrap.servers=h:1\nsecurity.protocol=TLS\n", "security_protocol: expected one of PLAINTEXT, "),
        (b"", "bootstrap_servers: missing: give --bootstrap"),
        (b"\xff", "--config: byte 0 is not utf-8"),
    ],
)
def test_invalid_config_is_a_usage_error(
    live: dict[str, Any], tmp_path: Path, content: bytes, message: str
) -> None:
    config = tmp_path / "client.properties"
    config.write_bytes(content)
    result = group("--config", str(config))
    assert result.exit_code == 2
    assert message in result.stderr
    assert "settings" not in live


# --- and its lag -------------------------------------------------------------------------------------------


def test_lag_is_fetched_only_for_strategies_that_use_it(live: dict[str, Any]) -> None:
    group("--bootstrap", "h:1", "--strategy", "cooperative-lag-aware")
    assert live.pop("asked_for_lag") == ({"bootstrap_servers": ["h:1"]}, "g", None)
    group("--bootstrap", "h:1", "--compare", "--reset", "latest")
    assert live.pop("asked_for_lag") == ({"bootstrap_servers": ["h:1"]}, "g", "latest")
    for words in (
        ["--strategy", "sticky"],
        ["--compare", "--no-lag"],
        ["--strategy", "lag-aware", "--no-lag"],
    ):
        result = group("--bootstrap", "h:1", *words)
        assert (result.exit_code, result.stderr) == (0, "")
        assert "asked_for_lag" not in live
    useless = group("--no-lag", "--reset", "latest").stderr
    assert "--reset has no effect with --no-lag: leave one out" in useless


def test_effect_of_unknown_lag_is_noted_once_the_forecasts_are_known(
    live: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    live.update(notes=["no lag: denied"])
    words = ("--bootstrap", "h:1", "--strategy", "cooperative-lag-aware")
    assert group(*words).stderr == "note: no lag: denied\nnote: no lags: planning by counts\n"
    assert group("--bootstrap", "h:1", "--compare").stderr == "note: no lag: denied\n"
    expected = Expected({TopicPartition("t0", 0): 5, TopicPartition("t0", 1): 7})
    monkeypatch.setattr(cli_plan, "read_feed", lambda *_: expected)
    result = group(*words, "--load-topic", "load")
    assert result.stderr == "note: no lag: denied\nnote: loads are forecast arrivals\n"


def test_live_lag_is_used_with_join_and_without(live: dict[str, Any]) -> None:
    live.update(lags=[70, 30], notes=["said of it"])
    words = ("--bootstrap", "h:1", "--strategy", "lag-aware", "--output", "json")
    for more, most in (((), 70), (("--without", "m2"), 100), (("--join", "3"), 70)):
        result = group(*words, *more)
        assert result.stderr == "note: said of it\n"
        answer = json.loads(result.stdout)["metrics"]
        assert (answer["max_load"], answer["load_unit"]) == (most, "records")


def test_assumed_options_of_a_live_group_are_noted(live: dict[str, Any]) -> None:
    live.update(strategy="cooperative-lag-aware", lags=[1, 1])
    assumed = "note: the group's options are unknown, assuming "
    both = f"{assumed}max_partition_skew=1, min_improvement=0.1 (--option)\n"
    assert group("--bootstrap", "h:1").stderr == both
    assert group("--bootstrap", "h:1", "--compare").stderr == both
    given = ("--option", "max_partition_skew=null")
    assert group("--bootstrap", "h:1", *given).stderr == f"{assumed}min_improvement=0.1 (--option)\n"
    assert group("--bootstrap", "h:1", *given, "--option", "min_improvement=0.2").stderr == ""
    assert group("--bootstrap", "h:1", "--strategy", "failover").stderr.count("assuming") == 0
    live["strategy"] = "failover"
    assert f"{assumed}preempt=true (--option)\n" in group("--bootstrap", "h:1").stderr

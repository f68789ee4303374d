"""``kafka-assignors plan`` on files: what it prints, what it says, how it ends."""

from __future__ import annotations

import importlib
import json
import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from rich.cells import cell_len

from kafka_assignors import cli
from kafka_assignors.adapter import STRATEGIES
from kafka_assignors.cli import plan as cli_plan
from kafka_assignors.cli.live_group import LiveGroup
from kafka_assignors.cli.tables import MEMBERS, ROWS, short_names
from kafka_assignors.errors import MissingExtraError
from kafka_assignors.plan import Group
from tests.builders import member

TWO_AND_ONE_MORE: dict[str, Any] = {
    "version": 1,
    "strategy": "cooperative-sticky",
    "topics": {"orders": 6},
    "members": [
        {"id": "c1", "owned": [["orders", 0], ["orders", 1], ["orders", 2]], "generation": 5},
        {"id": "c2", "owned": [["orders", 3], ["orders", 4], ["orders", 5]], "generation": 5},
        {"id": "c3"},
    ],
}


def call(*arguments: str, problem: object = TWO_AND_ONE_MORE, width: int = 80) -> Result:
    """Run the command with a problem on its standard input."""
    text = problem if isinstance(problem, str) else json.dumps(problem)
    words = ("--file", "-", *arguments)
    return CliRunner(env={"COLUMNS": str(width)}).invoke(cli_plan.command, words, input=text)


def planned(*arguments: str, problem: object = TWO_AND_ONE_MORE) -> Any:
    """The JSON it prints."""
    result = call(*arguments, "--output", "json", problem=problem)
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


def usage(*arguments: str, problem: object = TWO_AND_ONE_MORE) -> str:
    """What a usage error says, in one line."""
    result = call(*arguments, problem=problem)
    assert result.exit_code == 2, result.output
    assert result.stdout == ""
    return result.stderr.strip().splitlines()[-1]


# --- JSON --------------------------------------------------------------------------------------------------


def test_the_json_is_version_1_to_the_last_field() -> None:
    assert planned() == {
        "version": 1,
        "strategy": "cooperative-sticky",
        "assignment": {
            "c1": [["orders", 0], ["orders", 1]],
            "c2": [["orders", 3], ["orders", 4]],
            "c3": [["orders", 2], ["orders", 5]],
        },
        "first_round": {
            "c1": [["orders", 0], ["orders", 1]],
            "c2": [["orders", 3], ["orders", 4]],
            "c3": [],
        },
        "metrics": {
            "balance_score": 0,
            "spread": 0,
            "kept": 4,
            "moved": 2,
            "max_load": 2,
            "load_lower_bound": 2,
            "load_unit": "partitions",
        },
        "why": [
            {"topic": "orders", "partition": p, "member": to, "reason": reason}
            for p, to, reason in (
                (0, "c1", "kept"),
                (1, "c1", "kept"),
                (2, "c3", "moved for balance: c1; waits for revocation by c1"),
                (3, "c2", "kept"),
                (4, "c2", "kept"),
                (5, "c3", "moved for balance: c2; waits for revocation by c2"),
            )
        ],
    }


IN_RACKS: dict[str, Any] = {
    "topics": {"orders": 4},
    "racks": {"orders": [["b"], ["a"], ["a", "b"]]},
    "members": [
        {"id": "c1", "rack": "a", "owned": [["orders", p] for p in range(4)], "generation": 5},
        {"id": "c2", "rack": "b"},
    ],
}


def test_with_racks_it_says_who_is_near_and_why() -> None:
    """orders-2 is near to both, and of orders-3 no rack is known: neither moves for a rack."""
    found = planned("--strategy", "sticky", problem=IN_RACKS)
    assert found["assignment"] == {"c1": [["orders", 1], ["orders", 2]], "c2": [["orders", 0], ["orders", 3]]}
    assert found["metrics"]["near"] == 3
    assert [why["reason"] for why in found["why"]] == [
        *("moved to a rack with a replica: c1", "kept", "kept", "moved for balance: c1"),
    ]


def test_with_racks_the_table_says_who_is_near() -> None:
    shown = call("--strategy", "sticky", problem=IN_RACKS).stdout
    assert "\nnear a replica: 3 of 4\n" in shown
    assert "1 moved to a rack with a replica" in shown
    assert re.search(r"^c1 +2 +2 +0 +2$", shown, re.MULTILINE)
    assert "replica" not in call().stdout


@pytest.mark.parametrize("words", [("--strategy", "range"), ("--strategy", "sticky"), ("--compare",)])
def test_a_strategy_that_does_not_plan_by_racks_says_so(words: tuple[str, ...]) -> None:
    unused = words[1:] == ("range",)
    assert ("note: strategy 'range' does not use racks" in call(*words, problem=IN_RACKS).stderr) == unused
    assert "racks" not in call(*words).stderr


def test_who_joins_is_in_no_rack() -> None:
    found = planned("--strategy", "sticky", "--without", "c2", "--join", "1", problem=IN_RACKS)
    assert found["metrics"]["near"] == 2
    assert found["assignment"]["c1"] == [["orders", 1], ["orders", 2]]


ACTIVE_AND_PASSIVE: dict[str, Any] = {
    "strategy": "failover",
    "topics": {"orders": 2, "audit": 1},
    "members": [
        {"id": "c1", "priority": 5, "owned": [["orders", 0], ["orders", 1]], "generation": 5},
        {"id": "c2", "priority": 10, "topics": ["orders"]},
        {"id": "c3", "priority": -1},
    ],
}


def test_failover_gives_each_topic_to_the_highest_priority_that_subscribes() -> None:
    found = planned(problem=ACTIVE_AND_PASSIVE)
    assert found["assignment"] == {"c1": [["audit", 0]], "c2": [["orders", 0], ["orders", 1]], "c3": []}
    assert "first_round" not in found
    reasons = [why["reason"] for why in found["why"]]
    assert reasons == ["no owner before", *["moved to the highest priority: c1"] * 2]
    assert (found["metrics"]["max_load"], found["metrics"]["load_lower_bound"]) == (2, 1)
    compared = {one["strategy"]: one for one in planned("--compare", problem=ACTIVE_AND_PASSIVE)}
    assert compared["failover"] == found


@pytest.mark.parametrize("where", ["in the file", "on the command line"])
def test_failover_without_preemption_leaves_the_active_be(where: str) -> None:
    words = ["--option", "preempt=false"] if where == "on the command line" else []
    options = {} if words else {"options": {"preempt": False}}
    found = planned(*words, problem=ACTIVE_AND_PASSIVE | options)
    assert found["assignment"]["c1"] == [["audit", 0], ["orders", 0], ["orders", 1]]
    reasons = [why["reason"] for why in found["why"]]
    assert reasons == ["no owner before", *["stays with the active member"] * 2]
    after = planned("--without", "c1", *words, problem=ACTIVE_AND_PASSIVE | options)
    assert after["assignment"] == {"c2": [["orders", 0], ["orders", 1]], "c3": [["audit", 0]]}


def test_a_table_of_failover() -> None:
    table = call("--option", "preempt=false", problem=ACTIVE_AND_PASSIVE).stdout
    assert re.search(r"^c1 +3 +2 +1 +0$", table, re.MULTILINE)
    assert "2 stays with the active member, 1 no owner before" in table
    assert not re.search(r"^orders-0 ", table, re.MULTILINE)
    table = call(problem=ACTIVE_AND_PASSIVE).stdout
    assert re.search(r"^c1 +1 +0 +1 +2$", table, re.MULTILINE)
    assert re.search(r"^orders-0 +c1 +c2 +moved to the highest priority$", table, re.MULTILINE)


def test_who_joins_has_no_priority() -> None:
    found = planned("--join", "1", "--without", "c3", problem=ACTIVE_AND_PASSIVE)
    assert found["assignment"]["new-1"] == []


def test_an_eager_strategy_gives_everything_at_once() -> None:
    found = planned("--strategy", "sticky")
    assert "first_round" not in found
    assert found["why"][2]["reason"] == "moved for balance: c1"


def test_a_strategy_without_history_deals_in_order() -> None:
    reasons = [why["reason"] for why in planned("--strategy", "range")["why"]]
    assert reasons == [
        *("kept", "kept", "dealt in order: c1"),
        *("kept", "dealt in order: c2", "dealt in order: c2"),
    ]


def test_the_largest_load_and_what_it_could_be() -> None:
    """``fairest-sticky`` moves nothing, however unfair."""
    metrics = planned("--strategy", "fairest-sticky")["metrics"]
    assert (metrics["max_load"], metrics["load_lower_bound"], metrics["moved"]) == (3, 2, 0)


def test_the_command_line_wins_over_the_file_and_that_over_the_default() -> None:
    anybody = {"members": [{"id": "c1"}]}
    assert planned("--strategy", "fair", problem=anybody | {"strategy": "range"})["strategy"] == "fair"
    assert planned(problem=anybody | {"strategy": "range"})["strategy"] == "range"
    assert planned(problem=anybody)["strategy"] == "cooperative-sticky"


def test_compare_is_a_list_with_every_strategy() -> None:
    found = planned("--compare")
    assert [one["strategy"] for one in found] == list(STRATEGIES)
    assert next(one for one in found if one["strategy"] == "cooperative-sticky") == planned()


def test_nobody_at_all_is_a_plan_too() -> None:
    found = planned(problem={"topics": {"t": 1}})
    assert found["assignment"] == {}
    assert found["why"] == [{"topic": "t", "partition": 0, "member": None, "reason": "nobody subscribes"}]
    assert call(problem={}).exit_code == 0


def test_what_if_one_left() -> None:
    """Its partitions name it."""
    found = planned("--without", "c2", "--strategy", "sticky")
    assert set(found["assignment"]) == {"c1", "c3"}
    assert [why["reason"] for why in found["why"]] == ["kept"] * 3 + ["owner gone: c2"] * 3


def test_what_if_three_joined() -> None:
    found = planned("--join", "3")
    assert set(found["assignment"]) == {"c1", "c2", "c3", "new-1", "new-2", "new-3"}
    assert found["metrics"]["max_load"] == 1


# --- tables ------------------------------------------------------------------------------------------------


def test_the_table() -> None:
    result = call()
    assert result.exit_code == 0
    assert [line.rstrip() for line in result.stdout.splitlines() if "─" not in line] == [
        "cooperative-sticky: 3 members, 6 partitions of 1 topic",
        "largest load 2, no plan has less than 2",
        "kept 4, moved 2, spread 0, balance score 0",
        "",
        "member   partitions   kept   gained   lost   first round",
        "c1                2      2        0      1             2",
        "c2                2      2        0      1             2",
        "c3                2      0        2      0             0",
        "",
        "4 kept, 2 moved for balance",
        "",
        "partition   from   to   why",
        "orders-2    c1     c3   moved for balance, waits",
        "orders-5    c2     c3   moved for balance, waits",
    ]


def test_an_eager_table_has_no_first_round() -> None:
    assert "first round" not in call("--strategy", "sticky").stdout


def test_a_plan_that_changes_nothing_has_no_list_of_changes() -> None:
    table = call("--without", "c3").stdout
    assert "6 kept" in table
    assert "partition " not in table


def test_the_comparison_has_a_row_for_every_strategy() -> None:
    table = call("--compare").stdout
    rows = {line.split()[0]: line.split()[1:] for line in table.splitlines() if line and "─" not in line}
    assert rows["range"] == ["3", "3", "-", "2", "0", "0"]
    assert rows["cooperative-sticky"] == ["4", "2", "2", "2", "0", "0"]
    assert rows["fairest-sticky"] == ["6", "0", "0", "3", "3", "6"]
    assert set(STRATEGIES) <= rows.keys()
    assert "no plan has a max load of less than 2" in table


def large(members: int, partitions: int) -> dict[str, Any]:
    """Members as a broker names them, and nobody owns anything yet."""
    ids = [f"worker-{i}-{i:08x}-f281-49d9-bf0e-d5d2e7b04c43" for i in range(members)]
    return {"topics": {"flights-by-destination": partitions}, "members": [{"id": m} for m in ids]}


@pytest.mark.parametrize("width", [80, 200])
@pytest.mark.parametrize("arguments", [(), ("--compare",)])
def test_no_line_is_wider_than_the_terminal(arguments: tuple[str, ...], width: int) -> None:
    lines = call(*arguments, problem=large(3, 40), width=width).stdout.splitlines()
    assert max(cell_len(line) for line in lines) <= width
    assert any("worker-2-00000002" in line for line in lines) or arguments


def test_a_large_plan_is_cut_and_says_so() -> None:
    problem = large(MEMBERS + 2, ROWS + 5)
    cut, whole = call(problem=problem).stdout, call("--all", problem=problem).stdout
    assert cut.count("… and ") == 2
    assert "… and 2 more; --all shows them" in cut
    assert "… and 5 more; --all shows them" in cut
    assert cut.count("no owner before") == ROWS + 1  # and the line that counts them
    assert sum(line.startswith("worker-") for line in cut.splitlines()) == MEMBERS
    assert whole.count("no owner before") == ROWS + 5 + 1
    assert "…" not in whole


def test_a_plan_that_just_fits_is_not_cut() -> None:
    assert "…" not in call(problem=large(MEMBERS, ROWS)).stdout


def test_names_that_are_too_long_are_folded_and_nothing_of_them_is_lost() -> None:
    name = "n" * 150
    folded = call(problem={"topics": {name: 1}, "members": [{"id": name.upper()}]}).stdout
    assert (folded.count("n") - call(problem={}).stdout.count("n")) >= 150
    assert folded.count("N") == 300


def test_a_uuid_is_shortened_only_while_names_stay_different() -> None:
    tail = "-f281-49d9-bf0e-d5d2e7b04c43"
    assert short_names([f"a-00000001{tail}", "b"]) == {f"a-00000001{tail}": "a-00000001", "b": "b"}
    alike = [f"a-00000001{tail}", "a-00000001"]
    assert short_names(alike) == {name: name for name in alike}


def test_a_name_cannot_command_the_terminal() -> None:
    members = [{"id": "\x1b[31mred[bold]"}, {"id": "b"}]
    result = call(problem={"topics": {"t\x07": 2}, "members": members})
    assert "\x1b" not in result.stdout
    assert "\x07" not in result.stdout
    assert "[31mred[bold]" in result.stdout


def test_two_that_claim_the_same_are_both_named() -> None:
    """And who no longer subscribes has lost what it owned."""
    members = [{"id": m, "owned": [["t", 0]], "generation": 2} for m in "ab"]
    left = {"id": "c", "owned": [["t", 1]], "generation": 2, "topics": []}
    table = call(problem={"topics": {"t": 2}, "members": [*members, left, {"id": "d"}]}).stdout
    rows = [line.split() for line in table.splitlines()]
    assert ["t-0", "a,", "b", "a", "claim", "contested"] in rows
    assert ["t-1", "c", "b", "owner", "no", "longer", "subscribes,", "waits"] in rows
    assert ["c", "0", "0", "0", "1", "0"] in rows


# --- what is said beside it --------------------------------------------------------------------------------


def test_what_a_strategy_does_not_use_is_said() -> None:
    problem = TWO_AND_ONE_MORE | {"lags": {"orders": [5] * 6}}
    problem["members"] = [{**problem["members"][0], "priority": 1}]
    result = call("--output", "json", problem=problem)
    assert result.stderr == "note: strategy 'cooperative-sticky' does not use lags and priority\n"
    json.loads(result.stdout)
    assert call("--compare", problem=problem).stderr == ""


def test_claims_that_count_for_nothing_are_said() -> None:
    problem = {"topics": {"t": 1}, "members": [{"id": "a", "topics": ["t", "x"], "owned": [["t", 9]]}]}
    assert call(problem=problem).stderr == (
        "note: member a subscribes to unknown topic 'x', claims 1 partition that does not exist; "
        "that part is ignored\n"
    )


def test_a_sound_problem_needs_no_words() -> None:
    assert call().stderr == ""


def test_priorities_that_count_need_no_words_and_missing_ones_do() -> None:
    assert call("--strategy", "failover", problem=ACTIVE_AND_PASSIVE).stderr == ""
    said = call("--strategy", "failover").stderr
    assert said == "note: 3 of 3 members say no priority: they rank last\n"
    assert call("--compare").stderr == ""
    lags = ACTIVE_AND_PASSIVE | {"lags": {"orders": [5, 5], "audit": [5]}}
    said = call("--strategy", "failover", problem=lags).stderr
    assert said == "note: strategy 'failover' does not use lags\n"


# --- usage -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("--strategy", "rnage"), "'rnage' is not one of"),
        (("--group", "g"), "give one of --file and --group"),
        (("--compare", "--strategy", "range"), "leave out --strategy"),
        (("--bootstrap", "h:1"), "--bootstrap and --config go with --group"),
        (("--option", "rack"), "--option rack: expected NAME=VALUE"),
        (("--option", "=1"), "--option =1: expected NAME=VALUE"),
        (("--option", "rack=1"), "--option rack: belongs to a consumer; here it is members[].rack"),
        (
            ("--option", "priority=1"),
            "--option priority: belongs to a consumer; here it is members[].priority",
        ),
        (
            ("--option", "assignment_consumer_priority=1"),
            "--option assignment_consumer_priority: belongs to a consumer; here it is members[].priority",
        ),
        (
            ("--option", "preempt=1", "--strategy", "failover"),
            "--option preempt: expected true or false, got 1",
        ),
        (
            ("--option", "preempt=false"),
            "--option preempt: no option of cooperative-sticky, but of failover",
        ),
        (
            ("--option", "max_partition_skew=0", "--strategy", "cooperative-lag-aware"),
            "--option max_partition_skew: expected a number from 1, or None, got 0",
        ),
        (("--reset", "latest"), "--reset and --no-lag go with --group"),
        (("--no-lag",), "--reset and --no-lag go with --group"),
        (("--option", "rcak=a"), "--option rcak: unknown, there is max_partition_skew, min_"),
        (("--option", "on_plan=print"), "--option on_plan: belongs to a consumer"),
        (("--compare", "--option", "rcak=a"), "--option rcak: unknown, "),
        (("--without", "c9"), "--without: no member is 'c9': c1, c2, c3"),
        (("--join", "-1"), "--join"),
        (("--output", "xml"), "--output"),
    ],
)
def test_wrong_options_are_usage_errors(arguments: tuple[str, ...], says: str) -> None:
    assert says in usage(*arguments)


@pytest.mark.parametrize(
    ("problem", "says"),
    [
        ({"members": [{"id": 1}]}, "Error: standard input: members[0].id: expected a non-empty text, got 1"),
        ('{"version": }', "Error: standard input: not JSON: line 1, column 13: Expecting value"),
        ({"strategy": "rnage"}, "strategy: unknown 'rnage', there is range, roundrobin, "),
        ({"options": {"rack": ""}}, "options.rack: belongs to a consumer; here it is members[].rack"),
        ({"options": {"rcak": "a"}}, "options.rcak: unknown, there is max_partition_skew, min_"),
    ],
)
@pytest.mark.parametrize("compare", [True, False])
def test_a_wrong_file_is_a_usage_error(problem: object, says: str, compare: bool) -> None:
    assert says in usage(*["--compare"] * compare, problem=problem)


def test_notes_are_few() -> None:
    members = [{"id": f"m{i}", "topics": []} for i in range(60)]
    said = call(problem={"topics": {"t": 1}, "members": members}).stderr.splitlines()
    assert len(said) == 6
    assert said[-1] == "note: ... and 55 more"


@pytest.mark.parametrize("left_out", ["racks", "rack"])
def test_racks_that_never_meet_are_said(left_out: str) -> None:
    problem = IN_RACKS | {"members": [{"id": "c1"} | ({} if left_out == "rack" else {"rack": "a"})]}
    if left_out == "racks":
        problem.pop("racks")
    said = call("--strategy", "sticky", problem=problem).stderr
    assert said == "note: racks count for nothing: no member's rack has a replica\n"


def test_racks_that_would_take_too_much_memory_are_said(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "sets of racks" not in call("--strategy", "sticky", problem=IN_RACKS).stderr
    monkeypatch.setattr("kafka_assignors.plan.model.MOST_CELLS", 1)
    said = call("--strategy", "sticky", problem=IN_RACKS).stderr
    assert said == "note: too many different sets of racks: they are left out\n"


def test_the_comparison_says_who_is_near() -> None:
    assert "near" in call("--compare", problem=IN_RACKS).stdout
    assert "near" not in call("--compare").stdout


def test_in_a_pipe_a_line_is_a_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)
    name = "n" * 150
    text = json.dumps({"topics": {name: 1}, "members": [{"id": "m"}]})
    lines = CliRunner().invoke(cli_plan.command, ["--file", "-"], input=text).stdout.splitlines()
    assert any(line.startswith(f"{name}-0") for line in lines)
    assert [line.rstrip() for line in lines] == lines


def test_neither_file_nor_group() -> None:
    result = CliRunner().invoke(cli_plan.command, [])
    assert (result.exit_code, result.stdout) == (2, "")


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    result = CliRunner().invoke(cli_plan.command, ["--file", str(tmp_path / "no.json")])
    assert result.exit_code == 2
    assert "No such file" in result.stderr


def test_the_command_needs_the_extra_that_has_the_command_line(monkeypatch: pytest.MonkeyPatch) -> None:
    def import_without_rich(name: str) -> object:
        raise ModuleNotFoundError("No module named 'rich'", name="rich")

    monkeypatch.setattr(importlib, "import_module", import_without_rich)
    with pytest.raises(MissingExtraError, match=r"\[cli\]"):
        cli.cli.main(["plan"], standalone_mode=False)


# --- a live group, without one -----------------------------------------------------------------------------


@pytest.fixture
def live(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """Replace the cluster; what it was asked is kept, and what it answers may be changed."""
    state: dict[str, Any] = {"strategy": "sticky"}

    def read_live_group(settings: Mapping[str, Any], group_id: str) -> LiveGroup:
        state.update(settings=dict(settings), group_id=group_id)
        members = member("m1", owned={"t0": [0, 1]}), member("m2")
        return LiveGroup(Group(members, {"t0": 2}), state["strategy"])

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


def test_a_live_group_plans_with_the_strategy_it_runs(live: dict[str, Any]) -> None:
    found = json.loads(group("--bootstrap", "h:1", "--output", "json").stdout)
    assert (found["strategy"], found["metrics"]["moved"]) == ("sticky", 1)
    assert (live["settings"], live["group_id"]) == ({"bootstrap_servers": ["h:1"]}, "g")


def test_a_live_group_that_runs_a_strategy_of_somebody_elses(live: dict[str, Any]) -> None:
    live["strategy"] = "theirs"
    result = group("--bootstrap", "h:1")
    assert result.exit_code == 2
    assert "group 'g' runs 'theirs', which is not ours: give --strategy, one of range, " in result.stderr
    assert group("--bootstrap", "h:1", "--strategy", "fair").exit_code == 0
    assert group("--bootstrap", "h:1", "--compare").exit_code == 0


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
    ("content", "says"),
    [
        (b"bootstrap.servers=h:1\nsecurity.protocol=TLS\n", "security_protocol: 'TLS' is none of "),
        (b"", "bootstrap_servers: missing: give --bootstrap"),
        (b"\xff", "--config: byte 0 is not utf-8"),
    ],
)
def test_a_wrong_config_is_a_usage_error(
    live: dict[str, Any], tmp_path: Path, content: bytes, says: str
) -> None:
    config = tmp_path / "client.properties"
    config.write_bytes(content)
    result = group("--config", str(config))
    assert result.exit_code == 2
    assert says in result.stderr
    assert "settings" not in live


# --- and its lag -------------------------------------------------------------------------------------------


def test_lag_is_asked_for_by_who_shows_it(live: dict[str, Any]) -> None:
    group("--bootstrap", "h:1", "--strategy", "cooperative-lag-aware")
    assert live.pop("asked_for_lag") == ({"bootstrap_servers": ["h:1"]}, "g", None)
    group("--bootstrap", "h:1", "--compare", "--reset", "latest")
    assert live.pop("asked_for_lag") == ({"bootstrap_servers": ["h:1"]}, "g", "latest")
    for words in (
        ("--strategy", "sticky"),
        ("--compare", "--no-lag"),
        ("--strategy", "lag-aware", "--no-lag"),
    ):
        result = group("--bootstrap", "h:1", *words)
        assert (result.exit_code, result.stderr) == (0, "")
        assert "asked_for_lag" not in live
    assert "--no-lag leaves nothing for --reset" in group("--no-lag", "--reset", "latest").stderr


def test_the_lag_of_a_live_group_is_planned_by_also_after_a_change(live: dict[str, Any]) -> None:
    live.update(lags=[70, 30], notes=["said of it"])
    words = ("--bootstrap", "h:1", "--strategy", "lag-aware", "--output", "json")
    for more, most in (((), 70), (("--without", "m2"), 100), (("--join", "3"), 70)):
        result = group(*words, *more)
        assert result.stderr == "note: said of it\n"
        found = json.loads(result.stdout)["metrics"]
        assert (found["max_load"], found["load_unit"]) == (most, "records")


def test_what_is_taken_for_the_options_of_the_strategy_the_group_runs_is_said(live: dict[str, Any]) -> None:
    live["strategy"] = "cooperative-lag-aware"
    says = "note: the group's options are not to be seen, assuming "
    both = f"{says}max_partition_skew=1, min_improvement=0.1 (--option)\n"
    assert group("--bootstrap", "h:1").stderr == both
    assert group("--bootstrap", "h:1", "--compare").stderr == both
    given = ("--option", "max_partition_skew=null")
    assert group("--bootstrap", "h:1", *given).stderr == f"{says}min_improvement=0.1 (--option)\n"
    assert group("--bootstrap", "h:1", *given, "--option", "min_improvement=0.2").stderr == ""
    assert group("--bootstrap", "h:1", "--strategy", "failover").stderr.count("assuming") == 0
    live["strategy"] = "failover"
    assert f"{says}preempt=true (--option)\n" in group("--bootstrap", "h:1").stderr

"""``kafka-assignors lag``: what it shows of a group, once and again, and how it ends."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import pytest
from click.testing import CliRunner, Result
from rich.console import Console

from kafka_assignors.cli.lag import command as cli_lag
from kafka_assignors.cli.lag.report import GroupsReport, InTime, Report, report
from kafka_assignors.cli.lag.view import groups_lines, lag_lines, watched_groups_lines, watched_lines
from kafka_assignors.cli.repeated_report import live_frames
from kafka_assignors.cli.tables import MEMBERS, ROWS, duration
from kafka_assignors.errors import BrokerError, GroupError, KafkaAssignorsError
from kafka_assignors.lag import Offsets, Reading, Reset
from kafka_assignors.lag.fetch.group import NEW_PROTOCOL, GroupMember, GroupState
from kafka_assignors.lag.rates import Rate
from kafka_assignors.plan import TopicPartition
from tests.support.examples import ROOT
from tests.unit.cli.lag.lagging_group import M1, M2, OFFSETS, ORDERS, TIME, a_report
from tests.unit.cli.printed import printed

PAGE = (ROOT / "docs" / "reference" / "lag.md").read_text(encoding="utf-8")
NO_RATES = dict.fromkeys(("rate_in", "rate_out", "catch_up_s", "commit_unchanged_s"))


def lines(current: Report, *, everything: bool = False, width: int = 80) -> list[str]:
    return printed(lag_lines(current, everything=everything), width=width)


def of_group(group: GroupState) -> Report:
    """Return the report of a group without offsets."""
    return report(group, Reading({}, {}, {}), "earliest", "")


def large(members: int, partitions: int) -> Report:
    """Partition n has a lag of n; they are dealt in turn."""
    tps = [TopicPartition("t", p) for p in range(partitions)]
    joined = tuple(GroupMember(f"m{m:03}", None, "m", "h", tuple(tps[m::members])) for m in range(members))
    group = GroupState("g", "Stable", "range", joined, {})
    offsets = {tp: Offsets(0, tp.partition, 0) for tp in tps}
    return report(group, Reading({tp: tp.partition for tp in tps}, offsets, {}), "earliest", "now")


# --- values ------------------------------------------------------------------------------------------------


def test_commits_of_topics_that_no_member_reads_are_mentioned_and_do_not_count() -> None:
    current = a_report()
    old = {TopicPartition(topic, 0): 7 for topic in ("audit", "old")}
    current = replace(current, group=replace(current.group, commits={**current.group.commits, **old}))
    assert current.as_json()["unread_topics"] == ["audit", "old"]
    assert "not counted: commits of 2 topics that no member reads (audit, ...)" in lines(current)
    assert current.lag == a_report().lag


def test_json_has_every_field() -> None:
    current = json.loads(json.dumps(a_report().as_json()))
    assert {name: value for name, value in current.items() if name not in {"members", "partitions"}} == {
        "version": 1,
        "time": TIME,
        "group": "billing",
        "state": "Stable",
        "strategy": "cooperative-sticky",
        "reset": "earliest",
        "lag": 14_450,
        "unknown": 1,
        "time_lag_ms": 525_600_000,
        "time_unknown": 1,
        "near_retention": 1,
        "unread_topics": [],
        **NO_RATES,
    }
    assert current["members"][1] == {
        "id": M2.member_id,
        "instance_id": None,
        "client_id": "billing-2",
        "host": "10.0.0.8",
        "readable": True,
        "partitions": 3,
        "unknown": 1,
        "lag": 11_950,
        "time_lag_ms": 525_600_000,
        **NO_RATES,
    }
    assert current["partitions"][3] == {
        "topic": "orders",
        "partition": 3,
        "member": M2.member_id,
        "begin": 0,
        "committed": None,
        "end": 700,
        "lag": 700,
        "missing": None,
        "time_lag_ms": 310_000,
        "time_missing": None,
        "retention_left": 0.9,
        "near_retention": False,
        **NO_RATES,
    }
    assert current["partitions"][4]["lag"] is None
    assert current["partitions"][4]["missing"] == "not authorised to describe the topic"


# --- the page ----------------------------------------------------------------------------------------------


def test_table_equals_the_docs() -> None:
    (block,) = re.findall(
        r"^```console\n\$ kafka-assignors lag billing\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE
    )
    assert block.splitlines() == lines(a_report())


def test_every_field_is_on_the_page() -> None:
    current = a_report().as_json()
    names = [*(set(current) - {"members", "partitions"}), *(f"members[].{n}" for n in current["members"][0])]
    for name in [*names, *(f"partitions[].{n}" for n in current["partitions"][0])]:
        assert re.search(rf"^\|.*`{re.escape(name)}`.*\|", PAGE, re.MULTILINE), name


# --- tables ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("width", [60, 120])
def test_no_line_is_wider_than_the_terminal(width: int) -> None:
    long = replace(M1, member_id="a-member-with-a-very-long-name-" * 3, client_id="x" * 50)
    group = replace(a_report().group, members=(long, M2))
    assert max(map(len, lines(of_group(group), width=width))) <= width


def test_each_reason_is_printed_once() -> None:
    tps = [TopicPartition("t", p) for p in range(9)]
    missing = {tp: f"reason {min(tp.partition, 6)}" for tp in tps}
    group = GroupState("g", "Empty", "", (), dict.fromkeys(tps, 0))
    assert lines(report(group, Reading({}, {}, missing), "earliest", ""))[1:7] == [
        "lag 0",
        "unknown for 3 partitions (t-6, ...): reason 6",
        "unknown for 1 partition (t-0): reason 0",
        "unknown for 1 partition (t-1): reason 1",
        "unknown for 1 partition (t-2): reason 2",
        "and for 3 other reasons",
    ]


def test_large_group_shows_the_largest_lags_or_all() -> None:
    shown = lines(large(100, 10_000))
    assert len(shown) < MEMBERS + ROWS + 15
    assert f"… and {100 - MEMBERS} more; --all shows them" in shown
    assert f"… and {10_000 - ROWS:,} more; --all shows them" in shown
    first = shown[shown.index(f"The {ROWS} partitions with the largest lag:") + 4]
    assert first.startswith("t-9999 ")
    shown = lines(large(100, 1_000), everything=True)
    assert sum(line.startswith("t-") for line in shown) == 1_000
    assert sum(line.startswith("m0") for line in shown) == 100
    assert "--all" not in "".join(shown)


@pytest.mark.parametrize(("members", "partitions"), [(100, 10_000), (3, 50), (100, 5), (2, 3), (0, 100)])
@pytest.mark.parametrize("height", [24, 50])
def test_watched_report_fits_the_terminal(members: int, partitions: int, height: int) -> None:
    empty = GroupState("g", "Empty", "", (), {TopicPartition("t", p): 0 for p in range(partitions)})
    current = large(members, partitions) if members else of_group(empty)
    shown = printed(lambda console: watched_lines(current, console, height))
    assert len(shown) <= height
    if any(line.startswith("…") for line in shown):
        assert len(shown) >= height - 1, "room for more"
        assert "--all" not in "".join(shown)


def test_group_without_members_shows_commits() -> None:
    current = a_report()
    group = replace(current.group, state="Empty", strategy="", members=(), commits={ORDERS[0]: 5})
    reading = Reading({ORDERS[0]: 5}, {ORDERS[0]: Offsets(0, 10, 5)}, {})
    shown = lines(report(group, reading, "latest", ""))
    assert shown[0] == "billing: Empty, 0 members, 1 partition of 1 topic"
    assert not any("member" in line for line in shown[2:])


def test_control_characters_are_escaped() -> None:
    evil = "\x1b[2J[bold]evil\n"
    member = GroupMember(evil, evil, evil, evil, (TopicPartition(evil, 0),))
    group = GroupState(evil, evil, evil, (member, replace(member, member_id="x")), {})
    shown = "".join(lines(of_group(group), width=200))
    assert "\x1b" not in shown
    assert shown.count("[bold]evil") == 12


def test_unreadable_assignments_are_noted() -> None:
    group = replace(a_report().group, members=(replace(M1, owned=(), readable=False),))
    shown = lines(of_group(group))
    assert any("the assignments of some members cannot be read" in line for line in shown)
    assert any(re.match(r"billing-1-1f0c2d34 +10\.0\.0\.7 +\? +\?", line) for line in shown)


@pytest.mark.parametrize("width", [60, 80])
def test_no_number_is_cut(width: int) -> None:
    """Long topics, and offsets of a log that is years old."""
    topic = "a-topic-whose-name-says-all-there-is-to-say-" * 2
    tps = [TopicPartition(topic, p) for p in (7, 1_234)]
    offsets = {
        tp: Offsets(48_000_000_000 + p, 49_000_000_000 + p, 48_500_000_000 + p) for p, tp in enumerate(tps)
    }
    lags = {tp: partition_lag.end - (partition_lag.committed or 0) for tp, partition_lag in offsets.items()}
    group = replace(a_report().group, members=(replace(M1, owned=tuple(tps)),), commits={})
    shown = lines(report(group, Reading(lags, offsets, {}), "earliest", TIME), width=width)
    assert max(map(len, shown)) <= width
    words = {word.rstrip(",") for line in shown for word in line.split()}
    for partition_lag in offsets.values():
        assert {f"{partition_lag.begin:,}", f"{partition_lag.committed:,}", f"{partition_lag.end:,}"} <= words
    assert "1,000,000,000" in words, "of the member"
    assert "…" not in "".join(shown)


# --- the command -------------------------------------------------------------------------------------------


class Script:
    """Scripted looks at the group ``billing``, in the place of ``LagReader``; an interrupt ends them."""

    def __init__(self) -> None:
        self.looks: Iterator[Report | GroupsReport | Exception] = iter([a_report()])
        self.is_closed = False
        self.arguments: dict[str, Any] = {}

    def __call__(self, settings: object, reset: Reset) -> Script:
        self.arguments["reset"] = reset
        return self

    def read(self, names: tuple[str, ...]) -> GroupsReport:
        self.arguments["groups"] = names
        current = next(self.looks, KeyboardInterrupt())
        if isinstance(current, BaseException):
            raise current
        if isinstance(current, GroupsReport):
            return current
        return GroupsReport(TIME, (replace(current, reset=self.arguments["reset"]),), {})

    def close(self) -> None:
        self.is_closed = True


@pytest.fixture
def script(monkeypatch: pytest.MonkeyPatch) -> Script:
    """No cluster; no waiting between looks."""
    script = Script()
    monkeypatch.setattr(cli_lag, "LagReader", script)
    monkeypatch.setattr("time.sleep", lambda _: None)
    return script


def run(*words: str) -> Result:
    return CliRunner(env={"COLUMNS": "80"}).invoke(cli_lag.command, ["billing", "--bootstrap", "h:1", *words])


def test_report_is_printed_once(script: Script) -> None:
    done = run()
    assert (done.exit_code, done.stderr) == (0, "")
    assert done.stdout.splitlines() == lines(a_report())
    assert script.is_closed
    assert script.arguments == {"groups": ("billing",), "reset": "earliest"}


def test_report_is_printed_once_as_json(script: Script) -> None:
    done = run("--output", "json", "--reset", "latest")
    current = json.loads(done.stdout)
    assert current.pop("time")
    assert current == {k: v for k, v in a_report().as_json().items() if k != "time"} | {"reset": "latest"}


@pytest.mark.parametrize("words", [[], ["--watch"]])
def test_failed_first_report_ends_the_command(script: Script, words: list[str]) -> None:
    script.looks = iter([GroupError("there is no group 'billing'")])
    assert isinstance(run(*words).exception, GroupError)
    assert script.is_closed


def test_watch_into_a_pipe_prints_reports_in_turn(script: Script) -> None:
    """Blocks with a line between them, until interrupted; that is no failure."""
    script.looks = iter([a_report()] * 3)
    done = run("--watch")
    assert (done.exit_code, done.stderr) == (0, "")
    first, *others = lines(a_report())
    blocks = [block.splitlines() for block in re.split(r"\n(?=\n\d)", done.stdout.rstrip())]
    assert len(blocks) == 3
    for block in blocks:
        head = " ".join(block[-len(others) - 2 : -len(others)])  # it does not fit into a line
        assert re.fullmatch(rf"\d\d:\d\d:\d\d UTC  {first}", head.strip())
        assert block[-len(others) :] == others
    assert script.is_closed


def test_failed_report_does_not_end_a_watch(script: Script) -> None:
    script.looks = iter([a_report(), BrokerError("it is gone"), a_report()])
    done = run("--watch", "--output", "json")
    assert (done.exit_code, done.stderr) == (0, "note: it is gone\n")
    assert [json.loads(line)["lag"] for line in done.stdout.splitlines()] == [14_450] * 2


def test_watch_has_no_value_so_the_group_may_follow_it(script: Script) -> None:
    done = CliRunner().invoke(cli_lag.command, ["--bootstrap", "h:1", "--watch", "billing"])
    assert (done.exit_code, done.stderr) == (0, "")
    assert script.arguments["groups"] == ("billing",)


def test_empty_group_name_is_refused(script: Script) -> None:
    done = CliRunner().invoke(cli_lag.command, ["", "--bootstrap", "h:1"])
    assert done.exit_code == 2
    assert "GROUP" in done.stderr
    assert script.arguments == {}


@pytest.mark.parametrize("height", [16, 24])
def test_live_frames_show_the_error_and_the_age_of_figures(height: int) -> None:
    current = replace(large(3, 50), time=TIME)
    console = Console(width=80, height=height, highlight=False, color_system=None)
    times = iter([100.0, 107.4, 109.6])
    shown = []
    failures = [BrokerError("it is gone"), BrokerError("a long story " * 9)]
    looks: list[Report | KafkaAssignorsError] = [current, *failures]
    for screen in live_frames(looks, watched_lines, console, lambda: next(times)):
        with console.capture() as captured:
            console.print(screen)
        shown.append(captured.get().splitlines())
    first, second, third = shown
    assert first[0] == "12:00:00 UTC  g: Stable, range, 3 members, 50 partitions of 1 topic"
    assert second[:2] == ["it is gone; the figures below are 7 s old", first[0]]
    assert " ".join(third[:2]).endswith("the figures below are 10 s old")
    assert third[2] == first[0]
    assert {len(screen) for screen in shown} == {height}


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--watch", "--every", "0"], "--every"),
        (["--watch", "--every", "nan"], "'nan' is not a finite number"),
        (["--every", "2"], "--every needs --watch"),
        (["--reset", "none"], "--reset"),
        (["--watch", "--fail-above", "5"], "--fail-above"),
        (["--fail-above", "5 apples"], "--fail-above"),
        (["--bootstrap", "h"], "bootstrap_servers"),
    ],
)
def test_wrong_options_are_usage_errors(script: Script, words: list[str], message: str) -> None:
    done = run(*words)
    assert done.exit_code == 2
    assert message in done.stderr


# --- several groups ----------------------------------------------------------------------------------------


def two_groups() -> GroupsReport:
    other = replace(a_report(), group=replace(a_report().group, group_id="orders"))
    return GroupsReport(TIME, (a_report(), other), {"nowhere": "there is no group 'nowhere'"})


@pytest.mark.parametrize("groups", [["billing", "other"], ["b*"]])
def test_several_groups_are_one_table(script: Script, groups: list[str]) -> None:
    script.looks = iter([two_groups()])
    done = CliRunner(env={"COLUMNS": "80"}).invoke(cli_lag.command, [*groups, "--bootstrap", "h:1"])
    assert script.arguments["groups"] == tuple(groups)
    first, header, _rule, *rows = done.stdout.splitlines()
    assert first == "there is no group 'nowhere'"
    assert header.split() == ["group", "state", "members", "partitions", "lag", "time", "lag"]
    assert [row.split() for row in rows] == [
        ["billing", "Stable", "2", "6", "14,450+?", "6d2h", "!"],
        ["orders", "Stable", "2", "6", "14,450+?", "6d2h", "!"],
    ]
    assert done.exit_code == 1


def test_several_groups_are_one_json(script: Script) -> None:
    script.looks = iter([two_groups()])
    done = run("orders", "--output", "json")
    current = json.loads(done.stdout)
    assert current == {
        "version": 1,
        "time": TIME,
        "groups": [json.loads(json.dumps(report.as_json())) for report in two_groups().reports],
        "problems": [{"group": "nowhere", "problem": "there is no group 'nowhere'"}],
    }
    for name in current:
        assert f"`{name}`" in PAGE


def test_all_shows_the_reports_of_several_groups() -> None:
    shown = printed(groups_lines(two_groups(), everything=True))
    assert "\n".join(lines(a_report())) in "\n".join(shown)


@pytest.mark.parametrize("height", [5, 24])
def test_watched_groups_fit_the_terminal(height: int) -> None:
    group = a_report().group
    reports = (replace(large(2, n), group=replace(group, group_id=f"g{n}")) for n in range(1, 40))
    current = GroupsReport(TIME, tuple(reports), {})
    shown = printed(lambda console: watched_groups_lines(current, console, height))
    assert len(shown) <= height
    assert "g39" in "".join(shown)


# --- rates -------------------------------------------------------------------------------------------------


def with_rates(rates: Mapping[TopicPartition, Rate]) -> Report:
    """Return a report of two partitions, with rates of some."""
    reading = Reading({ORDERS[0]: 1_500, ORDERS[2]: 11_250}, {tp: OFFSETS[tp] for tp in ORDERS[:3:2]}, {})
    return report(a_report().group, reading, "earliest", TIME, InTime(rates=rates))


def test_watched_group_has_rates() -> None:
    rates = {ORDERS[0]: Rate(10, 25, 4), ORDERS[2]: Rate(5, 2, 0)}
    current = with_rates(rates)
    assert "in 15.0/s, out 27.0/s: caught up in 17m42s" in lines(current)
    shown = [line.split() for line in lines(current, width=100)]
    assert ["billing-1-1f0c2d34", "10.0.0.7", "2", "1,500+?", "-", "10.0", "25.0", "1m40s", "4s"] in shown
    assert ["billing-2-9a8b7c6d", "10.0.0.8", "3", "11,250+?", "-", "5.0", "2.0", "-", "0"] in shown
    assert next(line for line in shown if line[:1] == ["orders-0"])[-2:] == ["4s", "billing-1-1f0c2d34"]
    as_json = current.as_json()["partitions"][0]
    assert [as_json[name] for name in NO_RATES] == [10, 25, 100, 4]


def test_time_to_catch_up_is_unknown_if_the_known_lag_is_0_and_other_lag_unknown() -> None:
    """`billing-1` has read all of orders-0; the lag of its other partition is unknown."""
    current = with_rates({ORDERS[0]: Rate(10, 25, 4), ORDERS[2]: Rate(5, 2, 0)})
    read = tuple(replace(p, lag=0) if p.tp == ORDERS[0] else p for p in current.partitions)
    current = replace(current, partitions=read)
    (line,) = (line.split() for line in lines(current, width=100) if line.startswith("billing-1"))
    assert line[3:] == ["0+?", "-", "10.0", "25.0", "-", "4s"]
    (first, _) = current.as_json()["members"]
    assert (first["lag"], first["unknown"], first["catch_up_s"]) == (0, 1, None)


def test_rate_of_a_group_is_unknown_while_that_of_a_partition_with_lag_is() -> None:
    """Its lag would count, and its records not, so the time to catch up would be wrong."""
    current = with_rates({ORDERS[0]: Rate(10, 25, 4)})
    assert current.rate is None
    shown = "\n".join(lines(current, width=100))
    assert "caught up" not in shown
    assert "25.0" in shown, "the rate of the member that has all of its rates"
    assert current.as_json()["partitions"][0]["catch_up_s"] == 100


def test_group_that_rebalances_keeps_its_last_owners() -> None:
    """Also one that has left meanwhile."""
    group = replace(a_report().group, state="PreparingRebalance", members=(replace(M1, owned=()),))
    reading = Reading({ORDERS[0]: 1_500}, {ORDERS[0]: OFFSETS[ORDERS[0]]}, {ORDERS[2]: "why"})
    owners = {ORDERS[0]: M1, ORDERS[2]: M2}
    current = report(group, reading, "earliest", TIME, owners=owners)
    assert [partition.member_id for partition in current.partitions] == [M1.member_id, M2.member_id]
    assert current.by_member() == {M1.member_id: (1, 0, 1_500)}
    assert "billing-2-9a8b7c6d" in "\n".join(lines(current))


# --- limits ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "messages"),
    [
        (["14449"], ["billing: lag 14,450 is above 14,449"]),
        (["14450"], ["billing: lag of 1 partition is unknown"]),
        (["6d"], ["billing: time lag 6d2h is above 6d"]),
        (["500ms"], ["billing: time lag 6d2h is above 500ms"]),
        (["7d"], ["billing: time lag of 2 partitions is unknown"]),
        (["1", "1h"], ["billing: lag 14,450 is above 1", "billing: time lag 6d2h is above 1h"]),
    ],
)
def test_exceeded_or_unknown_limits_end_with_1(script: Script, words: list[str], messages: list[str]) -> None:
    done = run(*(word for limit in words for word in ("--fail-above", limit)))
    assert (done.exit_code, done.stderr.splitlines()) == (1, messages)
    assert done.stdout.splitlines() == lines(a_report())


def test_limit_exceeded_by_less_than_the_shown_digits(script: Script) -> None:
    group = replace(a_report().group, members=(), commits={ORDERS[0]: 118_900})
    reading = Reading({ORDERS[0]: 1_500}, {ORDERS[0]: OFFSETS[ORDERS[0]]}, {})
    script.looks = iter([report(group, reading, "earliest", TIME, InTime({ORDERS[0]: 30.4}))])
    done = run("--fail-above", "30s")
    assert (done.exit_code, done.stderr) == (1, "billing: time lag 30s is just above 30s\n")


def test_kept_limits_end_with_0(script: Script) -> None:
    known = {ORDERS[0]: OFFSETS[ORDERS[0]]}
    reading, ages = Reading({ORDERS[0]: 1_500}, known, {}), InTime({ORDERS[0]: 29})
    group = replace(a_report().group, members=(), commits={ORDERS[0]: 118_900})
    script.looks = iter([report(group, reading, "earliest", TIME, ages)])
    done = run("--fail-above", "1500", "--fail-above", "29s")
    assert (done.exit_code, done.stderr) == (0, "")


SHARE_GROUP = GroupState("billing", NEW_PROTOCOL, "", (), {})
CONNECT_WORKERS = replace(
    SHARE_GROUP, state="Stable", members=(replace(M1, owned=(), readable=False),), protocol_type="connect"
)


@pytest.mark.parametrize(
    ("group", "why"),
    [
        (SHARE_GROUP, "the broker does not describe the members of this group"),
        (CONNECT_WORKERS, "the assignments of some members cannot be read"),
        (replace(SHARE_GROUP, state="PreparingRebalance"), "the group is rebalancing"),
    ],
)
def test_group_without_commits_whose_members_are_unknown_exceeds_every_limit(
    script: Script, monkeypatch: pytest.MonkeyPatch, group: GroupState, why: str
) -> None:
    monkeypatch.setattr(cli_lag, "_SETTLE_S", 0.0)
    script.looks = iter([report(group, Reading({}, {}, {}), "earliest", TIME)])
    done = run("--fail-above", "5")
    assert done.exit_code == 1
    assert done.stderr == f"billing: lag is unknown: {why}, and there are no commits\n"
    assert why in " ".join(done.stdout.split())


def rebalancing(lag: int) -> Report:
    """A group in a rebalance, of which a broker returns no owners: all its commits count."""
    group = replace(a_report().group, state="PreparingRebalance", members=(replace(M1, owned=()),))
    return report(group, Reading({ORDERS[0]: lag}, {}, {}), "earliest", TIME)


def settled(lag: int) -> Report:
    group = replace(a_report().group, members=(M1,))
    owners = {ORDERS[0]: M1}
    return report(group, Reading({ORDERS[0]: lag}, {}, {}), "earliest", TIME, owners=owners)


def test_report_says_that_partitions_are_unknown_during_a_rebalance() -> None:
    """Without a commit, and without an owner from an earlier look, a partition does not count."""
    note = "the group is rebalancing: all commits count, other partitions are unknown"
    assert note in lines(rebalancing(0), width=100)
    assert note not in lines(settled(0), width=100)


@pytest.mark.parametrize(
    ("during", "after", "code"),
    [([900, 900], 5, 0), ([900, 900], 11, 1), ([10], 11, 1)],
    ids=["passes", "fails", "lacks owned partitions without a commit"],
)
def test_group_that_rebalances_is_read_again_before_a_limit_counts(
    script: Script, monkeypatch: pytest.MonkeyPatch, during: list[int], after: int, code: int
) -> None:
    monkeypatch.setattr(cli_lag, "_AGAIN_S", 0.0)
    script.looks = iter([*map(rebalancing, during), settled(after), settled(900)])
    done = run("--fail-above", "10", "--output", "json")
    assert (done.exit_code, json.loads(done.stdout)["lag"]) == (code, after)


def test_group_that_rebalances_for_long_fails_with_the_reason(
    script: Script, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cli_lag, "_SETTLE_S", 0.0)
    script.looks = iter([rebalancing(11)])
    done = run("--fail-above", "10")
    reason = "counting all commits, because the group is rebalancing"
    assert (done.exit_code, done.stderr) == (1, f"billing: lag 11 is above 10, {reason}\n")


@pytest.mark.parametrize(
    ("milliseconds", "text"),
    [(0, "0ms"), (999, "999ms"), (999.7, "1s"), (130_500, "2m10s"), (3_600_000, "1h"), (90_061_000, "1d1h")],
)
def test_durations_have_two_units(milliseconds: float, text: str) -> None:
    assert duration(milliseconds) == text

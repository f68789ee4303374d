"""``kafka-assignors lag``: what it shows of a group, once and again, and how it ends."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from click.testing import CliRunner, Result
from rich.console import Console

from kafka_assignors.cli.lag import command as cli_lag
from kafka_assignors.cli.lag.report import Report, owners, report
from kafka_assignors.cli.lag.view import lag_lines, watched_lines
from kafka_assignors.cli.tables import MEMBERS, ROWS
from kafka_assignors.cli.watch import live_frames
from kafka_assignors.errors import BrokerError, GroupError, KafkaAssignorsError
from kafka_assignors.lag import Offsets, Reading
from kafka_assignors.lag.fetch.group import GroupMember, GroupState
from kafka_assignors.plan import TopicPartition
from tests.support.examples import ROOT
from tests.unit.cli.lag.lagging_group import M1, M2, ORDERS, PAYMENTS, TIME, a_report

PAGE = (ROOT / "docs" / "reference" / "lag.md").read_text(encoding="utf-8")


def lines(
    current: Report, *, everything: bool = False, width: int = 80, height: int | None = None
) -> list[str]:
    """The output at this width; with a height, as --watch shows it on a terminal."""
    console = Console(width=width, highlight=False, color_system=None)
    with console.capture() as captured:
        if height is None:
            console.print(lag_lines(current, everything=everything))
        else:
            console.print(watched_lines(current, console, height))
    return [line.rstrip() for line in captured.get().splitlines()]


def large(members: int, partitions: int) -> Report:
    """Partition n has a lag of n; they are dealt in turn."""
    tps = [TopicPartition("t", p) for p in range(partitions)]
    group = GroupState(
        "g",
        "Stable",
        "range",
        tuple(GroupMember(f"m{m:03}", None, "m", "h", tuple(tps[m::members])) for m in range(members)),
        {},
    )
    offsets = {tp: Offsets(0, tp.partition, 0) for tp in tps}
    return report(group, Reading({tp: tp.partition for tp in tps}, offsets, {}), "earliest", "now")


# --- values ------------------------------------------------------------------------------------------------


def test_partitions_have_an_owner_or_a_commit() -> None:
    assert list(owners(a_report().group)) == [*ORDERS, *PAYMENTS]
    assert owners(a_report().group)[PAYMENTS[1]] is None


def test_totals_of_a_group_and_its_members() -> None:
    current = a_report()
    assert (current.lag, current.unknown) == (1_500 + 0 + 11_250 + 700 + 1_000, 1)
    assert current.by_member() == {M1.member_id: (2, 0, 1_500), M2.member_id: (3, 1, 11_950)}


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


def test_every_option_is_on_the_page() -> None:
    for option in cli_lag.command.params:
        for name in option.opts:
            if name.startswith("--"):
                assert f"`{name}" in PAGE, name


# --- tables ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("width", [60, 80, 120])
def test_no_line_is_wider_than_the_terminal(width: int) -> None:
    current = a_report()
    long = replace(M1, member_id="a-member-with-a-very-long-name-" * 3, client_id="x" * 50)
    group = replace(current.group, members=(long, M2))
    assert max(map(len, lines(report(group, Reading({}, {}, {}), "earliest", ""), width=width))) <= width


def test_each_reason_is_printed_once() -> None:
    tps = [TopicPartition("t", p) for p in range(9)]
    missing = {tp: f"reason {min(tp.partition, 6)}" for tp in tps}
    current = report(
        GroupState("g", "Empty", "", (), dict.fromkeys(tps, 0)), Reading({}, {}, missing), "earliest", ""
    )
    assert lines(current)[1:7] == [
        "lag 0",
        "unknown for 3 partitions (t-6, ...): reason 6",
        "unknown for 1 partition (t-0): reason 0",
        "unknown for 1 partition (t-1): reason 1",
        "unknown for 1 partition (t-2): reason 2",
        "and for 3 other reasons",
    ]


def test_large_group_shows_the_largest_lags() -> None:
    shown = lines(large(100, 10_000))
    assert len(shown) < MEMBERS + ROWS + 15
    assert f"… and {100 - MEMBERS} more; --all shows them" in shown
    assert f"… and {10_000 - ROWS:,} more; --all shows them" in shown
    first = shown[shown.index(f"The {ROWS} partitions with the largest lag:") + 4]
    assert first.startswith("t-9999 ")


def test_all_shows_every_member_and_partition() -> None:
    shown = lines(large(100, 10_000), everything=True)
    assert sum(line.startswith("t-") for line in shown) == 10_000
    assert sum(line.startswith("m0") for line in shown) == 100
    assert "--all" not in "".join(shown)


@pytest.mark.parametrize(("members", "partitions"), [(100, 10_000), (3, 50), (100, 5), (2, 3), (0, 100)])
@pytest.mark.parametrize("height", [24, 50])
def test_watched_report_fits_the_terminal(members: int, partitions: int, height: int) -> None:
    current = large(members, partitions) if members else report(
        GroupState("g", "Empty", "", (), {TopicPartition("t", p): 0 for p in range(partitions)}),
        Reading({}, {}, {}), "earliest", "",
    )  # fmt: skip
    shown = lines(current, height=height)
    assert len(shown) <= height
    if any(line.startswith("…") for line in shown):
        assert len(shown) >= height - 1, "room for more"
        assert "--all" not in "".join(shown)


def test_group_without_members_shows_commits() -> None:
    current = a_report()
    empty = report(
        replace(current.group, state="Empty", strategy="", members=()),
        Reading({ORDERS[0]: 5}, {ORDERS[0]: Offsets(0, 10, 5)}, {}),
        "latest",
        "",
    )
    shown = lines(empty)
    assert shown[0] == "billing: Empty, 0 members, 4 partitions of 2 topics"
    assert not any("member" in line for line in shown[2:])


@pytest.mark.parametrize("what", ["group_id", "strategy", "state"])
def test_control_characters_in_names_are_escaped(what: str) -> None:
    evil = "\x1b[2Jevil\n"
    group = replace(a_report().group, **{what: evil})  # type: ignore[arg-type]  # all of these are text
    assert "\x1b" not in "".join(lines(report(group, Reading({}, {}, {}), "earliest", "")))


def test_control_characters_of_members_are_escaped() -> None:
    evil = "\x1b[2J[bold]evil\n"
    member = GroupMember(evil, evil, evil, evil, (TopicPartition(evil, 0),))
    group = GroupState("g", "Stable", "range", (member, replace(member, member_id="x")), {})
    shown = lines(report(group, Reading({}, {}, {}), "earliest", ""), width=200)
    assert "\x1b" not in "".join(shown)
    assert "[bold]" in "".join(shown)


def test_unreadable_assignments_are_noted() -> None:
    group = replace(a_report().group, members=(replace(M1, owned=(), readable=False),))
    shown = lines(report(group, Reading({}, {}, {}), "earliest", ""))
    assert any("the assignments of some members cannot be read" in line for line in shown)
    assert any(re.match(r"billing-1-1f0c2d34 +10\.0\.0\.7 +\? +\?", line) for line in shown)


@pytest.mark.parametrize("width", [60, 80])
def test_no_number_is_cut(width: int) -> None:
    """Long topics and members, and offsets of a log that is years old."""
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
    """Scripted results of reading a group and its offsets."""

    def __init__(self) -> None:
        self.looks: Iterator[GroupState | Exception] = iter([a_report().group])
        self.closed: list[str] = []
        self.arguments: dict[str, Any] = {}


@pytest.fixture
def script(monkeypatch: pytest.MonkeyPatch) -> Script:
    """No cluster; no waiting between looks; after the last of them comes an interrupt."""
    script = Script()

    class Reader:
        def __init__(self, settings: object, group_id: str) -> None:
            script.arguments["group_id"] = group_id

        def read(self) -> GroupState:
            current = next(script.looks, None)
            if current is None:
                raise KeyboardInterrupt
            if isinstance(current, Exception):
                raise current
            return current

        def close(self) -> None:
            script.closed.append("reader")

    class Fetcher:
        def __init__(self, settings: object, **arguments: Any) -> None:
            script.arguments |= arguments

        def fetch(self, partitions: object, timeout_ms: float, *, all_begins: bool) -> Reading:
            current = a_report().partitions
            return Reading(
                {
                    partition_lag.tp: partition_lag.lag
                    for partition_lag in current
                    if partition_lag.lag is not None
                },
                {
                    partition_lag.tp: partition_lag.offsets
                    for partition_lag in current
                    if partition_lag.offsets
                },
                {
                    partition_lag.tp: partition_lag.missing
                    for partition_lag in current
                    if partition_lag.missing
                },
            )

        def close(self) -> None:
            script.closed.append("fetcher")

    monkeypatch.setattr(cli_lag, "GroupReader", Reader)
    monkeypatch.setattr(cli_lag, "LagFetcher", Fetcher)
    monkeypatch.setattr("time.sleep", lambda _: None)
    return script


def run(*words: str) -> Result:
    return CliRunner(env={"COLUMNS": "80"}).invoke(cli_lag.command, ["billing", "--bootstrap", "h:1", *words])


def test_report_is_printed_once(script: Script) -> None:
    done = run()
    assert (done.exit_code, done.stderr) == (0, "")
    assert done.stdout.splitlines() == lines(a_report())
    assert sorted(script.closed) == ["fetcher", "reader"]
    assert script.arguments == {"group_id": "billing", "auto_offset_reset": "earliest"}


def test_report_is_printed_once_as_json(script: Script) -> None:
    done = run("--output", "json", "--reset", "latest")
    current = json.loads(done.stdout)
    assert current.pop("time")
    assert current == {k: v for k, v in a_report().as_json().items() if k != "time"} | {"reset": "latest"}
    assert script.arguments["auto_offset_reset"] == "latest"


def test_missing_group_is_one_line(script: Script) -> None:
    script.looks = iter([GroupError("there is no group 'billing'")])
    done = run()
    assert isinstance(done.exception, GroupError)
    assert sorted(script.closed) == ["fetcher", "reader"]


def test_watch_into_a_pipe_prints_reports_in_turn(script: Script) -> None:
    """Blocks with a line between them, until interrupted; that is no failure."""
    script.looks = iter([a_report().group] * 3)
    done = run("--watch")
    assert (done.exit_code, done.stderr) == (0, "")
    first, *others = lines(a_report())
    blocks = [block.splitlines() for block in re.split(r"\n(?=\n\d)", done.stdout.rstrip())]
    assert len(blocks) == 3
    for block in blocks:
        head = " ".join(block[-len(others) - 2 : -len(others)])  # it does not fit into a line
        assert re.fullmatch(rf"\d\d:\d\d:\d\d UTC  {first}", head.strip())
        assert block[-len(others) :] == others
    assert sorted(script.closed) == ["fetcher", "reader"]


def test_watch_as_json_prints_a_line_for_each_report(script: Script) -> None:
    script.looks = iter([a_report().group] * 3)
    done = run("--watch", "--every", "0.5", "--output", "json")
    assert [json.loads(line)["lag"] for line in done.stdout.splitlines()] == [14_450] * 3


def test_failed_report_does_not_end_a_watch(script: Script) -> None:
    script.looks = iter([a_report().group, BrokerError("it is gone"), a_report().group])
    done = run("--watch", "--output", "json")
    assert (done.exit_code, done.stderr) == (0, "note: it is gone\n")
    assert len(done.stdout.splitlines()) == 2


def test_failed_first_report_ends_a_watch(script: Script) -> None:
    script.looks = iter([BrokerError("nobody there")])
    assert isinstance(run("--watch").exception, BrokerError)


def test_watch_has_no_value_so_the_group_may_follow_it(script: Script) -> None:
    done = CliRunner().invoke(cli_lag.command, ["--bootstrap", "h:1", "--watch", "billing"])
    assert (done.exit_code, done.stderr) == (0, "")
    assert script.arguments["group_id"] == "billing"


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
    looks: list[Report | KafkaAssignorsError] = [
        current,
        BrokerError("it is gone"),
        BrokerError("a long story " * 9),
    ]
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
        (["--watch", "--every", "often"], "--every"),
        (["--every", "2"], "--every goes with --watch"),
        (["--reset", "none"], "--reset"),
        (["another"], "another"),
        (["--bootstrap", "h"], "bootstrap_servers"),
    ],
)
def test_wrong_options_are_usage_errors(script: Script, words: list[str], message: str) -> None:
    done = run(*words)
    assert done.exit_code == 2
    assert message in done.stderr

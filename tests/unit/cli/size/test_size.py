"""``kafka-assignors size``: the load of two looks, the report, and how the command ends."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace

import pytest
from click.testing import CliRunner, Result
from rich.console import Console

from kafka_assignors.cli.group_lag import owners_of
from kafka_assignors.cli.lag.report import GroupsReport, InTime, Report, report
from kafka_assignors.cli.size import command as cli_size
from kafka_assignors.cli.size.command import SizeRequest, sized
from kafka_assignors.cli.size.load import group_load, measured_rate, partitions_of
from kafka_assignors.cli.size.report import SizeReport, headline, size_lines
from kafka_assignors.errors import GroupError
from kafka_assignors.lag import Offsets, Reading
from kafka_assignors.lag.feed.sources import Expected
from kafka_assignors.lag.fetch.group import GroupMember, GroupState
from kafka_assignors.lag.rates import Rate
from kafka_assignors.pipeline.backtest.simulated import simulated
from kafka_assignors.plan import TopicPartition
from kafka_assignors.simulation.sizing import Target, size
from tests.support.examples import ROOT

TIME = "2026-11-23T12:00:00.000+00:00"
REQUEST = SizeRequest("billing", Target(30), 3600)
PAGE = (ROOT / "docs" / "guides" / "size.md").read_text(encoding="utf-8")


def look(
    rates: Sequence[float],
    lags: Sequence[int],
    members: int = 2,
    *,
    out: float = 1.0,
    strategy: str = "sticky",
) -> Report:
    """A group of one topic, dealt in turn, with these arrivals; a member commits ``out`` of them."""
    tps = [TopicPartition("orders", partition) for partition in range(len(rates))]
    crew = tuple(
        GroupMember(f"m{member}", None, "c", "h", tuple(tps[member::members])) for member in range(members)
    )
    offsets = {tp: Offsets(0, lag, 0) for tp, lag in zip(tps, lags, strict=True)}
    group = GroupState("billing", "Stable", strategy if members else "", crew, dict.fromkeys(tps, 0))
    reading = Reading(dict(zip(tps, lags, strict=True)), offsets, {})
    in_time = InTime(rates={tp: Rate(rate, rate * out, 0.0) for tp, rate in zip(tps, rates, strict=True)})
    return report(group, reading, "earliest", TIME, in_time)


# --- the load ----------------------------------------------------------------------------------------------


def test_load_is_the_arrivals_of_the_look_for_the_horizon() -> None:
    now = look([1.5, 2.0, 0.25], [10, 0, 5])
    load = group_load(now, now, 3600, rate=10)
    assert load.history.topics == {"orders": 3}
    assert load.history.arrivals.tolist() == [[5400, 7200, 900]]
    assert load.history.start_lags.tolist() == [10, 0, 5]
    assert (load.members, load.strategy, load.is_measured, load.notes) == (2, "sticky", False, ())
    assert load.owners is not None
    assert load.owners.tolist() == [0, 1, 0]


def test_forecasts_are_the_second_step_and_do_not_touch_other_partitions() -> None:
    now = look([1, 2], [0, 0])
    expected = Expected({TopicPartition("orders", 0): 600.0}, period_s=60.0, problem="no fresh forecast of 1")
    load = group_load(now, now, 3600, rate=10, expected=expected)
    assert load.history.step_s == 1800
    assert (load.history.arrivals / 1800).tolist() == [[1, 2], [10, 2]]
    assert load.notes == ("no fresh forecast of 1",)


def test_partitions_without_arrivals_or_owner_are_noted_or_planned() -> None:
    now = look([1, 2], [0, 0])
    lost = replace(now.partitions[1], rate=None, owner=None)
    load = group_load(now, replace(now, partitions=(now.partitions[0], lost)), 3600, rate=10)
    assert load.owners is None
    assert load.notes == ("arrivals of 1 partition are unknown and count as none",)


def test_topics_that_no_member_reads_any_more_do_not_count() -> None:
    now = look([1, 2], [0, 0])
    old = replace(now.partitions[0], tp=TopicPartition("old", 4), owner=None)
    assert partitions_of(replace(now, partitions=(*now.partitions, old))) == {"orders": 2}
    assert partitions_of(replace(now, partitions=(old,))) == {"old": 5}


def test_rate_is_that_of_members_with_lag_at_both_looks() -> None:
    rates = [40, 80, 60, 10]  # m0 commits 100/s, m1 90/s
    before, now = look(rates, [900, 5000, 200, 0]), look(rates, [1100, 400, 200, 9000])
    assert measured_rate(before, now) == 95
    assert measured_rate(before, look(rates, [1100, 400, 200, 0])) == 100
    assert measured_rate(look([40, 80], [10, 20]), look([40, 80], [10, 20])) is None
    assert measured_rate(look([40, 80], [900, 900], members=1), look([40, 80], [900, 900])) is None


def test_group_without_partitions_has_no_size() -> None:
    with pytest.raises(GroupError, match="nothing to size"):
        group_load(look([], []), look([], []), 3600, rate=10)


# --- the size ----------------------------------------------------------------------------------------------


def test_size_needs_a_rate_and_a_known_strategy() -> None:
    now = look([1, 2], [0, 0])
    with pytest.raises(GroupError, match="give --rate"):
        sized(now, now, REQUEST, {})
    given = replace(REQUEST, rate=10.0)
    with pytest.raises(GroupError, match="runs 'theirs', which is not in this package: give --strategy"):
        sized(now, look([1, 2], [0, 0], strategy="theirs"), given, {})
    chosen = replace(given, strategy="range")
    assert sized(now, look([1, 2], [0, 0], strategy="theirs"), chosen, {}).strategy == "range"


def test_empty_group_gets_a_size_with_a_note() -> None:
    now = look([8, 8], [0, 0], members=0)
    made = sized(now, now, replace(REQUEST, rate=10.0), {})
    assert (made.sizing.members, made.sizing.advised, made.sizing.is_right) == (None, 2, False)
    assert made.notes == ("the group has no members: sizes are planned with cooperative-sticky (--strategy)",)
    assert headline(made) == "billing: grow from 0 to 2 members for a time lag of 30s"


# --- the report --------------------------------------------------------------------------------------------


def shown_report() -> SizeReport:
    """The report of docs/guides/size.md."""
    now = look([300, 310, 290, 305, 320, 900], [900, 1200, 800, 1000, 950, 4000])
    expected = Expected(
        {
            tp: 60 * rate
            for tp, rate in zip(sorted(owners_of(now.group)), [330, 340, 310, 330, 1500, 400], strict=True)
        },
        period_s=60.0,
    )
    load = group_load(now, now, 3600, rate=1200.0, expected=expected)
    sizing = size(load.history, simulated("cooperative-sticky"), Target(30), members=2, owners=load.owners)
    return SizeReport("billing", TIME, "cooperative-sticky", sizing, is_measured=False)


def lines(report: SizeReport) -> list[str]:
    console = Console(width=120, highlight=False, color_system=None)
    with console.capture() as captured:
        console.print(size_lines(report))
    return [line.rstrip() for line in captured.get().splitlines()]


def test_page_shows_the_report() -> None:
    assert "\n".join(lines(shown_report())) in PAGE


def test_json_has_all_figures() -> None:
    made = shown_report()
    parsed = json.loads(json.dumps(made.as_json()))
    assert (parsed["version"], parsed["group"], parsed["time"]) == (1, "billing", TIME)
    assert (parsed["members"], parsed["advised"], parsed["rate"]) == (2, made.sizing.advised, 1200)
    assert [step["starts_s"] for step in parsed["steps"]] == [0, 1800]
    assert parsed["steps"][0]["limit"]["topic"] == "orders"
    assert parsed["hot"][0]["partition"] == 4
    assert parsed["stay"]["members"] == 2
    assert parsed["scale"]["moved"] > 0


# --- the command -------------------------------------------------------------------------------------------


class Looks:
    """A ``LagReader`` with these looks."""

    def __init__(self, *looks: Report) -> None:
        self.looks = list(looks)
        self.closed = False

    def __call__(self, settings: object, reset: str) -> Looks:
        return self

    def read(self, names: Sequence[str]) -> GroupsReport:
        return GroupsReport(TIME, (self.looks.pop(0),), {})

    def close(self) -> None:
        self.closed = True


def run(monkeypatch: pytest.MonkeyPatch, looks: Looks, *words: str) -> Result:
    monkeypatch.setattr(cli_size, "LagReader", looks)
    common = ("billing", "--bootstrap", "b:9092", "--max-time-lag", "30s", "--every", "1ms")
    return CliRunner().invoke(cli_size.command, [*common, *words])


def test_exit_code_says_whether_the_size_is_right(monkeypatch: pytest.MonkeyPatch) -> None:
    for members, code in ((2, 1), (4, 0), (8, 1)):
        now = look([7, 7, 7, 7], [0, 0, 0, 0], members)
        looks = Looks(now, now)
        result = run(monkeypatch, looks, "--rate", "10", "--output", "json")
        assert result.exit_code == code
        assert json.loads(result.stdout)["advised"] == 4
        assert looks.closed
    result = run(monkeypatch, Looks(now, now), "--rate", "20")
    assert result.stdout.startswith("billing: shrink from 8 to 2 members for a time lag of 30s\n")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--max-time-lag", "30"), "expected a time"),
        (("--max-time-lag", "0s"), "expected a time"),
        (("--headroom", "1"), "--headroom"),
        (("--strategy", "unknown"), "--strategy"),
    ],
)
def test_wrong_options_are_usage_errors(
    monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...], message: str
) -> None:
    result = run(monkeypatch, Looks(), *words)
    assert result.exit_code == 2
    assert message in result.output


def test_group_has_to_be_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cli_size, "LagReader", Looks())
    result = CliRunner().invoke(cli_size.command, ["bill*", "--max-time-lag", "30s"])
    assert (result.exit_code, "one group" in result.output) == (2, True)

"""``kafka-assignors watch`` in a terminal of 80 and of 140 columns, and its keys."""

from __future__ import annotations

import asyncio
import re
import threading
from collections.abc import Callable, Coroutine, Iterator, Sequence
from dataclasses import replace
from typing import Any

import pytest
from click.testing import CliRunner
from rich.text import Text

from kafka_assignors.cli.watch_group import command as cli_watch
from kafka_assignors.cli.watch_group import rebalance_log
from kafka_assignors.cli.watch_group.app import WatchApp
from kafka_assignors.cli.watch_group.history import SeenRebalance
from kafka_assignors.cli.watch_group.rebalance_log import RebalanceLog
from kafka_assignors.cli.watch_group.source import GroupLag, GroupSource, Observation
from kafka_assignors.cli.watch_group.text import rebalance_lines
from kafka_assignors.errors import BrokerError, GroupError, KafkaAssignorsError, LagError
from tests.support.examples import ROOT
from tests.unit.cli.watch_group.watched import FIRST_ROUND, START, THREE, TWO, look, member, snapshot

PAGE = (ROOT / "docs" / "guides" / "watch.md").read_text(encoding="utf-8")
LOOKS = (
    look(snapshot(0, *TWO), orders_0=1_500, orders_2=11_250),
    look(snapshot(2, *FIRST_ROUND), orders_0=1_500, orders_2=11_250),
    look(snapshot(4, *THREE), orders_0=1_500, orders_2=11_250),
)
NEVER_S = 3600.0


class FakeSource(GroupSource):
    """Returns or raises one look after the other, and then the last one again.

    ``lag`` is the lag of all looks: by default the look's own.
    """

    def __init__(self, *looks: Observation | Exception, lag: GroupLag | Exception | None = None) -> None:
        self.looks = list(looks)
        self.lag = lag
        self.may_answer, self.may_answer_lag = threading.Event(), threading.Event()
        self.may_answer.set()
        self.may_answer_lag.set()

    def read(self) -> Observation:
        self.may_answer.wait()
        current = self.looks.pop(0) if len(self.looks) > 1 else self.looks[0]
        if isinstance(current, Exception):
            raise current
        return current

    def read_lag(self, look: Observation) -> GroupLag:
        self.may_answer_lag.wait()
        if isinstance(self.lag, Exception):
            raise self.lag
        return self.lag or look.lag

    def close(self) -> None:
        """Do nothing."""


def screen(app: WatchApp) -> str:
    """Return the text on the screen."""
    strips = app.screen._compositor.render_strips()
    return "\n".join("".join(segment.text for segment in strip).rstrip() for strip in strips)


def watched(
    test: Callable[[WatchApp, Any], Coroutine[Any, Any, None]],
    looks: Sequence[Observation | KafkaAssignorsError] = LOOKS,
    size: tuple[int, int] = (80, 24),
    source: FakeSource | None = None,
    interval_s: float = NEVER_S,
) -> None:
    """Run a test in the application, after it has taken the looks."""

    async def run() -> None:
        first, *others = looks
        assert isinstance(first, Observation)
        app = WatchApp(source or FakeSource(first), first, interval_s, clock=lambda: START + 9)
        async with app.run_test(size=size) as pilot:
            for look in others:
                app.show(look)
                if isinstance(look, Observation):
                    app.show_lag(look.lag)
            await pilot.pause()
            await test(app, pilot)

    asyncio.run(run())


def shown(*keys: str, **settings: Any) -> str:
    """Return the screen after the looks and the keys."""
    shown = ""

    async def press(app: WatchApp, pilot: Any) -> None:
        nonlocal shown
        await pilot.press(*keys)
        await pilot.pause()
        shown = screen(app)

    watched(press, **settings)
    return shown


def first_cells(text: str) -> list[str]:
    """Return the first words of the table's rows."""
    return re.findall(r"^ (worker-\d|[a-z]+-\d+)", text.partition("─rebalances")[0], re.MULTILINE)


# --- the screen ----------------------------------------------------------------------------------------


def test_page_shows_the_screen() -> None:
    block = re.search(r"^```text\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE)
    assert block is not None
    assert shown(size=(80, 16)).rstrip() == block[1].rstrip()


def test_wide_screen_has_group_members_cause_and_moves() -> None:
    text = shown(size=(140, 40))
    for part in (
        "billing  Stable  cooperative-sticky  generation ≥ 6",
        "worker-2-9a8b7c6d  10.0.0.8      2  11,250  orders 2; payments 1",
        "orders 3  worker-2-9a8b7c6d → worker-3-5e6f7081: revoked in an earlier round",
        "q quit",
    ):
        assert part in text


def test_rebalancing_group_shows_the_last_known_partitions() -> None:
    text = shown(looks=[LOOKS[0], look(snapshot(1, *TWO, state="PreparingRebalance"))])
    assert "rebalancing since 12:00:01" in text
    assert "partitions before" in text
    assert re.search(r"worker-1-1f0c2d34 .*orders 0-1; payments 0", text)


def test_empty_group() -> None:
    text = shown(looks=[look(snapshot(0, state="Empty"))])
    assert "billing  Empty" in text
    assert "no rebalance seen since 12:00:00, when this view opened" in text


def test_long_ids_are_shortened_in_the_middle() -> None:
    name = "an-application-with-a-rather-long-client-id-in-production-{}-consumer"
    looks = [look(snapshot(0, *(member(name.format(n), f"orders-{n}") for n in (1, 2))))]
    assert (
        len(re.findall(r"^ an-application\S+…\S*-[12]-consumer +10", shown(looks=looks), re.MULTILINE)) == 2
    )
    assert name.format(1) in shown(looks=looks, size=(140, 24))


# --- keys ----------------------------------------------------------------------------------------------


def test_sort_key_changes_the_order() -> None:
    assert first_cells(shown()) == ["worker-1", "worker-2", "worker-3"]
    by_lag = shown("s")
    assert "lag ▼" in by_lag
    assert first_cells(by_lag) == ["worker-2", "worker-1", "worker-3"]


def test_partitions_key_shows_partitions_and_sort_key_passes_over_their_columns() -> None:
    text = shown("p", "s")
    assert first_cells(text)[:2] == ["orders-2", "orders-0"]
    assert re.search(r"orders-2 +11,250  worker-2", text)
    columns = [re.findall(r"(\S+) ▼", shown("p", *["s"] * presses)) for presses in range(4)]
    assert columns == [["partition"], ["lag"], ["member"], ["partition"]]
    assert re.findall(r"(\S+) ▼", shown("s", "s", "s", "p")) == ["partition"]  # it has no hosts


def test_frozen_screen_stays_and_rebalances_are_recorded() -> None:
    async def test(app: WatchApp, pilot: Any) -> None:
        await pilot.press("f")
        for current in LOOKS[1:]:
            app.show(current)
        await pilot.pause()
        frozen = screen(app)
        assert "frozen: press f" in frozen
        assert "worker-3" not in frozen
        await pilot.press("f")
        await pilot.pause()
        assert "second-round" in screen(app)

    watched(test, looks=LOOKS[:1])


@pytest.mark.parametrize("key", ["q", "ctrl+c"])
def test_quit_key_ends_while_the_broker_does_not_answer(key: str) -> None:
    source = FakeSource(LOOKS[0])
    source.may_answer.clear()

    async def test(app: WatchApp, pilot: Any) -> None:
        await pilot.press(key)
        assert app.return_code == 0

    watched(test, source=source, interval_s=0.01)
    source.may_answer.set()


# --- polling -------------------------------------------------------------------------------------------


def test_view_stays_while_the_broker_is_away_and_comes_back() -> None:
    away = BrokerError("no Kafka broker answers at localhost:9092: timed out")

    async def test(app: WatchApp, pilot: Any) -> None:
        text = screen(app)
        one_line = " ".join(text.split())
        assert f"not read since 12:00:04, 5 s ago: {away}" in one_line
        assert "worker-2-9a8b7c6d" in text
        app.show(look(snapshot(12, *THREE)))
        await pilot.pause()
        assert "not read since" not in screen(app)

    watched(test, looks=[*LOOKS, away])


@pytest.mark.parametrize("failure", [BrokerError("away"), ValueError("odd bytes")])
def test_polling_goes_on_after_a_failure(failure: Exception) -> None:
    source = FakeSource(failure, failure, LOOKS[1])

    async def test(app: WatchApp, pilot: Any) -> None:
        while "joined (worker-3" not in screen(app):
            await pilot.pause(0.01)

    watched(test, looks=LOOKS[:1], source=source, interval_s=0.01)


def test_slow_lag_does_not_delay_looks() -> None:
    source = FakeSource(*LOOKS[1:])
    source.may_answer_lag.clear()

    async def test(app: WatchApp, pilot: Any) -> None:
        while "joined (worker-3" not in screen(app) or "second-round" not in screen(app):
            await pilot.pause(0.01)

    try:
        watched(test, looks=[replace(LOOKS[0], lag=GroupLag())], source=source, interval_s=0.01)
    finally:
        source.may_answer_lag.set()


@pytest.mark.parametrize("failure", [LagError("no leader answers"), ValueError("odd bytes")])
def test_last_lag_stays_when_it_cannot_be_read(failure: Exception) -> None:
    source = FakeSource(LOOKS[0], lag=failure)

    async def test(app: WatchApp, pilot: Any) -> None:
        while "lag not read: " not in screen(app):
            await pilot.pause(0.01)
        assert "lag 12,750" in screen(app)

    watched(test, looks=LOOKS[:1], source=source)


def test_lines_of_a_rebalance_are_made_once_for_a_width(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[tuple[float, int]] = []

    def lines(rebalance: SeenRebalance, width: int, now_s: float) -> Iterator[Text]:
        made.append((rebalance.time_s - START, width))
        return rebalance_lines(rebalance, width, now_s)

    monkeypatch.setattr(rebalance_log, "rebalance_lines", lines)

    async def test(app: WatchApp, pilot: Any) -> None:
        for _ in range(3):
            app.show(LOOKS[-1])
            await pilot.press("s", "p")
        assert sorted(made) == [(2, 78), (4, 78)]
        app.query_one("#log", RebalanceLog).draw(app._newest.rebalances, 98, START)
        assert sorted(made) == [(2, 78), (2, 98), (4, 78), (4, 98)]

    watched(test)


def test_dropped_rebalances_leave_the_log() -> None:
    async def test(app: WatchApp, pilot: Any) -> None:
        log = app.query_one("#log", RebalanceLog)
        log.draw(app._newest.rebalances[1:], 78, START)
        await pilot.pause()
        text = screen(app).partition("─rebalances")[2]
        assert "12:00:04" in text
        assert "12:00:02" not in text

    watched(test)


# --- the command ---------------------------------------------------------------------------------------


def run() -> tuple[int, str, BaseException | None]:
    result = CliRunner().invoke(cli_watch.command, ["billing", "--bootstrap", "localhost:9092"])
    return result.exit_code, result.output, result.exception


def test_without_a_terminal_one_line_names_the_alternative() -> None:
    code, output, _ = run()
    assert code == 1
    assert output == ("Error: watch needs a terminal; without one use `kafka-assignors lag GROUP --watch`\n")


@pytest.mark.parametrize("error", [BrokerError("away"), GroupError("there is no group 'billing'")])
def test_failure_of_the_first_look_opens_no_screen(
    monkeypatch: pytest.MonkeyPatch, error: KafkaAssignorsError
) -> None:
    """``cli.run`` prints such an error as one line, with exit code 1."""
    monkeypatch.setattr(cli_watch, "_has_terminal", lambda: True)
    monkeypatch.setattr(cli_watch, "GroupSource", lambda *_: FakeSource(error))
    code, output, raised = run()
    assert (code, output, raised) == (1, "", error)

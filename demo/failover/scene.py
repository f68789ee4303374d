"""The third scene: a stateful group meets the same events twice, first without copies, then with them."""

from __future__ import annotations

import itertools
import shutil
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence

from demo.data.events import Flight, backlog
from demo.data.flight_samples import partition_of
from demo.failover.acts import FIRST, HEARTBEAT_MS, NEWCOMER, RATE, TASKS, VICTIM, Act, acts, changelog_of
from demo.failover.counting import line_of
from demo.failover.counts import compare_counts
from demo.failover.measure import measure_failover
from demo.failover.results import FailoverResult
from demo.group.logs import Entry
from demo.member.start import StatefulConfig
from demo.scenes.stage import Place, Stage, staged
from demo.view.live import View

START_TIMEOUT = 120.0  # s
COUNT_TIMEOUT = 60.0  # s, on top of the time to count the flights at `SLOWEST`
SLOWEST = 200.0  # records/s; any group counts at least this fast
SETTLE_TIMEOUT = 120.0  # s
SENT_TIMEOUT = 30.0  # s
CALM = 1.0  # s without a change before a group counts as settled
CAUGHT_UP = RATE / 2  # records; the lag at most
COMPARE = "compare the counts"
STEPS = (
    "count the flights",
    "cold: one joins",
    "cold: one is killed",
    "start again, with standbys",
    "warm: one joins",
    "warm: one is killed",
    "drain",
    COMPARE,
)


def run_failover(
    place: Place, flights: Sequence[Flight], first: int, view: View, *, session_timeout_ms: int
) -> FailoverResult:
    """Run the scene from the first join to the comparison of the counts.

    ``first`` flights are counted before anything happens; the others are the traffic after them.  If there
    are no others, the first ones are repeated.
    """
    changelog, state = changelog_of(place.topic), place.folder / "state"
    try:
        with staged(place, view, STEPS, changelog) as stage:
            scene = _Scene(stage, session_timeout_ms, first)
            scene.perform(flights)
            stage.begin(COMPARE)
            view.step("failover: comparing the counts")
            ends = stage.cluster.end_offsets(changelog, TASKS)
            size = stage.cluster.log_bytes(changelog)
            result = measure_failover(stage.logs(len(FIRST)), session_timeout_ms / 1e3, first, ends, size)
            _, warm = acts(first)
            folders = [state / warm.store_dir(member) for member in (*FIRST, NEWCOMER)]
            compare_counts(result["counts"], folders, place.topic, ends, scene.sent)
            return result
    finally:
        shutil.rmtree(state, ignore_errors=True)


class _Scene:
    """The course of the scene; after the first flights, records come all the while.

    In the cold act a task moves to a member without its state.  In the warm act the same group begins again,
    from the same changelog, with standbys and warm-ups.
    """

    def __init__(self, stage: Stage, session_timeout_ms: int, first: int) -> None:
        self._stage, self._session_timeout_ms, self._first = stage, session_timeout_ms, first
        self._over = False
        self.sent: Counter[bytes] = Counter()  # by line

    def perform(self, flights: Sequence[Flight]) -> None:
        stage, first = self._stage, self._first
        cold, warm = acts(first)
        try:
            with stage.members(cold.name):
                self._begin(cold, "start")
                self._count(flights[:first])
                traffic = steady(flights[first:] or flights, TASKS, RATE, lambda: self._over)
                stage.traffic(noted(traffic, self.sent)).start()
                self._join(cold)
                self._kill(cold)
                self._say("start again, with standbys", "all leave, and begin again with standbys")
            with stage.members(warm.name):
                self._begin(warm, "start again, and build standbys")
                self._join(warm)
                self._kill(warm)
                self._say("drain", "no more is sent")
                self._over = True
                stage.until(stage.all_sent, "the last records to be acknowledged", SENT_TIMEOUT)
                stage.drain(SETTLE_TIMEOUT)
        finally:
            self._over = True

    def _say(self, step: str, text: str) -> None:
        self._stage.begin(step)
        self._stage.view.step(f"failover: {text}")

    def _start(self, act: Act, member: str) -> None:
        self._stage.start(
            member,
            StatefulConfig,
            client_id=member,
            store_dir=str(self._stage.place.folder / "state" / act.store_dir(member)),
            standbys=act.standbys,
            recovery_lag=act.recovery_lag,
            warmups=act.warmups,
            session_timeout_ms=self._session_timeout_ms,
            heartbeat_ms=HEARTBEAT_MS,
        )

    def _begin(self, act: Act, text: str) -> None:
        stage, names = self._stage, " and ".join(FIRST)
        stage.note("act", act.name)
        stage.view.step(f"failover: {names} {text}")
        for member in FIRST:
            self._start(act, member)
        balanced = self._balanced(act, len(FIRST))
        stage.until(balanced, f"{names} to share all tasks", START_TIMEOUT)

    def _balanced(self, act: Act, members: int) -> Callable[[], bool]:
        stage = self._stage
        return lambda: stage.watch.balanced(members, act.standbys) and stage.is_calm(CALM)

    def _count(self, flights: Sequence[Flight]) -> None:
        """Have the first flights counted, as fast as the group can."""
        stage, first = self._stage, self._first
        stage.begin("count the flights", count=lambda: stage.watch.processed, total=first)
        stage.view.step(f"failover: {first:,} flights to count")
        stage.traffic(noted(backlog(flights, first), self.sent)).start()
        timeout = COUNT_TIMEOUT + first / SLOWEST
        stage.until(stage.all_sent, "the flights to be sent", timeout)
        stage.until(lambda: stage.watch.processed >= first, "the flights to be counted", timeout)
        stage.note("counted", str(stage.cluster.log_bytes(changelog_of(stage.place.topic))))

    def _join(self, act: Act) -> None:
        self._rest(act)
        self._say(f"{act.name}: one joins", f"{act.name}: {NEWCOMER} joins")
        self._stage.note("join", NEWCOMER)
        self._start(act, NEWCOMER)
        self._settle(act, len(FIRST) + 1)

    def _kill(self, act: Act) -> None:
        self._rest(act)
        self._say(f"{act.name}: one is killed", f"{act.name}: kill -9 {VICTIM}")
        self._stage.kill(VICTIM)
        self._settle(act, len(FIRST))

    def _rest(self, act: Act) -> None:
        """Wait for standbys and for low lag, then for some calm seconds; log the changelog's end offsets."""
        stage, topic = self._stage, changelog_of(self._stage.place.topic)
        stage.until(
            lambda: stage.watch.copies_up_to_date(act.recovery_lag) and stage.watch.lag() <= CAUGHT_UP,
            "standbys to be up to date and the lag to be low",
            SETTLE_TIMEOUT,
        )
        stage.note("calm")
        end = time.monotonic() + act.quiet_s
        while time.monotonic() < end:
            stage.tick()
        for task, offset in sorted(stage.cluster.end_offsets(topic, TASKS).items()):
            stage.log.write(Entry(time.monotonic_ns(), "changelog", (task,), last=offset))

    def _settle(self, act: Act, members: int) -> None:
        """Wait until the group is balanced and has caught up after an event."""
        stage, balanced = self._stage, self._balanced(act, members)
        settled = stage.reached(lambda: balanced() and stage.watch.lag() <= CAUGHT_UP, SETTLE_TIMEOUT)
        stage.note("settled", "" if settled else f"not settled within {SETTLE_TIMEOUT:g} s")


def noted(due: Iterator[tuple[float, Flight]], tally: Counter[bytes]) -> Iterator[tuple[float, Flight]]:
    """Yield the same flights; count each in the ``tally`` of its line."""
    for at, flight in due:
        tally[line_of(flight.key, flight.value)] += 1
        yield at, flight


def steady(
    flights: Sequence[Flight], tasks: int, rate: float, over: Callable[[], bool]
) -> Iterator[tuple[float, Flight]]:
    """Yield ``rate`` flights a second until ``over``, one for each task in turn.

    In the order of departure, a task with few destinations would have nothing to do for seconds.
    """
    by_task: dict[int, list[Flight]] = {}
    for flight in flights:
        by_task.setdefault(partition_of(flight.key, tasks), []).append(flight)
    turns = itertools.cycle([itertools.cycle(by_task[task]) for task in sorted(by_task)])
    for number, turn in enumerate(turns):
        if over():
            return
        yield number / rate, next(turn)

"""The third scene: what happens to the stateful group, in order."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Literal

from demo.data.events import Flight, backlog
from demo.failover.acts import FIRST, NEWCOMER, RATE, VICTIM, Act, acts
from demo.failover.stage import FailoverStage

START_TIMEOUT = 120.0  # s
COUNT_TIMEOUT = 60.0  # s, and what the flights take a member that does no more than...
SLOWEST = 200.0  # records/s
SETTLE_TIMEOUT = 120.0  # s
CALM = 1.0  # s without a change before a group counts as settled
CAUGHT_UP = RATE / 2  # records; of lag

Kind = Literal["join", "kill"]


def perform(stage: FailoverStage, flights: Sequence[Flight], first: int) -> None:
    """Count the flights, then let the same happen to the group twice: one joins, one is killed.

    Cold, a task goes to a member that has nothing of its state.  Then the same group begins again, from the
    same changelog, with standbys and warm-ups.  Records come all the while.

    Args:
        stage: where.
        flights: those to begin with, and those that follow.
        first: how many there are to begin with.

    Raises:
        KafkaAssignorsError: a member failed, or something took too long.
        BrokerError: the broker ended or refused.
    """
    cold, warm = acts(first)
    with stage.act(cold):
        _begin(stage, cold, f"{' and '.join(FIRST)} start")
        _count(stage, flights, first)
        stage.send_steadily(flights[first:] or flights)
        _event(stage, cold, "join", "cold: one joins")
        _event(stage, cold, "kill", "cold: one is killed")
        stage.say("start again, with standbys", "all leave, and begin again with standbys")
    with stage.act(warm):
        _begin(stage, warm, f"{' and '.join(FIRST)} start again, and build standbys")
        _event(stage, warm, "join", "warm: one joins")
        _event(stage, warm, "kill", "warm: one is killed")
        stage.say("drain", "no more is sent")
        stage.stop_sending()
        drained = stage.reached(lambda: _drained(stage), SETTLE_TIMEOUT)
        stage.note("end", "" if drained else f"not drained within {SETTLE_TIMEOUT:g} s")


def _begin(stage: FailoverStage, act: Act, text: str) -> None:
    stage.view.step(f"failover: {text}")
    for member in FIRST:
        stage.start(member)
    stage.until(
        lambda: stage.watch.balanced(len(FIRST), act.standbys) and _calm(stage),
        f"{' and '.join(FIRST)} to share all tasks",
        START_TIMEOUT,
    )


def _count(stage: FailoverStage, flights: Sequence[Flight], first: int) -> None:
    """Have the flights to begin with counted, as fast as it goes."""
    stage.say("count the flights", f"{first:,} flights to count")
    stage.total = first
    stage.send(backlog(flights[:first], first))
    timeout = COUNT_TIMEOUT + first / SLOWEST
    stage.until(stage.all_sent, "the flights to be sent", timeout)
    stage.until(lambda: stage.watch.processed >= first, "the flights to be counted", timeout)
    stage.total = None
    stage.note("counted", str(stage.changelog_bytes()))


def _event(stage: FailoverStage, act: Act, kind: Kind, step: str) -> None:
    """Something happens to a group that is at rest; wait until it is at rest again."""
    _rest(stage, act)
    stage.note_changelog()
    if kind == "join":
        stage.note("join", NEWCOMER)
        stage.start(NEWCOMER)
        members = [*FIRST, NEWCOMER]
        stage.say(step, f"{act.name}: {NEWCOMER} joins")
    else:
        stage.kill(VICTIM)
        stage.note("kill", VICTIM)  # after it: what the member logged until it was dead is before it
        members = [name for name in (*FIRST, NEWCOMER) if name != VICTIM]
        stage.say(step, f"{act.name}: kill -9 {VICTIM}")
    settled = stage.reached(
        lambda: (
            stage.watch.balanced(len(members), act.standbys)
            and stage.watch.lag() <= CAUGHT_UP
            and _calm(stage)
        ),
        SETTLE_TIMEOUT,
    )
    stage.note("settled", "" if settled else f"not settled within {SETTLE_TIMEOUT:g} s")


def _rest(stage: FailoverStage, act: Act) -> None:
    """Wait until standbys are up to date and there is no lag, then for some seconds of nothing."""
    stage.until(
        lambda: stage.watch.copies_up_to_date(act.recovery_lag) and stage.watch.lag() <= CAUGHT_UP,
        "standbys to be up to date",
        SETTLE_TIMEOUT,
    )
    stage.note("calm")
    end = time.monotonic() + act.quiet_s
    while time.monotonic() < end:
        stage.tick()


def _calm(stage: FailoverStage) -> bool:
    return time.monotonic_ns() - stage.watch.last_change >= CALM * 1e9


def _drained(stage: FailoverStage) -> bool:
    committed = stage.committed()
    return not stage.watch.lag() and all(
        committed.get(task, 0) == end for task, end in stage.watch.next_offsets().items()
    )

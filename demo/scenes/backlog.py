"""The second scene: a backlog that is there before any consumer is, and a group that works it off."""

from __future__ import annotations

import time
from collections.abc import Sequence

from demo.data.events import Flight, backlog
from demo.data.replay import Replay
from demo.figures.drain import least_largest
from demo.scenes.stage import Stage
from kafka_assignors.simulation.churn import first_members


def perform(stage: Stage, flights: Sequence[Flight]) -> None:
    """Fill, start the members, let them go at once, drain, check, dismiss; see `run` for what it raises.

    The members are held until all of them have joined and are warm.  Otherwise those that start first would
    work through some of it alone, and how much would be the machine's doing, not the strategy's.

    Strategies have no options here, `rebalance_on_skew` neither: all members are equally fast, so who begins
    with equal loads ends with the others (within half a second, measured), and nothing is left to even out.
    """
    settings = stage.settings
    _fill(stage, flights)
    stage.phase, stage.zero = "starting", time.monotonic()
    stage.view.step(f"{settings.backlog:,} records are waiting, starting {settings.consumers} members")
    members = first_members(settings.consumers)
    for member in members:
        stage.start(member, held=True)
    stage.settle()
    least = least_largest(settings.backlog, stage.watch.heaviest(), settings.consumers)
    stage.duration = least * settings.work_ms / 1e3
    stage.zero, stage.phase = time.monotonic(), "draining"
    stage.watch.count_moves()
    stage.note("go")
    for member in members:
        stage.fleet.go(member)
    stage.view.step(f"go; {stage.duration:.1f} s is the least it can take")
    stage.drain(settings.backlog_timeout)
    stage.dismiss()


def _fill(stage: Stage, flights: Sequence[Flight]) -> None:
    """Send the whole backlog."""
    stage.phase, stage.to_send = "filling", stage.settings.backlog
    due = backlog(flights, stage.settings.backlog)
    filling = Replay(stage.place.bootstrap, stage.place.topic, due, stage.log)
    filling.start()
    try:
        while not filling.finished.is_set():
            stage.tick()
            filling.check()
    finally:
        filling.stop()
    filling.check()
    stage.note("sent_all")
    stage.tick()  # the last acknowledgements count too

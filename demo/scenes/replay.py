"""The first scene: flights replayed as they come, into a group that changes."""

from __future__ import annotations

import time
from collections.abc import Sequence

from demo.data.events import Flight, schedule
from demo.data.replay import Replay
from demo.scenes.stage import Stage
from kafka_assignors.simulation.churn import first_members


def perform(stage: Stage, flights: Sequence[Flight]) -> None:
    """Start, replay with churn, drain, check, and let the members go; see `run` for what it raises."""
    settings = stage.settings
    stage.acts = settings.acts()
    for member in first_members(settings.consumers):
        stage.start(member)
    stage.settle()
    due = schedule(flights, settings.speed, settings.duration)
    replay = Replay(stage.place.bootstrap, stage.place.topic, due, stage.log)
    stage.zero, stage.phase = time.monotonic(), "replaying"
    stage.note("replay")
    stage.watch.count_moves()
    replay.start()
    try:
        while not replay.finished.is_set() or stage.acted < len(stage.acts):
            _act(stage)
            stage.tick()
            replay.check()
    finally:
        replay.stop()
    replay.check()
    stage.note("sent_all", f"{replay.latest * 1e3:.1f}")
    stage.phase = "draining"
    stage.tick()  # the last acknowledgements count too
    stage.view.step(f"all {sum(stage.watch.next_offsets().values()):,} records sent, draining")
    stage.drain(settings.drain_timeout)
    stage.dismiss()


def _act(stage: Stage) -> None:
    """Do the steps of the churn that are due."""
    while stage.acted < len(stage.acts) and stage.elapsed >= stage.acts[stage.acted].at:
        act = stage.acts[stage.acted]
        stage.acted += 1
        if act.kind == "kill":
            # The note comes after: what the member logged until it was dead is before it.
            stage.fleet.kill(act.member)
            stage.note(act.kind, act.member)
            stage.watch.died(act.member)
        else:
            stage.note(act.kind, act.member)
            if act.kind == "join":
                stage.start(act.member)
            else:
                stage.fleet.leave(act.member)
        stage.view.step(f"{act.kind} {act.member}")

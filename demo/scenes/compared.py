"""The scenes that compare strategies: flights replayed into a group that changes, and a backlog to drain."""

from __future__ import annotations

import time
from collections.abc import Sequence

from demo.data.events import Flight, backlog, schedule
from demo.figures.drain import least_largest
from demo.group.logs import RunLogs
from demo.member.start import WorkerConfig
from demo.scenes.stage import Place, Stage, staged
from demo.settings import Settings
from demo.view.live import View
from kafka_assignors.simulation.churn import Act, client_id, first_members

START_TIMEOUT = 45.0  # s until the first members share all partitions
CALM = 0.5  # s without a change of ownership and without a warm-up before the work begins


def run(settings: Settings, flights: Sequence[Flight], place: Place, view: View) -> RunLogs:
    """Run one strategy: all its members join, process the records and commit.

    If the records were not drained in time, the note of the logs' ``end`` says so.
    """
    is_replay = place.scene == "replay"
    acts = [str(act) for act in settings.acts()] if is_replay else []
    before = ("members join",) if is_replay else ("fill", "members join")
    with staged(place, view, (*before, *acts, "drain")) as stage:
        scene = _Scene(stage, settings)
        with stage.members():
            if is_replay:
                scene.replay(flights)
            else:
                scene.backlog(flights)
        return stage.logs(settings.consumers)


class _Scene:
    def __init__(self, stage: Stage, settings: Settings) -> None:
        self._stage, self._settings = stage, settings

    def replay(self, flights: Sequence[Flight]) -> None:
        """Replay flights as they come, with churn."""
        stage, settings, acts = self._stage, self._settings, self._settings.acts()
        self._start_first()
        replay = stage.traffic(schedule(flights, settings.speed, settings.duration))
        zero, acted = time.monotonic(), 0
        stage.note("replay")
        replay.start()
        while not replay.finished.is_set() or acted < len(acts):
            while acted < len(acts) and time.monotonic() - zero >= acts[acted].at:
                self._act(acts[acted])
                acted += 1
            stage.begin(
                str(acts[acted]) if acted < len(acts) else "drain",
                count=lambda: int(time.monotonic() - zero),
                total=round(settings.duration),
                unit=" s",
            )
            stage.tick()
        stage.note("sent_all", f"{replay.lateness * 1e3:.1f}")
        stage.begin("drain")
        stage.tick()  # the last acknowledgements count too
        stage.view.step(f"all {stage.watch.sent:,} records sent, draining")
        stage.drain(settings.drain_timeout)

    def backlog(self, flights: Sequence[Flight]) -> None:
        """Fill the topic, start the members, release them at once, drain.

        The members are held until all of them have joined and are warm.  Otherwise the first ones would
        process a part of the backlog alone, which depends on the machine and not on the strategy.

        Strategies have no options here, not even `rebalance_on_skew`: all members are equally fast, so
        members with equal loads finish within half a second of each other (measured), and no skew arises.
        """
        stage, settings = self._stage, self._settings
        stage.begin("fill", count=lambda: stage.watch.sent, total=settings.backlog)
        stage.traffic(backlog(flights, settings.backlog)).start()
        while not stage.all_sent():
            stage.tick()
        stage.note("sent_all")
        stage.tick()  # the last acknowledgements count too
        stage.view.step(f"{settings.backlog:,} records are waiting, starting {settings.consumers} members")
        self._start_first(held=True)
        least = least_largest(settings.backlog, stage.watch.heaviest, settings.consumers)
        stage.note("go")
        for member in first_members(settings.consumers):
            stage.go(member)
        stage.view.step(f"go; {least * settings.work_ms / 1e3:.1f} s is the least it can take")
        stage.begin("drain", count=lambda: stage.watch.processed, total=settings.backlog)
        stage.drain(settings.backlog_timeout)

    def _start(self, member: str, *, held: bool = False) -> None:
        settings = self._settings
        self._stage.start(
            member,
            WorkerConfig,
            client_id=client_id(member),
            strategy=self._stage.place.strategy,
            work_ms=settings.work_ms,
            warm_up_ms=settings.warm_up_ms,
            session_timeout_ms=settings.session_timeout_ms,
            heartbeat_ms=settings.heartbeat_ms,
            batch=settings.batch,
            held=held,
        )

    def _start_first(self, *, held: bool = False) -> None:
        """Start the first members; wait until each has its share and is warm, and nothing changes."""
        stage, watch, settings = self._stage, self._stage.watch, self._settings
        stage.begin("members join")
        for member in first_members(settings.consumers):
            self._start(member, held=held)
        sharing = min(settings.consumers, settings.partitions)

        def shared() -> bool:
            owners = watch.owners()
            settled = None not in owners and len(set(owners)) >= sharing and watch.all_open()
            return settled and stage.is_calm(CALM)

        stage.until(shared, "the first members to share all partitions", START_TIMEOUT)

    def _act(self, act: Act) -> None:
        stage, member = self._stage, act.member
        if act.kind == "kill":
            stage.kill(member)
        else:
            stage.note(act.kind, member)
            if act.kind == "join":
                self._start(member)
            else:
                stage.leave(member)
        stage.view.step(str(act))

"""Pure: a recorded run as a history and a scenario that can be simulated."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from demo.figures import ownership, processing
from demo.figures.measure import NS, RunLogs
from demo.figures.pace import WINDOW_S, pace
from demo.group.logs import Entry
from demo.results import SettingsResult
from kafka_assignors.errors import KafkaAssignorsError
from kafka_assignors.pipeline.backtest.simulated import simulated
from kafka_assignors.simulation import History, Pauses, Scenario
from kafka_assignors.simulation.churn import KINDS, ChurnStep

STEP_S = 0.1
_STEP_NS = 100_000_000
TOPIC = "flights"
ASKS_S = 0.26  # s from a member's first log entry until it asks to join: connecting, metadata; measured


class Recording(NamedTuple):
    """What was recorded, and what has to be put into a simulation to see it again."""

    history: History
    scenario: Scenario


def recording(strategy: str, logs: RunLogs, settings: SettingsResult) -> Recording:
    """Make a simulation's input of one run.

    From the run itself come what arrived when, who owned what at the start, the script as it was carried out,
    how fast a member reads, and how long a new process takes to start; these are the machine's doing.  From
    the settings come the costs that the demo makes up.  How long a rebalance takes, who gets what in it and
    what moves is left to the simulation.

    Args:
        strategy: wire name.
        logs: all that the run wrote.
        settings: what was asked of it.

    Raises:
        KafkaAssignorsError: the run was not finished, or nobody was ever busy in it.
    """
    scene = "replay" if any(entry.event == "replay" for entry in logs.driver) else "backlog"
    zero = logs.driver_entry("replay" if scene == "replay" else "go").t
    end = logs.driver_entry("end").t
    arrivals, waiting = _arrivals(logs, zero, end)
    found = pace(logs, settings["batch"], zero, end)
    history = History(
        group=f"{scene}/{strategy}",
        step_s=STEP_S,
        topics={TOPIC: logs.partitions},
        arrivals=arrivals,
        start_lags=waiting,
        service_rate=found.service_rate,
        pace=np.repeat(found.by_window, round(WINDOW_S / STEP_S))[: len(arrivals)],
    )
    steps = [e for e in logs.driver if e.event in KINDS and zero <= e.t < end]
    owners = ownership.owners_at(ownership.holds(logs.members, {}, end), zero)
    if len(owners) < logs.partitions:
        raise KafkaAssignorsError(f"{strategy}: partitions had no owner when the work began")
    return Recording(
        history,
        Scenario(
            history=history.group,
            strategy=simulated(strategy),
            members=logs.consumers,
            churn=tuple(
                ChurnStep(kind, (e.t - zero) / NS) for e in steps for kind in KINDS if kind == e.event
            ),
            pauses=Pauses(
                start_s=_start_s(logs, steps),
                heartbeat_s=settings["heartbeat_ms"] / 1e3,
                warm_up_s=settings["warm_up_ms"] / 1e3,
                session_timeout_s=settings["session_timeout_ms"] / 1e3,
                continuous=settings.get("continuous", False),
            ),
            owners=tuple(owners[partition] for partition in range(logs.partitions)),
        ),
    )


def _arrivals(
    logs: RunLogs, zero: int, last: int
) -> tuple[np.ndarray[tuple[int, int], np.dtype[np.int64]], np.ndarray[tuple[int], np.dtype[np.int64]]]:
    """Records by step and partition, and those there were before ``zero`` ns."""
    steps = max(-(-(last - zero) // _STEP_NS), 1)
    arrivals = np.zeros((steps, logs.partitions), np.int64)
    waiting = np.zeros(logs.partitions, np.int64)
    for partition, entries in processing.sent_by_partition(logs.driver).items():
        for entry in entries:
            records = entry.last - entry.first + 1
            if entry.t < zero:
                waiting[partition] += records
            else:
                arrivals[min((entry.t - zero) // _STEP_NS, steps - 1), partition] += records
    return arrivals, waiting


def _start_s(logs: RunLogs, steps: Sequence[Entry]) -> float:
    """How long, on average, a member that joined took until it asked to."""
    took: list[float] = []
    for step in steps:
        started = [e.t for e in logs.members.get(step.note, ()) if e.event == "started"]
        if step.event == "join" and started:
            took.append((started[0] - step.t) / NS + ASKS_S)
    return sum(took) / len(took) if took else 0.0

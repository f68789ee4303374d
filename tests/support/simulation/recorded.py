"""Pure: a recorded run as a history and a scenario for the simulation."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from demo.figures import ownership, processing
from demo.group.logs import NS, RunLogs
from demo.pipeline.trials import pauses, start_s
from demo.results import SettingsResult
from kafka_assignors.errors import KafkaAssignorsError
from kafka_assignors.pipeline.backtest.simulated import simulated
from kafka_assignors.simulation import History, Scenario
from kafka_assignors.simulation.churn import KINDS, ChurnStep

STEP_S = 0.1
_STEP_NS = 100_000_000
TOPIC = "flights"
WINDOW_S = 1.0
_LONG_ENOUGH = 0.25  # the least busy part of a window, all members together


class Recording(NamedTuple):
    """A recorded run for the simulation."""

    history: History
    scenario: Scenario


def recording(strategy: str, logs: RunLogs, settings: SettingsResult) -> Recording:
    """Return a simulation's input of one run.

    From the run itself come arrivals, the owners at the start, the churn as it was carried out, the members'
    pace and the start time of a new process; these depend on the machine.  From the settings come the costs
    that the demo makes up.  The length of a rebalance, its plan and its moves are left to the simulation.

    A run that was not finished, or in which no member was ever busy, is an error.
    """
    scene = "replay" if any(entry.event == "replay" for entry in logs.driver) else "backlog"
    zero = logs.driver_entry("replay" if scene == "replay" else "go").t
    end = logs.driver_entry("end").t
    arrivals, waiting = _arrivals(logs, zero, end)
    rate, by_window = pace(logs, settings["batch"], zero, end)
    history = History(
        group=f"{scene}/{strategy}",
        step_s=STEP_S,
        topics={TOPIC: logs.partitions},
        arrivals=arrivals,
        start_lags=waiting,
        service_rate=rate,
        pace=np.repeat(by_window, round(WINDOW_S / STEP_S))[: len(arrivals)],
    )
    steps = [e for e in logs.driver if e.event in KINDS and zero <= e.t < end]
    owners = ownership.owners_at(ownership.find_holds(logs.members, {}, end), zero)
    if len(owners) < logs.partitions:
        raise KafkaAssignorsError(f"{strategy}: partitions had no owner when the work began")
    scenario = Scenario(
        history=history.group,
        strategy=simulated(strategy),
        members=logs.consumers,
        churn=tuple(ChurnStep(kind, (e.t - zero) / NS) for e in steps for kind in KINDS if kind == e.event),
        pauses=pauses(settings, start_s(logs)),
        owners=tuple(owners[partition] for partition in range(logs.partitions)),
    )
    return Recording(history, scenario)


def _arrivals(logs: RunLogs, zero: int, last: int) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Return the records by step and partition, and the waiting ones before ``zero`` ns."""
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


def pace(logs: RunLogs, enough: int, begin: int, end: int) -> tuple[float, npt.NDArray[np.float64]]:
    """Measure the speed of members that have enough to read, with polls, logs and commits.

    It comes from the times between two records of a member, if at least ``enough`` records waited for it
    after the first of them and no rebalance or warm-up came in between; all members together, because they
    share a machine.

    Return records/s, and multiples of it per window of ``WINDOW_S``; 1 where no member was busy long enough.
    ``enough`` is the most records a poll returns: with less there are more polls a record.
    """
    windows = math.ceil((end - begin) / NS / WINDOW_S)
    records, busy = np.zeros(windows), np.zeros(windows)
    for start, stop, read in _busy(logs, enough):
        if begin <= start and stop < end:
            window = int((stop - begin) / NS / WINDOW_S)
            records[window] += read
            busy[window] += (stop - start) / NS
    if not busy.any():
        raise KafkaAssignorsError("no member had enough to read for long enough to measure its speed")
    rate = float(records.sum() / busy.sum())
    known = busy >= WINDOW_S * _LONG_ENOUGH
    return rate, np.where(known, records / np.where(known, busy, 1.0) / rate, 1.0)


def _busy(logs: RunLogs, enough: int) -> Iterator[tuple[int, int, int]]:
    """Yield begin and end (ns) of a member's uninterrupted work, and its records."""
    sent: defaultdict[int, int] = defaultdict(int)
    reached: defaultdict[int, int] = defaultdict(int)
    owned: defaultdict[str, set[int]] = defaultdict(set)
    before: dict[str, int] = {}  # when a member that had enough processed its last record
    entries = [("", entry) for entry in logs.driver if entry.event == "sent"]
    entries += [(member, entry) for member, log in logs.members.items() for entry in log]
    for member, entry in sorted(entries, key=lambda named: named[1].t):
        if entry.event == "sent":
            sent[entry.partitions[0]] = entry.last + 1
            continue
        if entry.event != "done":
            before.pop(member, None)
            if entry.event == "assigned":
                owned[member] |= set(entry.partitions)
            elif entry.event in {"revoked", "lost"}:
                owned[member] -= set(entry.partitions)
            continue
        if member in before:
            yield before[member], entry.t, entry.last - entry.first + 1
        partition = entry.partitions[0]
        reached[partition] = max(reached[partition], entry.last + 1)
        if sum(max(sent[p] - reached[p], 0) for p in owned[member]) >= enough:
            before[member] = entry.t
        else:
            before.pop(member, None)

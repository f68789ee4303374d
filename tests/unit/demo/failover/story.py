"""The failover's logs made by hand: two tasks, in seconds; and what is made of them."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain

from demo.failover.measure import measure_events
from demo.failover.results import CountsResult, FailoverResult
from demo.group.logs import Entry, RunLogs
from tests.unit.demo.story import S, at, sent


def records(task: int, first: int, *times: float) -> list[Entry]:
    """Records of a task, one after the other, each when it was processed."""
    return [Entry(round(t * S), "done", (task,), offset, offset) for offset, t in enumerate(times, first)]


def restored(t: float, task: int, count: int) -> Entry:
    return Entry(round(t * S), "restored", (task,), last=count)


def state(t: float, *ready: int, generation: int, probing: bool = False) -> Entry:
    return at(t, "state", *ready, generation=generation, note="probing" if probing else "")


def ends(t: float, *of_tasks: int) -> list[Entry]:
    return [Entry(round(t * S), "changelog", (task,), last=end) for task, end in enumerate(of_tasks)]


def by_time(*entries: Entry | Iterable[Entry]) -> list[Entry]:
    """As one process writes them."""
    lists = ([entry] if isinstance(entry, Entry) else entry for entry in entries)
    return sorted(chain.from_iterable(lists), key=lambda entry: entry.t)


def two_acts() -> RunLogs:
    """Cold, m3 takes task 0 from m1 and is killed; m2 goes on.  Then the same warm, 40 s later.

    Records come every 0.5 s.  Cold, m3 restores 105 records of task 0 from 13.6 s on, and is ready at 16 s;
    it does its last record at 22.9 s, is killed at 23 s, and m2 restores 125 and does task 0 from 31.2 s on:
    two records again, and the first new one at 31.4 s.  Warm, m3 has read 200 records before m1 lets go, and
    takes 3 more; and m2's standby takes 7 more after the kill.
    """
    driver = [
        at(1, "act", note="cold"),
        sent(2, 0, 0, 40),
        sent(2, 1, 0, 79),
        at(5, "counted", note="1000000"),
        at(10, "calm"),
        *ends(12.9, 100, 50),
        at(13, "join", note="m3"),
        at(20, "settled"),
        at(20, "calm"),
        *ends(22.9, 120, 60),
        at(23, "kill", note="m3"),
        at(33, "settled"),
        at(41, "act", note="warm"),
        at(50, "calm"),
        *ends(52.9, 200, 90),
        at(53, "join", note="m3"),
        at(60, "settled"),
        at(60, "calm"),
        *ends(62.9, 220, 95),
        at(63, "kill", note="m3"),
        at(73, "settled", note="not settled within 10 s"),
        at(80, "end"),
    ]
    cold = {
        "m1": by_time(
            state(1.5, 0, generation=1),
            records(0, 0, 10, 10.5, 11, 11.5, 12, 12.5, 13, 13.5),
            state(13.6, generation=2),
        ),
        "m2": by_time(
            state(1.5, 1, generation=1),
            records(1, 0, *(10 + 0.5 * n for n in range(9)), 14.8, *(15 + 0.5 * n for n in range(37))),
            state(13.6, 1, generation=2),
            state(13.9, 1, generation=3),
            state(29, 1, generation=4),
            restored(30.5, 0, 125),
            state(31, 0, 1, generation=4),
            records(0, 21, 31.2, 31.3, 31.4, 31.9, 32.4, 32.9),
        ),
        "m3": by_time(
            state(13.2, generation=-1),
            state(13.6, generation=2),
            at(13.6, "warmups", 0),
            at(13.9, "warmups"),
            restored(13.7, 0, 40),
            restored(15.9, 0, 105),
            state(16, 0, generation=3),
            records(0, 8, 16.1, *(16.4 + 0.5 * n for n in range(14))),
        ),
    }
    warm = {
        "m1": by_time(
            state(41.5, 0, generation=6),
            records(0, 27, 50, 50.5, 51, 51.5, 52, 52.5, 53, 53.5, 54, 54.5, 55),
            state(53.5, 0, generation=7, probing=True),
            at(54.5, "probe"),
            state(55.2, generation=8),
            at(59, "probe"),
        ),
        "m2": by_time(
            state(41.5, 1, generation=6),
            restored(49, 0, 90),
            records(1, 47, *(50 + 0.5 * n for n in range(46))),
            restored(62.7, 0, 100),
            restored(69, 0, 107),
            state(69.5, 0, 1, generation=10),
            records(0, 49, 69.6, 70.1, 70.6, 71.1, 71.6, 72.1, 72.6),
        ),
        "m3": by_time(
            state(53.5, generation=7),
            at(53.5, "warmups", 0),
            restored(54.9, 0, 200),
            at(55.4, "warmups"),
            restored(55.6, 0, 203),
            state(55.7, 0, generation=9),
            records(0, 38, 55.8, *(56 + 0.5 * n for n in range(9)), 62.8),
        ),
    }
    return RunLogs(
        partitions=2,
        consumers=2,
        driver=driver,
        members={
            **{f"cold/{name}": log for name, log in cold.items()},
            **{f"warm/{name}": log for name, log in warm.items()},
        },
    )


def failover() -> FailoverResult:
    """As the story, had it counted 1,000 flights, two of them twice."""
    return FailoverResult(
        flights=1_000,
        tasks=2,
        rate=4.0,
        counting=3.0,
        bytes_counted=1_000_000,
        bytes=2_500_000,
        changelog=400,
        sent=121,
        processed=121,
        lost=0,
        fault="",
        events=measure_events(two_acts(), 6.0),
        counts=CountsResult(records=121, lines=5, counted=123, doubles=2, again=2, copies=4, differences=[]),
    )

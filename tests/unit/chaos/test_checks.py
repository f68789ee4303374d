"""Each chaos check reports histories that break its law, and no others."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from typing import Any

import pytest

from tests.integration.chaos.checks import (
    commits_beyond_reads,
    duplicate_updates,
    even,
    fallen_commits,
    late_revocations,
    losses_without_cause,
    ownership_errors,
    reads_out_of_order,
    shared_partitions,
    single_active,
    taken_partitions,
    uncommitted,
    unread_records,
)
from tests.integration.chaos.event_log import Event, EventKind, EventLog, Position

T = "t"


def history(*lines: tuple[str, EventKind, list[tuple[int, int]]]) -> list[EventLog]:
    """Make event logs from lines in time order: member, kind, (partition, offset or generation)s."""
    clock, events = count(), dict[str, list[Event]]()
    for member, kind, positions in lines:
        generation = positions[0][1] if kind is EventKind.OWNED else -1
        event = Event(next(clock), kind, tuple(Position(T, *position) for position in positions), generation)
        events.setdefault(member, []).append(event)
    return [EventLog(member, tuple(its)) for member, its in events.items()]


def read(member: str, *offsets: int, partition: int = 0) -> tuple[str, EventKind, list[tuple[int, int]]]:
    return member, EventKind.READ, [(partition, offset) for offset in offsets]


def commit(member: str, offset: int, partition: int = 0) -> tuple[str, EventKind, list[tuple[int, int]]]:
    return member, EventKind.COMMIT, [(partition, offset)]


def committed(member: str, offset: int) -> tuple[str, EventKind, list[tuple[int, int]]]:
    return member, EventKind.COMMITTED, [(0, offset)]


def change(member: str, kind: EventKind, *partitions: int) -> tuple[str, EventKind, list[tuple[int, int]]]:
    return member, kind, [(partition, 0) for partition in partitions]


def owns(member: str, generation: int, *partitions: int) -> tuple[str, EventKind, list[tuple[int, int]]]:
    return member, EventKind.OWNED, [(partition, generation) for partition in partitions]


def commits(*offsets: int, partition: int = 0) -> list[Position]:
    return [Position(T, partition, offset) for offset in offsets]


SECOND = 10**9


def lost(*, confirmed_s: float, joined_s: float = 0.0, at_s: float = 10.0) -> list[EventLog]:
    """Make the log of a member that joined, sent its last accepted heartbeat and lost a partition."""
    times = {EventKind.OWNED: joined_s, EventKind.CONFIRMED: confirmed_s, EventKind.LOST: at_s}
    events = [Event(int(time_s * SECOND), kind, (Position(T, 0),)) for kind, time_s in times.items()]
    return [EventLog("a", tuple(events))]


P0, P1, P7 = (T, 0), (T, 1), (T, 7)
ASSIGNED, REVOKED, LOST = EventKind.ASSIGNED, EventKind.REVOKED, EventKind.LOST

KEYS = {Position(T, 0, offset): b"even" if offset % 2 == 0 else b"odd" for offset in range(9)}
EVEN, ODD = (0, b"even"), (0, b"odd")
ODD_TWICE = history(read("a", 0, 1), read("b", 1, 2))
# A former owner that does not know yet may read a committed record again, without a commit.
COMMITTED = history(read("a", 0, 1, 2, 3), committed("a", 2), read("b", 0, 1, 2, 3))
COMMITTED_LATE = history(read("a", 0, 1), read("b", 0, 1), committed("a", 2))

HEARTBEAT_MISSING = (Event(0, EventKind.OWNED, (Position(T, 0),)), Event(SECOND, LOST, (Position(T, 0),)))
OUTAGES = [(5 * SECOND, 8 * SECOND)]

BEGIN_A = change("a", ASSIGNED, 0)
BEGIN_A1 = change("a", ASSIGNED, 1)
BEGIN_BOTH = change("a", ASSIGNED, 0, 1)
END_A = change("a", REVOKED, 0)
LOST_A = change("a", LOST, 0)
BEGIN_B = change("b", ASSIGNED, 0)
END_B = change("b", REVOKED, 0)
RESTARTED = history(owns("0-1", 1, 0), owns("0-2", 1, 0))

ALLOWED: list[str] = []
REPORTED = None
"""One complaint, in any words."""
CASES: dict[Callable[..., list[str]], dict[str, tuple[Any, ...]]] = {
    unread_records: {
        "read by any member": (ALLOWED, commits(0, 1, 2), ODD_TWICE),
        "skipped": (
            ["t-0: 2 acknowledged records were never read, the first at [1, 2]"],
            commits(0, 1, 2, 3),
            history(read("a", 0, 3)),
        ),
        "equal offset of another partition": (REPORTED, commits(0, partition=1), history(read("a", 0))),
        "only committed": (REPORTED, commits(0), history(commit("a", 1))),
    },
    duplicate_updates: {
        "none": (ALLOWED, {}, KEYS, ODD_TWICE),
        "record read twice": (ALLOWED, {ODD: 1}, KEYS, ODD_TWICE),
        "another key": (REPORTED, {EVEN: 1}, KEYS, ODD_TWICE),
        "another partition": (REPORTED, {(1, b"odd"): 1}, KEYS, ODD_TWICE),
        "more updates than reads": (
            ["partition 0: 2 updates of b'odd' were done twice, and 1 of its uncommitted records read again"],
            {ODD: 2},
            KEYS,
            ODD_TWICE,
        ),
        "uncommitted records": (ALLOWED, {EVEN: 1, ODD: 1}, KEYS, COMMITTED),
        "committed record": (REPORTED, {EVEN: 2}, KEYS, COMMITTED),
        "record committed later": (ALLOWED, {EVEN: 1, ODD: 1}, KEYS, COMMITTED_LATE),
    },
    commits_beyond_reads: {
        "another member's reads": (
            ALLOWED,
            history(read("a", 0, 1), read("b", 2), commit("b", 3), commit("a", 2)),
        ),
        "beyond the last read record": (
            ["a committed t-0 up to 3 before 2 was read"],
            history(read("a", 0, 1), commit("a", 3)),
        ),
        "beyond a gap": (REPORTED, history(read("a", 0, 2), commit("a", 3))),
        "before the read": (REPORTED, history(commit("a", 1), read("a", 0))),
        "gap read by another member": (ALLOWED, history(read("a", 0, 2), read("b", 1), commit("a", 3))),
    },
    fallen_commits: {
        "rise or stay": (ALLOWED, [*commits(1, 3, 3), *commits(0, partition=1), *commits(4)], []),
        "below the last one": (
            ["the commit of t-0 fell from 3 to 2"],
            commits(3, 2, 3),
            history(commit("a", 3), commit("b", 2)),
        ),
        "deleted": (["the commit of t-0 fell from 3 to -1"], commits(3, -1), []),
        "overtaken by the same member's next one": (
            ALLOWED,
            commits(1, 3, 2, 4),
            history(*(commit("a", offset) for offset in (1, 2, 3, 4))),
        ),
        "sent again after a higher one": (
            REPORTED,
            commits(2, 3, 2),
            history(commit("a", 2), commit("a", 3), commit("a", 2)),
        ),
        "overtaken by another member's": (
            REPORTED,
            commits(2, 3, 2),
            history(commit("a", 2), commit("b", 3)),
        ),
    },
    losses_without_cause: {
        "after the session": (ALLOWED, lost(confirmed_s=7.0), 3.0, []),
        "within the session": (
            ["a lost its membership 2.5 s after a heartbeat"],
            lost(confirmed_s=7.5),
            3.0,
            [],
        ),
        "without an accepted heartbeat": (ALLOWED, [EventLog("a", HEARTBEAT_MISSING)], 3.0, []),
        "after a restart of the broker": (ALLOWED, lost(confirmed_s=9.0, joined_s=4.0), 3.0, OUTAGES),
        "joined after the restart": (REPORTED, lost(confirmed_s=9.0, joined_s=8.5), 3.0, OUTAGES),
        "before the restart": (REPORTED, lost(confirmed_s=3.5, joined_s=3.0, at_s=4.5), 3.0, OUTAGES),
    },
    reads_out_of_order: {
        "ownerships begin at any offset, and one may be kept": (
            ALLOWED,
            history(BEGIN_A, read("a", 5, 6), END_A, BEGIN_A, read("a", 2, 3), BEGIN_A1, read("a", 4)),
        ),
        "gap": (["a read t-0 at 2, and 1 was next"], history(BEGIN_A, read("a", 0, 2))),
        "twice": (["a read t-0 at 0, and 1 was next"], history(BEGIN_A, read("a", 0, 0))),
        "back": (["a read t-0 at 0, and 2 was next"], history(BEGIN_A, read("a", 1, 0))),
        **{
            f"after {end[1].name}": (
                ["a read t-0 at 1 without owning it"],
                history(BEGIN_A, read("a", 0), end, read("a", 1)),
            )
            for end in (END_A, LOST_A)
        },
    },
    shared_partitions: {
        "another generation": (ALLOWED, history(owns("a", 1, 0), owns("b", 1, 1), owns("b", 2, 0, 1))),
        "one generation": (
            ["generation 1: t-0 was given to ['a', 'b']"],
            history(owns("a", 1, 0), owns("b", 1, 0)),
        ),
        "two members": (REPORTED, RESTARTED),
        "restarted static member": (ALLOWED, RESTARTED, lambda member: member[0]),
    },
    late_revocations: {
        "assigned after the revocation": (
            ALLOWED,
            history(owns("a", 1, 0, 1), BEGIN_BOTH, owns("a", 2, 1), END_A, owns("b", 2, 0), BEGIN_B),
        ),
        "assigned before the revocation": (
            ["generation 2: t-0 was assigned to b while a, a member of it, still had it"],
            history(owns("a", 1, 0, 1), BEGIN_BOTH, owns("a", 2, 1), owns("b", 2, 0), BEGIN_B, END_A),
        ),
        "expelled member keeps partitions until it notices": (
            ALLOWED,
            history(owns("a", 1, 0), BEGIN_A, owns("b", 2, 0), BEGIN_B, LOST_A, owns("a", 3, 1)),
        ),
        "expelled member applies its last assignment late": (
            ALLOWED,
            history(owns("b", 2, 1), owns("b", 3, 0, 1), BEGIN_B, owns("a", 2, 0), BEGIN_A, LOST_A, END_B),
        ),
    },
    taken_partitions: {
        "taken by the next generation": (
            ["generation 2: a had to give up t-0"],
            history(owns("a", 1, 0, 1), owns("b", 1, 2), owns("a", 2, 1, 3), owns("b", 2, 0, 2)),
            4,
        ),
        "lost before": (ALLOWED, history(owns("a", 1, 0), LOST_A, owns("a", 2, 1)), 2),
        "generation missed": (ALLOWED, history(owns("a", 1, 0), owns("a", 3, 1)), 2),
        "above the checked ones": (ALLOWED, history(owns("a", 1, 0, 1), owns("a", 2, 0)), 1),
    },
    ownership_errors: {
        "one owner for each": (ALLOWED, {"a": [P0], "b": [P1]}, {P0, P1}),
        "no owner": (["t-1 has 0 owners"], {"a": [P0], "b": []}, {P0, P1}),
        "two owners": (["t-1 has 2 owners"], {"a": [P0, P1], "b": [P1]}, {P0, P1}),
        "missing partition": (["t-7 has 1 owners"], {"a": [P0, P7]}, {P0}),
    },
    uncommitted: {
        "all": (ALLOWED, {P0: 3, P1: 0}, {P0: 3}),
        "below the end": (["t-0: 2 of 3 records are committed"], {P0: 3}, {P0: 2}),
        "no commit": (["t-0: 0 of 3 records are committed"], {P0: 3}, {}),
        "beyond the end": (REPORTED, {P0: 3}, {P0: 4}),
    },
    even: {
        "difference of 1": (ALLOWED, {"a": [P0, P1], "b": [P7]}),
        "difference of 2": (REPORTED, {"a": [P0, P1], "b": []}),
    },
    single_active: {
        "one": (ALLOWED, {"a": [P0, P1], "b": []}),
        "two": (REPORTED, {"a": [P0], "b": [P1]}),
        "none": (REPORTED, {"a": [], "b": []}),
    },
}


@pytest.mark.parametrize(
    ("check", "complaints", "arguments"),
    [
        pytest.param(check, complaints, arguments, id=f"{check.__name__}: {name}")
        for check, cases in CASES.items()
        for name, (complaints, *arguments) in cases.items()
    ],
)
def test_check_reports_what_breaks_its_law(
    check: Callable[..., list[str]], complaints: list[str] | None, arguments: list[Any]
) -> None:
    reported = check(*arguments)
    assert len(reported) == 1 if complaints is None else reported == complaints

"""Each chaos check reports histories that break its law, and no others."""

from __future__ import annotations

from itertools import count

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


# --- unread records ---


def test_record_read_by_any_member_counts_as_read() -> None:
    logs = history(read("a", 0, 1), read("b", 1, 2))
    assert not unread_records([Position(T, 0, offset) for offset in range(3)], logs)


def test_skipped_record_is_reported() -> None:
    (complaint,) = unread_records([Position(T, 0, offset) for offset in range(4)], history(read("a", 0, 3)))
    assert complaint == "t-0: 2 acknowledged records were never read, the first at [1, 2]"


def test_equal_offset_of_another_partition_does_not_count_as_read() -> None:
    assert unread_records([Position(T, 1, 0)], history(read("a", 0)))


def test_commit_does_not_count_as_read() -> None:
    assert unread_records([Position(T, 0, 0)], history(commit("a", 1)))


# --- updates ---


KEYS = {Position(T, 0, offset): b"even" if offset % 2 == 0 else b"odd" for offset in range(9)}
EVEN, ODD = (0, b"even"), (0, b"odd")


def test_duplicate_updates_need_records_of_their_key_read_twice() -> None:
    logs = history(read("a", 0, 1), read("b", 1, 2))
    assert not duplicate_updates({}, KEYS, logs)
    assert not duplicate_updates({ODD: 1}, KEYS, logs)
    for doubles in ({EVEN: 1}, {(1, b"odd"): 1}):
        assert duplicate_updates(doubles, KEYS, logs)
    assert duplicate_updates({ODD: 2}, KEYS, logs) == [
        "partition 0: 2 updates of b'odd' were done twice, and 1 of its uncommitted records read again"
    ]


def test_committed_record_is_not_updated_twice() -> None:
    """A former owner that does not know yet may read it again, without a commit."""
    logs = history(read("a", 0, 1, 2, 3), committed("a", 2), read("b", 0, 1, 2, 3))
    assert not duplicate_updates({EVEN: 1, ODD: 1}, KEYS, logs)
    assert duplicate_updates({EVEN: 2}, KEYS, logs)
    late = history(read("a", 0, 1), read("b", 0, 1), committed("a", 2))
    assert not duplicate_updates({EVEN: 1, ODD: 1}, KEYS, late)


# --- commits ---


def test_commit_up_to_another_members_reads_is_allowed() -> None:
    assert not commits_beyond_reads(history(read("a", 0, 1), read("b", 2), commit("b", 3), commit("a", 2)))


def test_commit_beyond_the_last_read_record_is_reported() -> None:
    (complaint,) = commits_beyond_reads(history(read("a", 0, 1), commit("a", 3)))
    assert complaint == "a committed t-0 up to 3 before 2 was read"


def test_commit_beyond_a_gap_is_reported() -> None:
    assert commits_beyond_reads(history(read("a", 0, 2), commit("a", 3)))


def test_commit_before_the_read_is_reported() -> None:
    assert commits_beyond_reads(history(commit("a", 1), read("a", 0)))


def test_gap_read_by_another_member_is_allowed() -> None:
    assert not commits_beyond_reads(history(read("a", 0, 2), read("b", 1), commit("a", 3)))


def commits(*offsets: int, partition: int = 0) -> list[Position]:
    return [Position(T, partition, offset) for offset in offsets]


def test_commits_that_rise_or_stay_are_allowed() -> None:
    assert not fallen_commits([*commits(1, 3, 3), *commits(0, partition=1), *commits(4)], [])


def test_commit_below_the_last_one_is_reported() -> None:
    logs = history(commit("a", 3), commit("b", 2))
    assert fallen_commits(commits(3, 2, 3), logs) == ["the commit of t-0 fell from 3 to 2"]


def test_deleted_commit_is_reported() -> None:
    assert fallen_commits(commits(3, -1), []) == ["the commit of t-0 fell from 3 to -1"]


def test_commit_overtaken_by_the_same_members_next_one_is_allowed() -> None:
    assert not fallen_commits(commits(1, 3, 2, 4), history(*(commit("a", offset) for offset in (1, 2, 3, 4))))


def test_commit_sent_again_after_a_higher_one_is_reported() -> None:
    assert fallen_commits(commits(2, 3, 2), history(commit("a", 2), commit("a", 3), commit("a", 2)))
    assert fallen_commits(commits(2, 3, 2), history(commit("a", 2), commit("b", 3)))


# --- losses ---

SECOND = 10**9


def lost(*, confirmed_s: float, joined_s: float = 0.0, at_s: float = 10.0) -> list[EventLog]:
    """Make the log of a member that joined, sent its last accepted heartbeat and lost a partition."""
    times = {EventKind.OWNED: joined_s, EventKind.CONFIRMED: confirmed_s, EventKind.LOST: at_s}
    events = [Event(int(time_s * SECOND), kind, (Position(T, 0),)) for kind, time_s in times.items()]
    return [EventLog("a", tuple(events))]


def test_loss_after_the_session_is_allowed() -> None:
    assert not losses_without_cause(lost(confirmed_s=7.0), 3.0, [])


def test_loss_within_the_session_is_reported() -> None:
    assert losses_without_cause(lost(confirmed_s=7.5), 3.0, []) == [
        "a lost its membership 2.5 s after a heartbeat"
    ]


def test_loss_without_an_accepted_heartbeat_is_allowed() -> None:
    events = (Event(0, EventKind.OWNED, (Position(T, 0),)), Event(SECOND, EventKind.LOST, (Position(T, 0),)))
    assert not losses_without_cause([EventLog("a", events)], 3.0, [])


def test_restart_of_the_broker_is_a_cause_until_the_member_joins_again() -> None:
    outages = [(5 * SECOND, 8 * SECOND)]
    assert not losses_without_cause(lost(confirmed_s=9.0, joined_s=4.0), 3.0, outages)
    assert losses_without_cause(lost(confirmed_s=9.0, joined_s=8.5), 3.0, outages)
    assert losses_without_cause(lost(confirmed_s=3.5, joined_s=3.0, at_s=4.5), 3.0, outages)


# --- order ---


def test_each_ownership_may_start_at_any_offset() -> None:
    logs = history(
        change("a", EventKind.ASSIGNED, 0),
        read("a", 5, 6),
        change("a", EventKind.REVOKED, 0),
        change("a", EventKind.ASSIGNED, 0),
        read("a", 2, 3),
        change("a", EventKind.ASSIGNED, 1),  # cooperative: the other one is kept
        read("a", 4),
    )
    assert not reads_out_of_order(logs)


@pytest.mark.parametrize("offsets", [(0, 2), (0, 0), (1, 0)], ids=["gap", "twice", "back"])
def test_unordered_reads_within_an_ownership_are_reported(offsets: tuple[int, int]) -> None:
    (complaint,) = reads_out_of_order(history(change("a", EventKind.ASSIGNED, 0), read("a", *offsets)))
    assert complaint == f"a read t-0 at {offsets[1]}, and {offsets[0] + 1} was next"


@pytest.mark.parametrize("end", [EventKind.REVOKED, EventKind.LOST])
def test_read_after_the_end_of_ownership_is_reported(end: EventKind) -> None:
    logs = history(change("a", EventKind.ASSIGNED, 0), read("a", 0), change("a", end, 0), read("a", 1))
    assert reads_out_of_order(logs) == ["a read t-0 at 1 without owning it"]


# --- owners ---


def test_another_generation_may_have_another_owner() -> None:
    assert not shared_partitions(history(owns("a", 1, 0), owns("b", 1, 1), owns("b", 2, 0, 1)))


def test_two_owners_in_one_generation_are_reported() -> None:
    assert shared_partitions(history(owns("a", 1, 0), owns("b", 1, 0))) == [
        "generation 1: t-0 was given to ['a', 'b']"
    ]


def test_assignment_before_revocation_is_reported() -> None:
    begin = (owns("a", 1, 0, 1), change("a", EventKind.ASSIGNED, 0, 1), owns("a", 2, 1))
    revoked, taken = change("a", EventKind.REVOKED, 0), (owns("b", 2, 0), change("b", EventKind.ASSIGNED, 0))
    assert not late_revocations(history(*begin, revoked, *taken))
    assert late_revocations(history(*begin, *taken, revoked)) == [
        "generation 2: t-0 was assigned to b while a, a member of it, still had it"
    ]


def test_expelled_member_may_keep_partitions_until_it_notices() -> None:
    events = (
        owns("a", 1, 0),
        change("a", EventKind.ASSIGNED, 0),
        owns("b", 2, 0),
        change("b", EventKind.ASSIGNED, 0),
    )
    assert not late_revocations(history(*events, change("a", EventKind.LOST, 0), owns("a", 3, 1)))


def test_restarted_static_member_gets_its_assignment_back_in_the_same_generation() -> None:
    restarted = history(owns("0-1", 1, 0), owns("0-2", 1, 0))
    assert shared_partitions(restarted)
    assert not shared_partitions(restarted, lambda member: member[0])


def test_expelled_member_may_apply_its_last_assignment_late() -> None:
    later = (owns("b", 2, 1), owns("b", 3, 0, 1), change("b", EventKind.ASSIGNED, 0))
    expelled = (owns("a", 2, 0), change("a", EventKind.ASSIGNED, 0), change("a", EventKind.LOST, 0))
    assert not late_revocations(history(*later, *expelled, change("b", EventKind.REVOKED, 0)))


def test_partition_taken_by_the_next_generation_is_reported() -> None:
    logs = history(owns("a", 1, 0, 1), owns("b", 1, 2), owns("a", 2, 1, 3), owns("b", 2, 0, 2))
    assert taken_partitions(logs, 4) == ["generation 2: a had to give up t-0"]


def test_member_that_the_group_went_on_without_may_have_to_give_up() -> None:
    lost = history(owns("a", 1, 0), change("a", EventKind.LOST, 0), owns("a", 2, 1))
    missed_one = history(owns("a", 1, 0), owns("a", 3, 1))
    assert not taken_partitions(lost, 2)
    assert not taken_partitions(missed_one, 2)


def test_partition_above_the_checked_ones_may_be_taken() -> None:
    assert not taken_partitions(history(owns("a", 1, 0, 1), owns("a", 2, 0)), 1)


def test_partition_without_exactly_one_owner_is_reported() -> None:
    partitions = {(T, 0), (T, 1)}
    assert not ownership_errors({"a": [(T, 0)], "b": [(T, 1)]}, partitions)
    assert ownership_errors({"a": [(T, 0)], "b": []}, partitions) == ["t-1 has 0 owners"]
    assert ownership_errors({"a": [(T, 0), (T, 1)], "b": [(T, 1)]}, partitions) == ["t-1 has 2 owners"]


def test_owner_of_a_missing_partition_is_reported() -> None:
    assert ownership_errors({"a": [(T, 0), (T, 7)]}, {(T, 0)}) == ["t-7 has 1 owners"]


# --- the end ---


def test_committed_offset_below_the_end_is_reported() -> None:
    assert not uncommitted({(T, 0): 3, (T, 1): 0}, {(T, 0): 3})
    assert uncommitted({(T, 0): 3}, {(T, 0): 2}) == ["t-0: 2 of 3 records are committed"]
    assert uncommitted({(T, 0): 3}, {}) == ["t-0: 0 of 3 records are committed"]


def test_committed_offset_beyond_the_end_is_reported() -> None:
    assert uncommitted({(T, 0): 3}, {(T, 0): 4})


def test_difference_of_two_partitions_is_uneven() -> None:
    assert not even({"a": [(T, 0), (T, 1)], "b": [(T, 2)]})
    assert even({"a": [(T, 0), (T, 1)], "b": []})


def test_failover_group_has_exactly_one_active_member() -> None:
    assert not single_active({"a": [(T, 0), (T, 1)], "b": []})
    assert single_active({"a": [(T, 0)], "b": [(T, 1)]})
    assert single_active({"a": [], "b": []})

"""The warning of a leader whose group's record comes near the broker's limit."""

from __future__ import annotations

import pytest

from kafka_assignors import (
    Assignor,
    CooperativeLagAwareAssignor,
    CooperativeStickyAssignor,
    FairestStickyAssignor,
    StickyAssignor,
)
from kafka_assignors.assignor.record_size import RecordWatch, fixed_bytes, sent_bytes
from tests.support.group.joining import cluster, joined, own, raw

KINDS = [StickyAssignor, FairestStickyAssignor, CooperativeStickyAssignor]
SMALL, LARGE = 100, 4_000  # 8 bytes a partition: claimed once, assigned once


def rebalance(kind: type[Assignor], leader: Assignor, partitions: int) -> None:
    """A member that owns all partitions joins."""
    member = kind()
    own(member, {"t": range(partitions)}, 1)
    leader.assign(cluster({"t": partitions}), [joined("m", member.metadata(["t"]))])


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_leader_warns_each_time_the_record_grows_near_the_limit(
    kind: type[Assignor], caplog: pytest.LogCaptureFixture
) -> None:
    leader = kind()
    leader._record = RecordWatch(leader.name, 20_000)
    counts = []
    for partitions in (SMALL, LARGE, LARGE, SMALL, LARGE):
        rebalance(kind, leader, partitions)
        counts.append(sum("the group's record takes" in r.getMessage() for r in caplog.records))
    assert counts == [0, 1, 1, 1, 2]


def test_warning_starts_at_nine_tenths_of_the_limit(caplog: pytest.LogCaptureFixture) -> None:
    watch = RecordWatch("sticky")
    watch.check(943_718)
    assert not caplog.records
    watch.check(943_719)
    assert "takes 943719 bytes, more than 90 % of 1 MiB (943718)" in caplog.text


def test_lag_leader_warns_if_a_member_reads_no_budget(caplog: pytest.LogCaptureFixture) -> None:
    leader = CooperativeLagAwareAssignor(group_record_bytes=2_000, lag_source=lambda _: {})
    leader.assign(cluster({"t": 1_000}), [joined("m", raw(["t"], b""))])
    leader.close()
    assert caplog.text.count("more than group_record_bytes (2000)") == 1


def test_claims_take_the_bytes_of_their_encoding() -> None:
    claims = {"orders": [1, 2, 3], "t": [7]}
    member, without = (joined("m", raw(["t"], b"data", owned, 1)) for owned in (claims, {}))
    grown = len(member.metadata.encode()) - len(without.metadata.encode())
    assert (sent_bytes(without), sent_bytes(member)) == (4, 4 + grown)


def test_null_names_and_lists_count_as_empty() -> None:
    member = joined("m", raw(["t", "u"], b"", {"t": [1], "u": [2]}, 3))
    fixed, sent = fixed_bytes(member), sent_bytes(member)
    member.metadata.topics[0] = None
    member.metadata.owned_partitions[0].topic = member.metadata.owned_partitions[1].partitions = None
    assert (fixed_bytes(member), sent_bytes(member)) == (fixed - 1, sent - 1 - 4)

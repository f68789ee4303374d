"""The group at a moment, from logs made by hand."""

from __future__ import annotations

import pytest

from demo.group.logs import Entry
from demo.scenes.watch import Watch
from tests.unit.demo.failover.story import records, state
from tests.unit.demo.story import S, at, opened, sent


def standbys(*tasks: int, behind: int) -> Entry:
    return Entry(0, "standbys", tasks, last=behind)


@pytest.fixture
def watch() -> Watch:
    """Two members with two tasks each, and a standby of each."""
    watch = Watch(4)
    watch.feed("m1", state(1, 0, 1, generation=3))
    watch.feed("m2", state(2, 2, 3, generation=3))
    watch.feed("m1", standbys(2, 3, behind=5))
    watch.feed("m2", standbys(0, 1, behind=0))
    return watch


def test_balanced_group_shares_all_and_waits_for_nothing(watch: Watch) -> None:
    assert watch.balanced(2, standbys=1)
    assert not watch.balanced(3, standbys=1)
    assert not watch.balanced(2, standbys=0)
    watch.died("m2")
    watch.feed("m1", state(3, 0, 1, 2, 3, generation=4))
    watch.feed("m1", standbys(behind=0))
    assert watch.balanced(1, standbys=0)


@pytest.mark.parametrize(
    ("member", "entry"),
    [
        ("m1", state(3, 0, 1, generation=4)),
        ("m1", state(3, 0, generation=3)),
        ("m1", state(3, 0, 1, 2, generation=3)),
        ("m1", state(3, 0, 1, generation=3, probing=True)),
        ("m1", at(3, "warmups", 2)),
        ("m3", at(3, "started", note="7")),
    ],
    ids=["generation before", "no owner", "two owners", "probing", "warm-up", "about to join"],
)
def test_unbalanced_groups(watch: Watch, member: str, entry: Entry) -> None:
    watch.feed(member, entry)
    assert not watch.balanced(2, standbys=1)


def test_uneven_share_is_not_balanced() -> None:
    watch = Watch(4)
    watch.feed("m1", state(1, 0, 1, 2, generation=3))
    watch.feed("m2", state(1, 3, generation=3))
    assert not watch.balanced(2, standbys=0)


def test_copies_are_up_to_date_if_the_lag_of_all_is_known_and_small(watch: Watch) -> None:
    assert watch.copies_up_to_date(5)
    assert not watch.copies_up_to_date(4)
    watch.feed("m2", standbys(0, 1, behind=-1))
    assert not watch.copies_up_to_date(1_000)


def test_lag_counts_each_record_once_over_all_acts(watch: Watch) -> None:
    watch.feed_sent(sent(1, 0, 0, 9))
    watch.feed_sent(sent(1, 3, 0, 4))
    for entry in records(0, 0, 1, 2, 3):
        watch.feed("m1", entry)
    watch.begin()
    assert watch.shares() == ""
    for entry in records(0, 1, 4, 5, 6):
        watch.feed("m1", entry)
    assert (watch.lag(), watch.processed, watch.sent, watch.heaviest) == (11, 4, 15, 10)
    assert watch.next_offsets() == {0: 10, 1: 0, 2: 0, 3: 5}


def test_last_change_is_one_of_ownership_or_warm_ups(watch: Watch) -> None:
    watch.feed("m1", standbys(2, 3, behind=4))
    assert watch.last_change == 2 * S
    watch.feed("m1", at(5, "warmups", 2))
    assert watch.last_change == 5 * S
    assert watch.shares() == "m1 2+3  m2 2+2"


def test_all_is_open_when_every_owner_has_warmed_up_for_its_gained_partitions() -> None:
    """A partition that comes straight back is still open."""
    watch = Watch(partitions=2)
    for entry in (at(1, "assigned", 0, 1), opened(1, 2, 0)):
        watch.feed("m1", entry)
    assert not watch.all_open()
    watch.feed("m1", opened(2, 3, 1))
    assert watch.all_open()
    for entry in (at(4, "revoked", 0, 1), at(4, "assigned", 0)):
        watch.feed("m1", entry)
    assert watch.all_open()
    watch.feed("m1", at(5, "assigned", 1))
    assert not watch.all_open()
    watch.died("m1")
    assert watch.owners() == (None, None)

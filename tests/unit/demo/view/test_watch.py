from __future__ import annotations

from demo.view.watch import RunView, Snapshot, Watch
from kafka_assignors.simulation.churn import parse, rehearse
from tests.unit.demo.story import S, at, done, opened, sent


def snapshot(watch: Watch, now: float = 4.0) -> Snapshot:
    acts = rehearse(parse("join@2,kill@5"), 1)
    run = RunView("replay", "range", 1, 2, "replaying", elapsed=now, duration=10, acts=acts, acted=1)
    return watch.snapshot(round(now * S), run)


def busy() -> Watch:
    """Member m1 owns both partitions and works; m2 takes one over at 3 s."""
    watch = Watch(partitions=2)
    for entry in (at(1, "started", note="100"), at(1, "joined", generation=1), at(1, "assigned", 0, 1)):
        watch.feed("m1", entry)
    watch.count_moves()
    watch.feed_sent(sent(2, 0, 0, 9))
    watch.feed_sent(sent(2, 1, 0, 4))
    watch.feed("m1", done(1, 1.5, 1, 0, 0))
    watch.feed("m1", done(2, 3, 0, 0, 5))
    watch.feed("m1", at(3, "revoked", 0, 1))
    watch.feed("m1", at(3, "assigned", 0))
    watch.feed("m2", at(3, "joined", generation=2))
    watch.feed("m2", at(3, "assigned", 1))
    return watch


def test_a_snapshot_shows_owners_lag_and_rates() -> None:
    picture = snapshot(busy())
    assert picture.owners == ("m1", "m2")
    assert [(m.name, m.pid, m.state, m.partitions, m.lag) for m in picture.members] == [
        ("m1", 100, "running", (0,), 4),
        ("m2", 0, "running", (1,), 4),
    ]
    assert picture.members[0].rate == 3.0
    assert picture.lag == (8,)
    assert (picture.sent, picture.processed) == (15, 7)


def test_moves_count_from_the_word_on_and_only_to_another_member() -> None:
    assert snapshot(busy()).moves == 1


def test_a_killed_member_owns_nothing() -> None:
    watch = busy()
    watch.died("m2")
    picture = snapshot(watch)
    assert picture.owners == ("m1", None)
    assert picture.members[1].state == "killed"


def test_one_point_of_history_a_quarter_of_a_second() -> None:
    watch = busy()
    for tick in range(11):
        picture = snapshot(watch, 4 + tick / 10)
    assert len(picture.lag) == 4


def test_all_is_open_when_every_owner_has_warmed_up_for_what_it_gained() -> None:
    watch = Watch(partitions=2)
    watch.feed("m1", at(1, "assigned", 0, 1))
    watch.feed("m1", opened(1, 2, 0))
    assert not watch.all_open()
    watch.feed("m1", opened(2, 3, 1))
    assert watch.all_open()
    for entry in (at(4, "revoked", 0, 1), at(4, "assigned", 0), at(5, "assigned", 1)):
        watch.feed("m1", entry)  # partition 0 came straight back, partition 1 did not
    assert not watch.all_open()


def test_the_heaviest_partition_is_the_one_that_was_sent_most() -> None:
    assert busy().heaviest() == 10

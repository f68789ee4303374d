"""The counts of the stores beside those of the producer."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from demo.failover.counting import LINE, PLANE, LineCount
from demo.failover.counts import compare_counts, differences
from demo.failover.results import CountsResult
from kafka_assignors.plan import TopicPartition
from kafka_assignors.stateful import Position, StateDir, Stores
from tests.unit.demo.failover.story import counts

GROUP = "g"
SENT = Counter({b"AA ORD": 4, b"UA ORD": 2, b"AA LAX": 3})


def keep(store_dir: Path, task: int, position: int, **counted: tuple[int, int]) -> None:
    """Leave a copy on disk: carrier -> count and doubles; task 0 has ORD, task 1 has LAX."""
    destination = (b" ORD", b" LAX")[task]
    with StateDir(store_dir, GROUP) as there, there.claim(("count", task)) as mine:
        with Stores().open(mine.store_path) as store:
            for carrier, (count, doubles) in counted.items():
                store.put(LINE + carrier.encode() + destination, LineCount(count, doubles, 9).packed())
            store.put(PLANE + b"N1", b"a logbook")
            store.commit(position)
            store.flush()
        mine.write_checkpoint({TopicPartition("g-count-changelog", task): Position(position)})


def compared(folder: Path, again: int = 2) -> CountsResult:
    result = counts() | {"records": 0, "counted": 0, "doubles": 0, "again": again, "copies": 0}
    compare_counts(result, [folder / f"m{n}" for n in (1, 2, 3)], GROUP, {0: 10, 1: 20}, SENT)
    return result


def test_counts_of_all_tasks_agree_less_their_doubles(tmp_path: Path) -> None:
    """No member m3 has state."""
    keep(tmp_path / "m1", 0, 10, AA=(5, 1), UA=(2, 0))
    keep(tmp_path / "m2", 1, 20, AA=(3, 0))
    assert compared(tmp_path) == CountsResult(
        records=9, lines=3, counted=10, doubles=1, again=2, copies=2, differences=[]
    )


def test_copies_at_the_end_must_be_equal_and_others_are_skipped(tmp_path: Path) -> None:
    for name, at, count in (("m1", 10, 4), ("m2", 10, 4), ("m3", 9, 3)):
        keep(tmp_path / name, 0, at, AA=(count, 0), UA=(2, 0))
    keep(tmp_path / "m1", 1, 20, AA=(3, 0))
    result = compared(tmp_path)
    assert (result["copies"], result["differences"]) == (3, [])
    keep(tmp_path / "m3", 0, 10, AA=(3, 0))
    assert compared(tmp_path)["differences"] == ["two copies of task 0 differ"]


def test_task_without_a_copy_at_the_end_is_a_difference(tmp_path: Path) -> None:
    keep(tmp_path / "m1", 0, 10, AA=(4, 0), UA=(2, 0))
    keep(tmp_path / "m1", 1, 19, AA=(3, 0))
    assert compared(tmp_path)["differences"] == [
        "no copy is at the end of its changelog, of task 1",
        "line AA LAX: 0 counted, 3 in the topic",
    ]


def test_more_doubles_than_records_processed_again_are_a_difference(tmp_path: Path) -> None:
    keep(tmp_path / "m1", 0, 10, AA=(7, 3), UA=(2, 0))
    keep(tmp_path / "m1", 1, 20, AA=(3, 0))
    [difference] = compared(tmp_path)["differences"]
    assert difference == "3 doubles in the counts, but only 2 records were processed again"


def test_stores_that_cannot_be_read_are_a_difference(tmp_path: Path) -> None:
    (tmp_path / "m1").mkdir()
    with StateDir(tmp_path / "m1", GROUP):
        [difference] = compared(tmp_path)["differences"]
    assert difference.startswith("the stores cannot be read: ")


def test_each_line_that_differs_is_named() -> None:
    stored = {
        LINE + b"AA ORD": LineCount(5),
        LINE + b"UA ORD": LineCount(1_007, 2),
        LINE + b"ZZ ORD": LineCount(1),
    }
    assert list(differences(stored, Counter({b"AA ORD": 6, b"UA ORD": 1_004, b"DL ORD": 3}))) == [
        "line AA ORD: 5 counted, 6 in the topic",
        "line DL ORD: 0 counted, 3 in the topic",
        "line UA ORD: 1,007 less 2 doubles counted, 1,004 in the topic",
        "line ZZ ORD: 1 counted, 0 in the topic",
    ]

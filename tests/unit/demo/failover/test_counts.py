"""What is read from stores."""

from __future__ import annotations

from pathlib import Path

import pytest

from demo.failover import counts
from demo.failover.counting import CARRIER, DESTINATION, PLANE, Counter
from demo.failover.counts import read_stores
from kafka_assignors.plan import TopicPartition
from kafka_assignors.stateful import Position, StateDir, Stores

GROUP = "g"


@pytest.fixture(autouse=True)
def _two_tasks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(counts, "TASKS", 2)


def keep(store_dir: Path, task: int, position: int, **counted: tuple[int, int]) -> None:
    """Leave a copy on disk: carrier -> count and doubles; all go to one destination."""
    with StateDir(store_dir, GROUP) as there, there.claim(("count", task)) as mine:
        with Stores().open(mine.store_path) as store:
            for carrier, (count, doubles) in counted.items():
                store.put(CARRIER + carrier.encode(), Counter(count, doubles, 9).packed())
            times, doubles = map(sum, zip(*counted.values(), strict=True))
            store.put(DESTINATION + b"ORD", Counter(times, doubles, 9).packed())
            store.put(PLANE + b"N1", b"a logbook")
            store.commit(position)
            store.flush()
        mine.write_checkpoint({TopicPartition("g-count-changelog", task): Position(position)})


def test_counts_of_all_tasks_are_added_up(tmp_path: Path) -> None:
    keep(tmp_path / "m1", 0, 10, AA=(5, 1), UA=(2, 0))
    keep(tmp_path / "m2", 1, 20, AA=(3, 0))
    stored = read_stores([tmp_path / "m1", tmp_path / "m2", tmp_path / "m3"], GROUP, {0: 10, 1: 20})
    assert stored.carriers == {"AA": (8, 1), "UA": (2, 0)}
    assert stored.destinations == {"ORD": (10, 1)}
    assert (stored.copies, stored.wrong) == (2, [])


def test_copies_at_the_end_must_have_the_same_and_others_are_passed_over(tmp_path: Path) -> None:
    for name, at, count in (("m1", 10, 5), ("m2", 10, 5), ("m3", 9, 4)):
        keep(tmp_path / name, 0, at, AA=(count, 0))
    keep(tmp_path / "m1", 1, 20, AA=(1, 0))
    folders = [tmp_path / name for name in ("m1", "m2", "m3")]
    stored = read_stores(folders, GROUP, {0: 10, 1: 20})
    assert (stored.copies, stored.wrong, stored.carriers) == (3, [], {"AA": (6, 0)})
    keep(tmp_path / "m3", 0, 10, AA=(4, 0))
    assert read_stores(folders, GROUP, {0: 10, 1: 20}).wrong == ["two copies of task 0 differ"]


def test_a_task_without_a_copy_at_the_end_is_wrong(tmp_path: Path) -> None:
    keep(tmp_path / "m1", 0, 10, AA=(5, 0))
    keep(tmp_path / "m1", 1, 19, AA=(5, 0))
    stored = read_stores([tmp_path / "m1"], GROUP, {0: 10, 1: 20})
    assert stored.wrong == ["no copy is at the end of its changelog, of task 1"]

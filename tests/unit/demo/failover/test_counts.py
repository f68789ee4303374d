"""The counts of the stores beside those of the producer."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from demo.failover.counting import LINE, PLANE, LineCount
from demo.failover.counts import compare_counts
from demo.failover.results import CountsResult
from kafka_assignors.plan import TopicPartition
from kafka_assignors.stateful import Position, StateDir, Stores

GROUP = "g"
ENDS = {0: 10, 1: 20}
SENT = Counter({b"AA ORD": 4, b"UA ORD": 2, b"AA LAX": 3})
UA = (2, 0)
LAX = ("m1", 1, 20, {"AA": (3, 0)})

Copy = tuple[str, int, int, dict[str, tuple[int, int]]]
"""Member, task, position, and by carrier the count and its doubles; task 0 has ORD, task 1 has LAX."""


def compared(folder: Path, *copies: Copy) -> CountsResult:
    for member, task, position, counted in copies:
        with StateDir(folder / member, GROUP) as there, there.claim(("count", task)) as mine:
            with Stores().open(mine.store_path) as store:
                for carrier, (count, doubles) in counted.items():
                    line = LINE + carrier.encode() + (b" ORD", b" LAX")[task]
                    store.put(line, LineCount(count, doubles, 9).packed())
                store.put(PLANE + b"N1", b"a logbook")
                store.commit(position)
                store.flush()
            mine.write_checkpoint({TopicPartition("g-count-changelog", task): Position(position)})
    result = CountsResult(records=0, lines=0, counted=0, doubles=0, again=2, copies=0, differences=[])
    compare_counts(result, [folder / name for name in ("m1", "m2", "m3")], GROUP, ENDS, SENT)
    return result


def test_counts_less_doubles_agree_and_copies_behind_the_end_are_skipped(tmp_path: Path) -> None:
    counted = {"AA": (5, 1), "UA": UA}
    copies: list[Copy] = [(name, 0, 10, counted) for name in ("m1", "m2")] + [("m3", 0, 9, {}), LAX]
    assert compared(tmp_path, *copies) == CountsResult(
        records=9, lines=3, counted=10, doubles=1, again=2, copies=3, differences=[]
    )


@pytest.mark.parametrize(
    ("copies", "differences"),
    [
        (
            [("m1", 0, 10, {"AA": (4, 0), "UA": UA}), ("m2", 0, 10, {"AA": (3, 0), "UA": UA}), LAX],
            ["two copies of task 0 differ"],
        ),
        (
            [("m1", 0, 10, {"AA": (4, 0), "UA": UA}), ("m1", 1, 19, {"AA": (3, 0)})],
            ["no copy is at the end of its changelog, of task 1", "line AA LAX: 0 counted, 3 in the topic"],
        ),
        (
            [("m1", 0, 10, {"AA": (1_007, 2), "UA": UA, "ZZ": (1, 0)}), LAX],
            [
                "line AA ORD: 1,007 less 2 doubles counted, 4 in the topic",
                "line ZZ ORD: 1 counted, 0 in the topic",
            ],
        ),
        (
            [("m1", 0, 10, {"AA": (7, 3), "UA": UA}), LAX],
            ["3 doubles in the counts, but only 2 records were processed again"],
        ),
    ],
    ids=["copies differ", "no copy", "lines differ", "too many doubles"],
)
def test_differences_are_named(tmp_path: Path, copies: list[Copy], differences: list[str]) -> None:
    assert compared(tmp_path, *copies)["differences"] == differences


def test_stores_that_cannot_be_read_are_a_difference(tmp_path: Path) -> None:
    (tmp_path / "m1").mkdir()
    with StateDir(tmp_path / "m1", GROUP):
        [difference] = compared(tmp_path)["differences"]
    assert difference.startswith("the stores cannot be read: ")

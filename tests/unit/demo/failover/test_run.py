"""The counts of the stores beside those of the topic, whatever comes of reading either."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import pytest

from demo.failover.counts import Stored, compare_counts
from demo.failover.flow import Tally
from demo.failover.results import CountsResult
from kafka_assignors.errors import ToolMissingError
from tests.unit.demo.failover.story import counts


def stored() -> Stored:
    return Stored({"AA": (5, 1), "UA": (2, 0)}, {"ORD": (7, 1)}, copies=4)


def tally() -> Tally:
    return Tally(Counter(AA=4, UA=2), Counter(ORD=6))


def compared(read: Callable[[], Stored] = stored, count: Callable[[], Tally] = tally) -> CountsResult:
    result = counts() | {"records": 0, "counted": [0, 0], "doubles": [0, 0]}
    compare_counts(result, read, count, "Spark")
    return result


def test_counts_that_agree_are_told_with_their_doubles() -> None:
    found = compared()
    assert (found["fault"], found["differences"]) == ("", [])
    assert (found["records"], found["counted"], found["doubles"]) == (6, [7, 7], [1, 1])
    assert (found["carriers"], found["destinations"], found["copies"]) == (2, 1, 4)


def test_counts_that_differ_are_told_with_what_is_wrong_with_the_stores() -> None:
    def wrong() -> Stored:
        return Stored({"AA": (5, 0), "UA": (2, 0)}, {"ORD": (7, 1)}, wrong=["two copies of task 3 differ"])

    assert compared(wrong)["differences"] == [
        "two copies of task 3 differ",
        "carrier AA: 5 counted, 4 in the topic",
    ]


def test_more_doubles_than_were_done_again_cannot_be() -> None:
    def many() -> Stored:
        return Stored({"AA": (7, 3), "UA": (2, 0)}, {"ORD": (7, 1)})

    [said] = compared(many)["differences"]
    assert said == "3 doubles in the counts, but only 2 records were processed again"


@pytest.mark.parametrize(
    ("error", "says"),
    [
        (ToolMissingError("no Java for Spark"), "no Java for Spark"),
        (ValueError("line\n  after line"), "ValueError: line after line"),
    ],
)
def test_what_cannot_be_counted_is_a_fault_in_one_line(error: Exception, says: str) -> None:
    def fails() -> Tally:
        raise error

    found = compared(count=fails)
    assert (found["fault"], found["by"]) == (says, "Spark")

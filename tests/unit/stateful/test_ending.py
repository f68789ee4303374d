"""``Ending``: one deadline for all that is to be done at the end."""

from __future__ import annotations

from kafka_assignors.stateful.ending import Ending


class Clock:
    """One that stands still until it is told to go on."""

    now = 100.0

    def __call__(self) -> float:
        return self.now


def test_before_it_begins_there_is_all_the_time() -> None:
    ending = Ending(20.0, Clock())
    assert (ending.left_s(300.0), ending.to_commit_s(300.0)) == (300.0, 300.0)
    assert not ending.is_set()
    assert not ending.wait(0.001)


def test_all_steps_share_what_there_is_and_what_follows_a_commit_has_some_of_it() -> None:
    clock = Clock()
    ending = Ending(20.0, clock)
    ending.set()
    assert ending.is_set()
    assert ending.wait(60.0), "at once"
    assert (ending.left_s(300.0), ending.left_s(5.0)) == (20.0, 5.0)
    assert (ending.to_commit_s(300.0), ending.to_commit_s(5.0)) == (12.0, 5.0)
    clock.now = 115.0
    assert (ending.left_s(300.0), ending.to_commit_s(300.0)) == (5.0, 0.0)
    clock.now = 130.0
    assert ending.left_s(300.0) == 0.0


def test_it_begins_once() -> None:
    """Who is told to end twice has no more time for it."""
    clock = Clock()
    ending = Ending(20.0, clock)
    ending.set()
    clock.now = 110.0
    ending.set()
    assert ending.left_s(300.0) == 10.0


def test_without_a_deadline_each_step_has_what_it_would_be_given() -> None:
    ending = Ending()
    ending.set()
    assert (ending.left_s(5.0), ending.to_commit_s(5.0)) == (5.0, 5.0)

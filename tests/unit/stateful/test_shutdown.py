"""``Shutdown``: the deadline shared by all steps of a closing member."""

from __future__ import annotations

from kafka_assignors.stateful.shutdown import Shutdown
from tests.support.clock import Clock


def test_time_is_not_limited_before_the_shutdown_starts() -> None:
    shutdown = Shutdown(20.0, Clock())
    assert (shutdown.left_s(300.0), shutdown.to_commit_s(300.0)) == (300.0, 300.0)
    assert not shutdown.is_set()


def test_steps_share_the_deadline_and_commits_leave_time_for_the_rest() -> None:
    clock = Clock()
    shutdown = Shutdown(20.0, clock)
    shutdown.set()
    assert shutdown.is_set()
    assert (shutdown.left_s(300.0), shutdown.left_s(5.0)) == (20.0, 5.0)
    assert (shutdown.to_commit_s(300.0), shutdown.to_commit_s(5.0)) == (12.0, 5.0)
    clock.now = 115.0
    shutdown.set()  # a member closed twice has no more time for it
    assert (shutdown.left_s(300.0), shutdown.to_commit_s(300.0)) == (5.0, 0.0)
    clock.now = 130.0
    assert shutdown.left_s(300.0) == 0.0


def test_without_a_deadline_each_step_has_its_own_limit() -> None:
    shutdown = Shutdown()
    shutdown.set()
    assert (shutdown.left_s(5.0), shutdown.to_commit_s(5.0)) == (5.0, 5.0)

"""One thread for what must not be done on the I/O thread."""

from __future__ import annotations

import sys
import threading
from concurrent.futures import CancelledError, Future

import pytest

from kafka_assignors.background import Background
from tests.support.threads import thread_limit_reached


def test_jobs_run_one_after_the_other_on_one_thread() -> None:
    line = Background("test-line")
    names = [line.submit(lambda: threading.current_thread().name) for _ in range(3)]
    assert [name.result(10) for name in names] == ["test-line"] * 3
    line.stop()
    assert line.join(10)


def test_no_thread_runs_before_the_first_job() -> None:
    line = Background("test-none")
    assert "test-none" not in {thread.name for thread in threading.enumerate()}
    line.stop()
    assert line.join(0)


def test_failed_job_does_not_stop_later_ones() -> None:
    line = Background("test-fails")
    failed = line.submit(lambda: 1 // 0)
    with pytest.raises(ZeroDivisionError):
        failed.result(10)
    assert line.submit(lambda: "next").result(10) == "next"
    line.stop()


def test_system_exit_in_a_job_only_fails_the_job() -> None:
    """Else the consumer's I/O thread would end where it waits for the result."""
    line = Background("test-exit")
    with pytest.raises(RuntimeError, match="SystemExit: 3"):
        line.submit(lambda: sys.exit(3)).result(10)
    assert line.submit(lambda: "next").result(10) == "next"
    line.stop()


def test_jobs_run_in_the_order_of_their_times() -> None:
    line = Background("test-order")
    order: list[str] = []
    hold = threading.Event()
    line.submit(lambda: hold.wait(10))
    late = line.submit(lambda: order.append("late"), 0.02)
    soon = line.submit(lambda: order.append("soon"), 0.01)
    line.submit(lambda: order.append("now"))
    hold.set()
    for one in (late, soon):
        one.result(10)
    assert order == ["now", "soon", "late"]
    line.stop()


def test_job_that_is_never_due_blocks_no_other() -> None:
    """No clock waits that long at a time."""
    line = Background("test-never")
    line.submit(lambda: "never", 1e18)
    assert line.submit(lambda: "now").result(10) == "now"
    line.stop()
    assert line.join(10)


def test_thread_is_restarted_after_a_fork_without_the_parents_jobs() -> None:
    """In the child, the thread object is not alive."""
    line = Background("test-fork")
    gone = threading.Thread(target=lambda: None)
    gone.start()
    gone.join()
    parents: Future[str] = Future()
    line._jobs.append((0.0, -1, parents, lambda: "parent's"))
    line._thread, line._pid = gone, -1
    assert line.submit(lambda: "again").result(10) == "again"
    assert not parents.done()
    line.stop()
    assert line.join(10)


def test_job_is_dropped_if_the_thread_cannot_start() -> None:
    line = Background("test-start")
    ran: list[str] = []
    with thread_limit_reached():
        line.submit(lambda: ran.append("first"))
    assert line.join(0)
    line.submit(lambda: ran.append("second")).result(10)
    assert ran == ["second"]
    line.stop()
    assert line.join(10)


def test_stop_drops_jobs_that_have_not_started() -> None:
    line = Background("test-stop")
    later = line.submit(lambda: "never", 1000)
    line.stop()
    assert line.join(10)
    for future in (later, line.submit(lambda: "never")):
        with pytest.raises(CancelledError):
            future.result(10)


def test_running_job_finishes_after_stop_and_can_be_waited_for() -> None:
    line = Background("test-join")
    begun, go_on = threading.Event(), threading.Event()

    def job() -> bool:
        begun.set()
        return go_on.wait(10)

    busy = line.submit(job)
    assert begun.wait(10)
    line.stop()
    assert not line.join(0.01)
    go_on.set()
    assert busy.result(10)
    assert line.join(10)


def test_job_can_stop_its_own_thread() -> None:
    """A consumer may be closed by what runs here; waiting for itself would never end."""
    line = Background("test-within")

    def job() -> bool:
        line.stop()
        return line.join(1000)

    assert line.submit(job).result(10)

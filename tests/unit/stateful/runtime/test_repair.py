"""Values that other records in the changelog replaced are written again."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from kafka.errors import KafkaTimeoutError

from kafka_assignors.errors import (
    ChangelogError,
    ChangelogUnreachableError,
    StateDamagedError,
    StateFullError,
)
from tests.unit.stateful.bench import T0, T1, Bench, break_store


def is_away(*_: object) -> dict[bytes, bytes | None]:
    raise KafkaTimeoutError("away")


def replace_value(bench: Bench) -> None:
    """Commit a 2, which a late record replaces with 1 in the changelog."""
    bench.complete(T0, b"a", b"a")
    bench.cluster.log[0].append((b"a", b"1"))


def test_late_record_of_a_former_owner_does_not_stay_the_last_value(bench: Bench) -> None:
    bench.complete(T0, b"a", b"a", b"b")
    bench.cluster.log[0].append((b"a", b"1"))
    bench.complete(T0, b"b")
    assert bench.in_log(0) == {b"a": b"2", b"b": b"2"}
    assert bench.store(T0).position == len(bench.cluster.log[0])


def test_own_records_of_a_failed_write_are_not_written_a_third_time(bench: Bench) -> None:
    bench.process(T0, b"a")
    bench.cluster.log[0].append((b"a", b"1"))  # it arrived, the acknowledgement did not
    assert bench.processing.commit()
    assert bench.cluster.log[0] == [(b"a", b"1"), (b"a", b"1")]
    assert bench.cluster.did == ["changelog", "offsets", "read"]
    assert bench.store(T0).position == 2


@pytest.mark.parametrize("fails", ["read", "connect", "write"])
def test_cluster_that_does_not_answer_is_asked_again_with_the_next_commit(bench: Bench, fails: str) -> None:
    replace_value(bench)
    bench.process(T0, b"b")
    really = bench.cluster.last_values

    def fail_once(*args: Any) -> dict[bytes, bytes | None]:
        if fails == "read":
            raise KafkaTimeoutError("away")
        if fails == "connect":
            raise RuntimeError("can't start new thread")
        bench.cluster.write_fails = ChangelogUnreachableError("away")
        return really(*args)

    bench.cluster.on_read = fail_once
    assert bench.processing.commit(), "the offsets are committed"
    assert bench.in_log(0)[b"a"] == b"1"
    assert bench.store(T0).position == 1
    bench.cluster.write_fails = None
    assert bench.processing.commit()
    assert bench.in_log(0) == {b"a": b"2", b"b": b"1"}
    assert bench.store(T0).position == len(bench.cluster.log[0])


def test_more_late_records_during_the_repair_are_repaired_with_the_next_commit(bench: Bench) -> None:
    replace_value(bench)
    really = bench.cluster.last_values

    def interrupt(*args: Any) -> dict[bytes, bytes | None]:
        values = really(*args)
        bench.cluster.log[0].append((b"b", b"0"))
        return values

    bench.cluster.on_read = interrupt
    bench.complete(T0, b"b")
    assert bench.processing.commit()
    assert bench.in_log(0) == {b"a": b"2", b"b": b"1"}
    assert bench.store(T0).position == len(bench.cluster.log[0])


@pytest.mark.parametrize("end", [0, 1])
def test_truncated_changelog_has_no_repair_left(bench: Bench, end: int) -> None:
    """The repair would wait for an offset that the changelog no longer has."""
    replace_value(bench)
    bench.process(T0, b"b")
    bench.cluster.on_read = is_away
    assert bench.processing.commit()
    assert bench.actives[T0].unproven == 3
    del bench.cluster.log[0][end:]
    bench.complete(T0, b"c")
    assert (bench.actives[T0].unproven, bench.store(T0).position) == (None, end + 1)


def replace_values(bench: Bench) -> None:
    """Let other records replace a value in the changelog of each task; the next commit finds them."""
    for source in (T0, T1):
        bench.complete(source, b"a", b"a")
    for source in (T0, T1):
        bench.cluster.log[source.partition].append((b"a", b"1"))
        bench.process(source, b"b")
    bench.cluster.did.clear()


def test_failed_repair_does_not_stop_the_others(bench: Bench) -> None:
    replace_values(bench)
    bench.cluster.on_read = is_away
    assert bench.processing.commit(), "the offsets are committed"
    assert bench.cluster.did == ["changelog", "offsets", "read", "read", "changelog"]
    assert (bench.in_log(0)[b"a"], bench.in_log(1)[b"a"]) == (b"1", b"2")
    assert bench.processing.commit()
    assert bench.in_log(0)[b"a"] == b"2"


def test_repairs_share_the_time_of_the_lease(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    replace_values(bench)

    def wait(
        _partition: object, _first: int, _end: int, left_s: Callable[[], float]
    ) -> dict[bytes, bytes | None]:
        while left_s() > 0:
            pass
        raise KafkaTimeoutError("away")

    bench.cluster.on_read = wait
    with monkeypatch.context() as patch:
        patch.setattr(bench.lease, "patience_s", 0.01)
        patch.setattr(bench.lease, "is_valid", lambda *_: True)
        assert bench.processing.commit(), "the offsets are committed"
    assert bench.cluster.did == ["changelog", "offsets", "read"]
    assert bench.processing.commit()
    assert (bench.in_log(0)[b"a"], bench.in_log(1)[b"a"]) == (b"2", b"2")


def test_repairs_that_wait_leave_time_for_records(tmp_path: Path) -> None:
    with closing(Bench(tmp_path, interval_s=1.0)) as bench:
        replace_value(bench)
        bench.process(T0, b"b")

        def wait(*_: object) -> dict[bytes, bytes | None]:
            bench.now += 20.0
            bench.cluster.on_read = wait
            raise KafkaTimeoutError("away")

        bench.cluster.on_read = wait
        for _ in range(10):
            bench.now += 10.0
            assert bench.processing.commit_if_due()
    assert bench.cluster.did.count("read") == 2


def test_failed_commit_beside_a_repair_is_tried_again_after_the_interval(tmp_path: Path) -> None:
    def slow(*_: object) -> None:
        bench.now += 20.0

    with closing(Bench(tmp_path, interval_s=1.0, before_commit=slow)) as bench:
        replace_value(bench)
        bench.process(T0, b"b")
        bench.cluster.on_read = is_away
        assert bench.processing.commit()
        assert not bench.tasks.is_proven
        bench.cluster.write_fails = ChangelogUnreachableError("away")
        bench.process(T0, b"b")
        bench.now += 1.0
        assert not bench.processing.commit_if_due()
        bench.cluster.write_fails = None
        bench.now += 1.0
        assert bench.processing.commit_if_due()
        assert bench.tasks.is_proven


def test_every_failed_repair_is_reported(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Only the first error can be raised."""
    replace_values(bench)
    for source in (T0, T1):
        break_store(monkeypatch, bench.store(source), "apply", StateFullError("no room"))
    with pytest.raises(StateFullError, match="no room"):
        bench.processing.commit()
    assert bench.cluster.did.count("read") == 2
    assert "task s_1: no room" in caplog.text


def test_changelog_that_refuses_a_record_does_not_stop_the_others(bench: Bench) -> None:
    replace_values(bench)
    really = bench.cluster.last_values

    def refuse_writes(*args: Any) -> dict[bytes, bytes | None]:
        values = really(*args)
        bench.cluster.write_fails = ChangelogError("too large")
        bench.cluster.on_read = accept_writes
        return values

    def accept_writes(*args: Any) -> dict[bytes, bytes | None]:
        bench.cluster.write_fails = None
        return really(*args)

    bench.cluster.on_read = refuse_writes
    with pytest.raises(ChangelogError, match="too large"):
        bench.processing.commit()
    assert (bench.in_log(0)[b"a"], bench.in_log(1)[b"a"]) == (b"1", b"2")
    assert bench.store(T0).position == 1


def test_write_has_the_time_that_the_read_has_left(bench: Bench) -> None:
    """Otherwise a turn takes twice the time of the lease."""
    replace_value(bench)
    bench.process(T0, b"b")
    left: list[float] = []

    def read(*args: Any) -> dict[bytes, bytes | None]:
        left.append(args[-1]())
        return {b"a": b"1"}

    bench.cluster.on_read = read
    assert bench.processing.commit()
    assert 0 < bench.cluster.write_s[-1] < left[0] <= bench.lease.patience_s


def test_repair_gets_no_time_beyond_that_of_the_shutdown(bench: Bench) -> None:
    bench.process(T0, b"a")
    bench.cluster.log[0].append((b"a", b"1"))
    left: list[float] = []

    def close(*args: Any) -> dict[bytes, bytes | None]:
        bench.stop.set()
        left.append(args[-1]())
        bench.now += 1.0
        left.append(args[-1]())
        raise KafkaTimeoutError("away")

    bench.cluster.on_read = close
    assert bench.processing.commit()
    assert left == [0.6, 0.0]
    bench.cluster.did.clear()
    assert bench.processing.commit()
    assert bench.cluster.did == []


def test_store_that_lacks_changes_does_not_move(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """It would end with a checkpoint after changes that only the changelog has."""
    bench.process(T0, b"a")
    bench.cluster.log[0].append((b"a", b"7"))
    with monkeypatch.context() as patch:
        break_store(patch, bench.store(T0), "commit", StateFullError("no room"))
        with pytest.raises(StateFullError):
            bench.processing.commit()
    assert bench.cluster.did == ["changelog", "offsets"]
    assert bench.store(T0).position is None


def test_damaged_store_needs_no_repair(bench: Bench) -> None:
    """It is restored from the whole changelog, and must not hold up other repairs."""
    for source in (T0, T1):
        bench.process(source, b"a", b"a")
        bench.cluster.log[source.partition].append((b"a", b"1"))
    bench.cluster.on_read = is_away
    assert bench.processing.commit()
    damaged = bench.actives[T0]
    bench.processing.suspend(damaged, StateDamagedError("flipped"))
    bench.copy(T0).drop()
    damaged.copy = None  # with the changelog's reader
    assert bench.processing.commit()
    assert [active.unproven for active in bench.actives.values()] == [None, None]
    assert bench.store(T1).position == len(bench.cluster.log[1])

"""``before_commit``: its calls, its arguments, and commits whose hook fails."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
from kafka.errors import KafkaTimeoutError, TopicAuthorizationFailedError
from kafka.structs import OffsetAndMetadata, TopicPartition

from tests.unit.stateful.bench import T0, T1, Bench

Offsets = Mapping[TopicPartition, OffsetAndMetadata]


class Hook:
    """Records its calls among those of the cluster.

    Attributes:
        offsets: of each call.
        timeouts_s: of each call.
        raises: what the next calls raise.
    """

    def __init__(self) -> None:
        self.bench: Bench | None = None
        self.offsets: list[dict[TopicPartition, int]] = []
        self.timeouts_s: list[float] = []
        self.raises: Exception | None = None
        self.loses_membership = False

    def __call__(self, offsets: Offsets, timeout_s: float) -> None:
        assert self.bench is not None
        self.bench.cluster.did.append("hook")
        self.offsets.append({at: end.offset for at, end in offsets.items()})
        self.timeouts_s.append(timeout_s)
        if self.loses_membership:
            self.bench.cluster.is_stable = False
        if self.raises is not None:
            raise self.raises


@pytest.fixture
def hook() -> Hook:
    return Hook()


@pytest.fixture
def bench(tmp_path: Path, hook: Hook) -> Iterator[Bench]:
    hook.bench = bench = Bench(tmp_path, before_commit=hook)
    yield bench
    bench.close()


def test_hook_runs_before_changelog_and_offsets_with_the_offsets_to_commit(bench: Bench, hook: Hook) -> None:
    bench.process(T0, b"a", b"b")
    bench.complete(T1, b"a")
    assert bench.cluster.did == ["hook", "changelog", "offsets"]
    assert hook.offsets == [{T0: 2, T1: 1}] == [bench.cluster.committed]
    assert hook.timeouts_s == [bench.lease.patience_s]
    assert bench.processing.commit()
    assert len(hook.offsets) == 1, "there was no work"


def test_hook_runs_again_for_uncommitted_offsets(bench: Bench, hook: Hook) -> None:
    bench.process(T0, b"a")
    bench.cluster.commit_fails = KafkaTimeoutError("away")
    assert not bench.processing.commit()
    bench.cluster.commit_fails = None
    bench.complete(T1, b"a")
    assert hook.offsets == [{T0: 1}, {T0: 1, T1: 1}]


def test_hook_that_cannot_reach_the_cluster_is_tried_again(
    bench: Bench, hook: Hook, caplog: pytest.LogCaptureFixture
) -> None:
    """Until then neither changelog nor offsets are written."""
    bench.process(T0, b"a")
    hook.raises = KafkaTimeoutError("not flushed")
    assert not bench.processing.commit()
    assert bench.cluster.did == ["hook"]
    assert "before_commit raised KafkaTimeoutError: not flushed; trying again" in caplog.text
    hook.raises = None
    assert bench.processing.commit()
    assert bench.cluster.committed == {T0: 1}


@pytest.mark.parametrize("error", [ValueError("not delivered"), TopicAuthorizationFailedError({"t"})])
def test_any_other_error_of_the_hook_is_raised_and_nothing_is_committed(
    bench: Bench, hook: Hook, error: Exception
) -> None:
    bench.process(T0, b"a")
    hook.raises = error
    with pytest.raises(type(error)):
        bench.processing.commit()
    assert (bench.cluster.did, bench.in_log(0)) == (["hook"], {})


def test_hook_that_fails_after_process_raised_does_not_hide_that_error(
    bench: Bench, hook: Hook, caplog: pytest.LogCaptureFixture
) -> None:
    bench.process(T0, b"a")
    hook.raises = RuntimeError("not delivered")
    with pytest.raises(ValueError, match="bad"):
        bench.process(T0, b"bad")
    assert bench.cluster.committed == {}
    assert "not delivered" in caplog.text


def test_member_without_a_lease_calls_no_hook_and_writes_nothing(bench: Bench) -> None:
    bench.process(T0, b"a")
    bench.cluster.is_stable = False
    assert not bench.processing.commit()
    assert bench.cluster.did == []
    bench.cluster.is_stable = True
    assert bench.processing.commit()


def test_hook_is_not_called_for_lost_tasks(bench: Bench, hook: Hook) -> None:
    """Their work is dropped; the other task's work is committed."""
    bench.process(T0, b"a")
    bench.process(T1, b"a")
    bench.actives[T0].undo()
    bench.commits.forget([T0])
    assert bench.processing.commit()
    assert hook.offsets == [{T1: 1}]


def test_member_that_loses_its_lease_during_the_hook_writes_nothing(bench: Bench, hook: Hook) -> None:
    bench.process(T0, b"a")
    hook.loses_membership = True
    assert not bench.processing.commit()
    assert bench.cluster.did == ["hook"]


def test_hook_of_a_closing_member_gets_its_share_of_the_time_left(bench: Bench, hook: Hook) -> None:
    """Of one second 0.6 s are for commits."""
    bench.process(T0, b"a")
    bench.stop.set()
    bench.now += 0.35
    assert bench.processing.commit()
    assert hook.timeouts_s == [pytest.approx(0.25)]

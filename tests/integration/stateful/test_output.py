"""Output of a stateful member's own producer, which keeps records in memory until a flush."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.integration.conftest import FreshNames
from tests.integration.reading import all_records
from tests.integration.stateful.stateful_app import App
from tests.support.quick import long


def records_in(bootstrap: str, topic: str) -> list[tuple[int, int]]:
    """Partition and offset of each input that has an output."""
    places = [record.value.split(b":") for record in all_records(bootstrap, topic)]
    return [(int(partition), int(offset)) for partition, offset in places]


@pytest.mark.parametrize("flushes", [True, long(False)])
def test_output_of_a_killed_member_is_complete_if_it_is_flushed_before_each_commit(
    fresh: FreshNames, tmp_path: Path, *, flushes: bool
) -> None:
    """Without the hook the inputs would be committed and their output lost."""
    output = fresh.topic(1)
    with App(fresh, tmp_path, partitions=2) as app:
        a = app.join("a", delay_s=0.001, output=output, flushes=flushes)
        app.wait_until_all_are_ready(a)
        app.produce(3_000)
        app.wait_until(lambda: sum(app.committed().values()) > 300, "some of it to be committed")
        a.kill()
        committed = app.committed()
        assert not app.done(), "it was done before it was killed"
        b = app.join("b", output=output, flushes=True)
        app.wait_until_done()
        app.close()
        inputs = {(p, offset) for p in range(2) for offset in range(sum(app.given[p].values()))}
        missing = inputs - set(records_in(app.bootstrap, output))
        if flushes:
            assert not missing
        else:
            assert missing == {(p, offset) for p, end in committed.items() for offset in range(end)}
        assert b.ended() == 0
        # A commit each 100 ms, and the batch of a poll (500 records) that is begun before the next.
        assert app.doubles().total() <= 600


def test_output_is_flushed_when_tasks_are_revoked_and_at_the_end(fresh: FreshNames, tmp_path: Path) -> None:
    """No other commit is due; each input has exactly one output, because members leave in order."""
    output = fresh.topic(1)
    with App(fresh, tmp_path, commit_interval_ms=600_000, acceptable_recovery_lag=10_000) as app:
        a = app.join("a", output=output, flushes=True)
        app.wait_until_all_are_ready(a)
        app.produce(400)
        app.wait_until(lambda: a.state["processed"] == 400, "all of it to be processed")
        assert records_in(app.bootstrap, output) == []
        b = app.join("b", output=output, flushes=True)
        app.wait_until_all_are_ready(a, b)
        app.wait_until(lambda: len(b.ready) == 2, "tasks to be revoked")
        app.produce(400)
        app.wait_until(lambda: a.state["processed"] + b.state["processed"] == 800, "the rest to be processed")
        app.close()
        assert app.done()
        places = records_in(app.bootstrap, output)
        assert sorted(places) == [(p, o) for p in range(4) for o in range(sum(app.given[p].values()))]
        app.assert_exact()

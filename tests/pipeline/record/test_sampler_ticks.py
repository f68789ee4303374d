"""A stream's offsets are points in time that never decrease, even if the clock is set back."""

from __future__ import annotations

import inspect
import pickle

import pytest
from pyspark import cloudpickle

from kafka_assignors.broker.ports import free_ports
from kafka_assignors.lag.fetch.group_offsets import GroupOffsets
from kafka_assignors.pipeline.record import sampler
from kafka_assignors.pipeline.record.sampling import SamplerOptions

UNREACHABLE = {"bootstrap_servers": ["127.0.0.1:1"]}


class Clocks:
    """A wall clock and a monotonic clock."""

    def __init__(self) -> None:
        self.time, self.ticks = 1_000_003.7, 50.0

    def wait(self, seconds: float) -> None:
        self.time += seconds
        self.ticks += seconds

    def stream(self, every_s: float = 10.0) -> sampler._Stream:
        return sampler._Stream(
            UNREACHABLE,
            SamplerOptions(("a", "b", "c"), every_s=every_s),
            None,
            clock=lambda: self.time,
            monotonic=lambda: self.ticks,
        )


def test_first_batch_is_at_once_and_the_next_when_due() -> None:
    clocks = Clocks()
    stream = clocks.stream()
    start = stream.initialOffset()
    first = stream.latestOffset(start, None)
    assert first == {"tick": 1_000_000_000}
    assert start["tick"] < first["tick"]
    clocks.wait(6)  # 1,000,009.7 s
    assert stream.latestOffset(first, None) == first
    clocks.wait(0.4)
    assert stream.latestOffset(first, None) == {"tick": 1_000_010_000}


def test_changed_interval_continues_from_the_last_tick() -> None:
    clocks = Clocks()
    slow = clocks.stream(10.0).latestOffset({"tick": 0}, None)
    clocks.wait(10)
    quick = clocks.stream(0.5).latestOffset(slow, None)
    clocks.wait(10)
    assert slow["tick"] < quick["tick"] < clocks.stream(10.0).latestOffset(quick, None)["tick"]


def test_clock_that_is_set_back_does_not_end_sampling() -> None:
    clocks = Clocks()
    stream = clocks.stream()
    last = stream.latestOffset({"tick": 0}, None)
    clocks.time -= 3600
    seen = [last["tick"]]
    for _ in range(60):
        clocks.wait(1)
        last = stream.latestOffset(last, None)
        seen.append(last["tick"])
    assert seen == sorted(seen)
    assert len(set(seen)) - 1 == 60 / 10


def test_clock_that_stands_still_does_not_end_sampling() -> None:
    clocks = Clocks()
    stream = clocks.stream()
    last = stream.latestOffset({"tick": 0}, None)
    seen = {last["tick"]}
    for _ in range(60):
        clocks.ticks += 1
        last = stream.latestOffset(last, None)
        seen.add(last["tick"])
    assert len(seen) - 1 == 4, "after 21 s, then every 10 s"


@pytest.mark.parametrize("arguments", [(), ({"tick": 5}, None)], ids=["4.1", "4.2"])
def test_both_signatures_of_latest_offset(arguments: tuple[object, ...]) -> None:
    stream = Clocks().stream()
    assert stream.latestOffset(*arguments) == {"tick": 1_000_000_000}
    # Spark 4.2 reads the signature to decide whether to pass arguments.
    assert list(inspect.signature(stream.latestOffset).parameters) == ["start", "limit"]


def test_new_tick_samples_all_groups_and_no_tick_none() -> None:
    stream = Clocks().stream()
    assert stream.partitions({"tick": 5}, {"tick": 5}) == []
    shares = stream.partitions({"tick": 4}, {"tick": 5})
    assert [share.groups for share in shares] == [("a", "c"), ("b",)]


def test_planning_a_tick_without_a_cluster_gives_a_problem_and_the_named_groups() -> None:
    unreachable = {"bootstrap_servers": [f"127.0.0.1:{free_ports(1)[0]}"]}
    wanted = SamplerOptions.from_options({"groups": '["a"]', "groups_like": ".*", "timeout": "0.5"})
    named, problem = sampler._Stream(unreachable, wanted, None).partitions({"tick": 4}, {"tick": 5})
    assert (named.groups, named.problem) == (("a",), None)
    assert problem.groups == ()
    assert problem.problem.startswith("groups cannot be listed: ")
    (row,) = sampler._Stream(unreachable, wanted, None).read(problem)
    assert row[1:] == ("", None, None, None, None, None, "sampler", problem.problem)


def test_only_the_given_cluster_is_sampled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sampler, "find_groups", lambda *given: ([given[-1]], None))
    monkeypatch.setattr(sampler, "fetch_groups", lambda *given: [GroupOffsets("g", problem=given[-1])])
    stream = sampler.group_samples({}, "c1")({"groups_like": ".*"}).streamReader(None)
    (share,) = stream.partitions({"tick": 4}, {"tick": 5})
    assert share.groups == ("c1",)
    assert [row[-1] for row in stream.read(share)] == ["c1"]


def test_settings_are_pickled_with_the_class_and_not_shown() -> None:
    """Spark pickles the registered class, and the readers of a source."""
    settings = {"bootstrap_servers": ["h:1"], "sasl_plain_password": "pa55word"}
    made = sampler.group_samples(settings, "c1")
    other = sampler.group_samples({"bootstrap_servers": ["other:1"]})
    there = pickle.loads(cloudpickle.dumps(made))  # noqa: S301  # our own bytes
    assert (there.settings, there.name()) == (settings, sampler.NAME)
    assert other.settings == {"bootstrap_servers": ["other:1"]}
    source = there({"groups": '["a"]'})
    for reader in (source.reader(None), source.streamReader(None)):
        assert "pa55word" not in f"{made!r} {source!r} {source} {reader!r} {reader}"
        unpickled = pickle.loads(pickle.dumps(reader))  # noqa: S301  # our own bytes
        assert (unpickled._settings, unpickled._cluster) == (settings, "c1")

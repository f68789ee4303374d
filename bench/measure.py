"""Measures time and memory of one strategy on one group, in a fresh process."""

from __future__ import annotations

import gc
import statistics
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeVar

from kafka.cluster import ClusterMetadata
from kafka.protocol.consumer.group import JoinGroupResponse
from kafka.protocol.consumer.metadata import ConsumerProtocolSubscription
from kafka.protocol.metadata import MetadataResponse

from bench.groups import ASSIGNORS, read_group, write_plan
from bench.problems import Counts
from bench.programs import Facts

T = TypeVar("T")

ENOUGH_S, LEAST_RUNS, MOST_RUNS = 0.5, 3, 101


def measure(kind: str, group: Path, plan: Path, longest: float) -> Iterator[Facts]:
    """Yield facts as they become known, in seconds and MB.

    First ``decode`` (kafka-python's own decoding of every member).  Then ``first`` (the first ``assign()``
    and ``encode()`` of all assignments in this process) with ``memory`` (the peak of this call above the
    memory before it).  Then medians: ``assign``, and ``total`` with the encoding.
    """
    counts, sent = read_group(group)
    topics = cluster(counts)
    decoded, subscriptions = _timed(
        lambda: [ConsumerProtocolSubscription.decode(data) for data in sent.values()]
    )
    members = [
        JoinGroupResponse.JoinGroupResponseMember(
            member_id=member, group_instance_id=None, metadata=subscription
        )
        for member, subscription in zip(sent, subscriptions, strict=True)
    ]
    again = repeated(
        lambda: _timed(lambda: [ConsumerProtocolSubscription.decode(data) for data in sent.values()])[0],
        longest - decoded,
    )
    yield {"decode": statistics.median([decoded, *again])}

    def run() -> tuple[float, float, dict[str, bytes]]:
        assignor = ASSIGNORS[kind]()
        assigning, assignments = _timed(lambda: assignor.assign(topics, members))
        encoding, data = _timed(
            lambda: {m: bytes(assignment.encode()) for m, assignment in assignments.items()}
        )
        return assigning, assigning + encoding, data

    gc.collect()
    before = _forget_peak()
    assign, total, data = run()
    yield {"first": total, "memory": _beyond(before)}
    write_plan(plan, data)
    del data
    # A first call that used up the time is the median.  Such a long call is no slower than later ones.
    runs = repeated(lambda: run()[:2], longest - total) or [(assign, total)]
    yield {
        "assign": statistics.median(a for a, _ in runs),
        "total": statistics.median(t for _, t in runs),
        "runs": len(runs),
    }


def cluster(counts: Counts) -> ClusterMetadata:
    """Return the leader's metadata; topics share partition objects, which no strategy reads."""
    topic = MetadataResponse.MetadataResponseTopic
    numbers = [
        topic.MetadataResponsePartition(
            error_code=0, partition_index=p, leader_id=0, replica_nodes=[0], isr_nodes=[0]
        )
        for p in range(max(counts.values()))
    ]
    broker = MetadataResponse.MetadataResponseBroker(0, "localhost", 9092, None)
    sent = MetadataResponse(version=1, brokers=[broker], controller_id=0, topics=[]).encode()
    response = MetadataResponse.decode(sent, version=1)
    response.topics = [
        topic(error_code=0, name=name, is_internal=False, partitions=numbers[:count])
        for name, count in counts.items()
    ]
    metadata = ClusterMetadata()
    metadata.update_metadata(response)
    return metadata


def repeated(run: Callable[[], T], longest: float) -> list[T]:
    """Collect three results, or up to 101 within 0.5 s; start no run after ``longest`` seconds."""
    done: list[T] = []
    started = time.perf_counter()
    while len(done) < MOST_RUNS:
        taken = time.perf_counter() - started
        if taken >= longest or (taken >= ENOUGH_S and len(done) >= LEAST_RUNS):
            break
        done.append(run())
    return done


def _timed(run: Callable[[], T]) -> tuple[float, T]:
    started = time.perf_counter()
    result = run()
    return time.perf_counter() - started, result


# Every Unix has ru_maxrss, but a child inherits its parent's through exec.  Linux can reset the peak.
_STATUS, _PEAK = Path("/proc/self/status"), Path("/proc/self/clear_refs")


def _forget_peak() -> float | None:
    """Reset the peak to the memory in use now and return it (MB); None if the system cannot."""
    try:
        _PEAK.write_text("5", encoding="ascii")
    except OSError:
        return None
    return _status("VmRSS")


def _beyond(before: float | None) -> float | None:
    return None if before is None else max(0.0, _status("VmHWM") - before)


def _status(name: str) -> float:
    text = _STATUS.read_text(encoding="ascii")
    return int(next(line.split()[1] for line in text.splitlines() if line.startswith(f"{name}:"))) / 1024

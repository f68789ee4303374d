"""``python -m bench.rebalance_cost``: a rebalance with and without causes and metrics, on member and leader.

One run measures all kinds: real consumers without a broker take turns.  The figures are medians of CPU time,
because other processes affect it less than elapsed time.
"""

from __future__ import annotations

import argparse
import socket
import statistics
import time
from collections.abc import Callable, Iterable, Sequence
from itertools import product
from types import SimpleNamespace
from typing import Any

from kafka import KafkaConsumer
from kafka.protocol.consumer.metadata import ConsumerProtocolAssignment

from kafka_assignors import Assignor, CooperativeLagAwareAssignor, CooperativeStickyAssignor
from kafka_assignors.plan.cause import Cause, RebalanceCause
from tests.support.group.joining import answer, joined

KINDS = ("neither", "causes", "causes and metrics")


def lags(partitions: Iterable[Any]) -> dict[Any, int]:
    """Return lags at once, without a broker."""
    return {partition: partition.partition % 1000 for partition in partitions}


STRATEGIES: tuple[type[Assignor], ...] = (
    CooperativeStickyAssignor,
    CooperativeLagAwareAssignor.configured(lag_source=lags),
)


def consumer(port: int, partitions: int, strategy: type[Assignor], kind: str) -> Any:
    """Return a consumer of one topic that never joins."""
    client = KafkaConsumer(
        "t",
        bootstrap_servers=f"127.0.0.1:{port}",
        api_version=(2, 5),
        group_id="g",
        partition_assignment_strategy=[strategy],
        metrics_enabled=kind == "causes and metrics",
    )
    client._cluster.update_metadata(answer({"t": partitions}))
    if kind == "neither":
        client._coordinator.group_protocols()  # creates the object that finds the causes
        (assignor,) = client._coordinator._assignors.values()
        assignor._causes.record_group = lambda *_: None
        assignor._causes.find = lambda *_: (RebalanceCause(Cause.UNKNOWN),)
    return client


def rebalance(client: Any, members: int, *, leads: bool) -> Callable[[], float]:
    """Return a function that runs one rebalance, with the plan if ``leads``, and returns its CPU seconds."""
    coordinator = client._coordinator
    (assignor,) = coordinator._assignors.values()
    generation = 0
    (_name, subscription), *_ = coordinator.group_protocols()

    def run() -> float:
        nonlocal generation
        generation += 1
        started = time.process_time()
        coordinator.group_protocols()
        seconds = time.process_time() - started
        group = [joined(f"m{i}", subscription) for i in range(members)]
        started = time.process_time()
        if leads:
            assignor.assign(client._cluster, group)
        response = SimpleNamespace(error_code=0, protocol_type=None, protocol_name=None, assignment=b"")
        coordinator._process_sync_group_response(response, time.monotonic())
        assignor.on_assignment(ConsumerProtocolAssignment(0, [("t", [0])], b""), generation)
        return seconds + time.process_time() - started

    return run


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, and print a line for each strategy, on member and leader."""
    parser = argparse.ArgumentParser(prog="python -m bench.rebalance_cost", description=__doc__)
    parser.add_argument("--partitions", type=int, default=10_000)
    parser.add_argument("--members", type=int, default=200)
    parser.add_argument("--rounds", type=int, default=100)
    options = parser.parse_args(arguments)
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        for strategy, (role, leads) in product(STRATEGIES, (("member", False), ("leader", True))):
            consumers = [consumer(port, options.partitions, strategy, kind) for kind in KINDS]
            runs = [rebalance(measured, options.members, leads=leads) for measured in consumers]
            seconds: list[list[float]] = [[] for _kind in KINDS]
            for turn in range(options.rounds):
                for place in range(len(KINDS)):
                    kind = (place + turn) % len(KINDS)  # so no kind is always the last
                    seconds[kind].append(runs[kind]())
            medians = [1000 * statistics.median(taken) for taken in seconds]
            figures = ", ".join(
                f"{kind} {median:.3f} ms ({median - medians[0]:+.3f})"
                for kind, median in zip(KINDS, medians, strict=True)
            )
            print(f"{strategy.name} {role}: {figures}", flush=True)
            for measured in consumers:
                measured.close()


if __name__ == "__main__":
    main()

"""The shape of the failover's part of results.json; times are seconds, rounded to milliseconds."""

from __future__ import annotations

from typing import TypedDict


class TaskResult(TypedDict):
    """One task in one event; `measure_events` defines each figure."""

    task: int
    moved: bool
    still: float
    usual: float | None
    in_all: float
    waited: int
    changelog: int


class EventResult(TypedDict):
    """A join or a kill; `measure_events` defines each figure."""

    act: str
    kind: str
    member: str
    fault: str
    still_max: float
    still_p50: float
    usual: float | None
    in_all: float
    session_timeout: float
    moved: int
    changelog: int
    waited: int
    balanced: float
    rebalances: int
    probing: int
    tasks: list[TaskResult]


class CountsResult(TypedDict):
    """The stores' counts by line beside those of the producer."""

    records: int  # in the topic
    lines: int  # in the stores
    counted: int
    doubles: int  # of these, records known to be counted before
    again: int  # times a member processed a record that had been processed before
    copies: int  # of tasks, at the end of their changelog
    differences: list[str]


class FailoverResult(TypedDict):
    """The scene."""

    flights: int  # counted before the first event
    tasks: int
    rate: float  # records/s while members came and went
    counting: float  # seconds to count the flights
    bytes_counted: int  # of the changelog on the broker's disk, after that
    bytes: int  # and at the end
    changelog: int  # records
    sent: int
    processed: int
    lost: int
    fault: str
    events: list[EventResult]
    counts: CountsResult


def failover_faults(result: FailoverResult) -> list[str]:
    """List the faults: records lost, counts that differ, a group that did not settle."""
    faults = [result["fault"]] if result["fault"] else []
    if result["lost"]:
        faults.append(f"{result['lost']:,} of {result['sent']:,} records were not processed")
    faults = [f"failover: {fault}" for fault in faults]
    faults += [
        f"failover, {event['act']}, {event['kind']} {event['member']}: {event['fault']}"
        for event in result["events"]
        if event["fault"]
    ]
    return faults + [f"failover, {difference}" for difference in result["counts"]["differences"]]

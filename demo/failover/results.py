"""The shape of the failover's part of results.json; times are seconds, rounded to milliseconds."""

from __future__ import annotations

from typing import TypedDict


class TaskResult(TypedDict):
    """How an event was to one task.

    ``still``: the longest time in which no new record of it was processed, ``usual``: the same in the seconds
    before the event.  ``moved``: another member has it now, and ``waited`` is how many records of its
    changelog that one applied while nobody processed it; ``changelog``: how many there were.
    """

    task: int
    moved: bool
    still: float
    usual: float | None
    in_all: float
    waited: int
    changelog: int


class EventResult(TypedDict):
    """Something that happened to the group; `measure_events` defines each figure."""

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
    restored: int
    balanced: float
    rebalances: int
    probing: int
    tasks: list[TaskResult]


class CountsResult(TypedDict):
    """What the stores counted, beside what there was to count.

    ``by``: who counted that, Spark from the topic or the producer while it sent; ``records`` it found.
    ``counted`` are those in the stores, ``doubles`` how many of them were known to be there already, by
    carrier and by destination; ``again``: how often a member processed a record that one had processed
    before. ``copies``: of tasks, at the end of their changelog.  ``differences``: each one, in words.
    ``fault``: empty, or why they were not compared.
    """

    by: str
    records: int
    carriers: int
    destinations: int
    counted: list[int]
    doubles: list[int]
    again: int
    copies: int
    differences: list[str]
    fault: str


class FailoverResult(TypedDict):
    """The scene.

    ``flights`` were counted to begin with, in ``counting`` seconds; the changelog then took ``bytes_counted``
    on the broker's disk, and ``bytes`` at the end, in ``changelog`` records.  ``sent``, ``processed`` and
    ``lost`` are records.  ``rate``: records/s while members came and went.
    """

    flights: int
    tasks: int
    rate: float
    counting: float
    bytes_counted: int
    bytes: int
    changelog: int
    sent: int
    processed: int
    lost: int
    fault: str
    events: list[EventResult]
    counts: CountsResult

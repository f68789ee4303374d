"""Notes of ``plan`` on standard error: input that the plan ignores, and assumptions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import click

from kafka_assignors.assignor.base import Assignor
from kafka_assignors.assignor.complaints import Complaints
from kafka_assignors.plan import UNKNOWN_LAG, Group, resolve

_MOST_NOTES = 5  # notes that are printed


def print_notes(lines: Iterable[str]) -> None:
    """Print up to five notes, and the number of the others."""
    notes = list(lines)
    for line in notes[:_MOST_NOTES]:
        click.echo(f"note: {line}", err=True)
    if (more := len(notes) - _MOST_NOTES) > 0:
        click.echo(f"note: ... and {more} more", err=True)


def about_planning_by_counts(group: Group, assignors: Sequence[Assignor]) -> list[str]:
    """Return a note if all strategies plan by lag, and no lag is known."""
    needs_lag = group.size and all(assignor.by_lag for assignor in assignors)
    return ["no lags: planning by counts"] if needs_lag and not group.knows_lag else []


def about_unused(assignors: Sequence[Assignor], what: str) -> str:
    """Return a note on input that no strategy uses."""
    subject = f"strategy {assignors[0].name!r} does" if len(assignors) == 1 else "the strategies do"
    return f"{subject} not use {what}"


def about_group(group: Group, assignors: Sequence[Assignor]) -> Iterator[str]:
    """Yield notes on racks, topics, claims and priorities, and on input that no strategy uses."""
    by_rack = any(assignor.by_rack for assignor in assignors)
    if by_rack:
        yield from _about_racks(group)
    complaints = Complaints()
    complaints.about_topics(group)
    complaints.about_claims(resolve(group))
    yield from complaints.lines()
    lacks_priority = [member.priority is None for member in group.members]
    if any(lacks_priority) and all(assignor.by_priority for assignor in assignors):
        yield f"{sum(lacks_priority)} of {len(lacks_priority)} members have no priority: they rank last"
    given = {
        "lags": group.knows_lag and not any(assignor.by_lag for assignor in assignors),
        "priority": not all(lacks_priority) and not any(assignor.by_priority for assignor in assignors),
        "racks": bool(group.racks) and not by_rack,
        "capacity": not group.capacities.are_equal and not any(assignor.by_lag for assignor in assignors),
    }
    if unused := [name for name, is_given in given.items() if is_given]:
        yield about_unused(assignors, " and ".join(unused))


def _about_racks(group: Group) -> Iterator[str]:
    if group.too_many_racks:
        yield group.rack_limit
    elif (group.racks or any(m.rack for m in group.members)) and (
        group.in_racks is None or not group.in_racks.any()
    ):
        yield "racks have no effect: no member is known to share a rack with a replica"


def about_given_lags(group: Group) -> list[str]:
    """Return notes on partitions without lag in a file, and on lags larger than a plan can add up."""
    if not group.knows_lag:
        return []
    lines = []
    if unknown := int((group.known_lag == UNKNOWN_LAG).sum()):
        lines.append(f"no lag for {unknown:,} of {group.size:,} partitions: each counts as its topic's mean")
    most = int(group.known_lag.max())
    if any(lag > most for lags in group.lags.values() for lag in lags):
        lines.append(f"lags above {most:,} count as {most:,}")
    return lines

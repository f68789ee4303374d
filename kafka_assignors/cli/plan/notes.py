"""What ``plan`` says on standard error: what of a problem counts for nothing in the plan, or was guessed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import click

from kafka_assignors.assignor.base import Assignor
from kafka_assignors.assignor.complaints import Complaints
from kafka_assignors.plan import UNKNOWN_LAG, Group, resolve

__all__ = ["about_given_lags", "about_group", "say"]

_MOST_NOTES = 5


def say(lines: Iterable[str]) -> None:
    """Print notes, not too many."""
    notes = list(lines)
    for line in notes[:_MOST_NOTES]:
        click.echo(f"note: {line}", err=True)
    if (more := len(notes) - _MOST_NOTES) > 0:
        click.echo(f"note: ... and {more} more", err=True)


def about_group(group: Group, assignors: Sequence[Assignor]) -> Iterator[str]:
    """What the strategies make of who is there: of racks, claims and priorities, and what they do not use."""
    by_rack = any(assignor.by_rack for assignor in assignors)
    if by_rack:
        yield from _about_racks(group)
    complaints = Complaints()
    complaints.about_topics(group)
    complaints.about_claims(resolve(group))
    yield from complaints.lines()
    silent = [member.priority is None for member in group.members]
    if any(silent) and all(assignor.by_priority for assignor in assignors):
        yield f"{sum(silent)} of {len(silent)} members say no priority: they rank last"
    given = {
        "lags": group.knows_lag and not any(assignor.by_lag for assignor in assignors),
        "priority": not all(silent) and not any(assignor.by_priority for assignor in assignors),
        "racks": bool(group.racks) and not by_rack,
    }
    if unused := [name for name, there in given.items() if there]:
        who = f"strategy {assignors[0].name!r} does" if len(assignors) == 1 else "the strategies do"
        yield f"{who} not use {' and '.join(unused)}"


def _about_racks(group: Group) -> Iterator[str]:
    if group.too_many_racks:
        yield "too many different sets of racks: they are left out"
    elif not any(m.rack for m in group.members) and not group.racks:
        return
    elif group.in_racks is None or not group.in_racks.any():
        yield "racks count for nothing: no member's rack has a replica"


def about_given_lags(group: Group, assignors: Sequence[Assignor]) -> list[str]:
    """Say what a file leaves out of the lag, and what of it is more than a plan can add up."""
    if not group.knows_lag:
        blind = group.size and all(assignor.by_lag for assignor in assignors)
        return ["no lags: counts decide"] if blind else []
    lines = []
    if unknown := int((group.known_lag == UNKNOWN_LAG).sum()):
        lines.append(f"no lag of {unknown:,} of {group.size:,} partitions: each counts as its topic's mean")
    most = int(group.known_lag.max())
    if any(lag > most for lags in group.lags.values() for lag in lags):
        lines.append(f"lags of more than {most:,} count as that")
    return lines

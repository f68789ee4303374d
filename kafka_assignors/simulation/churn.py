"""The script of churn: who joins, who leaves, who is killed, and when."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, get_args

from kafka_assignors.errors import OptionError

__all__ = [
    "KINDS",
    "Act",
    "Kind",
    "Step",
    "client_id",
    "first_members",
    "parse",
    "present_after",
    "rehearse",
]

Kind = Literal["join", "leave", "kill"]
KINDS: tuple[Kind, ...] = get_args(Kind)


@dataclass(frozen=True, slots=True)
class Step:
    """One line of the script.

    Args:
        kind: ``join`` a new process, ``leave`` by a clean close, ``kill`` by SIGKILL.
        at: seconds after the start: in the demo after the first record was sent.
    """

    kind: Kind
    at: float

    def __str__(self) -> str:
        return f"{self.kind}@{self.at:g}"


@dataclass(frozen=True, slots=True)
class Act:
    """A step, and the member it happens to."""

    kind: Kind
    at: float
    member: str

    def __str__(self) -> str:
        return f"{self.kind} {self.member}"


def parse(text: str) -> tuple[Step, ...]:
    """Read ``join@12,leave@26,kill@40``; an empty text is a script without churn.

    Returns:
        The steps in the order of their times.

    Raises:
        OptionError: an unknown kind, no time, a time that is not a number of seconds above 0, or one used
            twice.
    """
    steps: list[Step] = []
    for part in filter(None, (part.strip() for part in text.split(","))):
        name, _, when = part.partition("@")
        kind = next((kind for kind in KINDS if kind == name), None)
        if kind is None:
            raise OptionError(
                "churn", f"{part!r}: not one of {', '.join(f'{kind}@SECONDS' for kind in KINDS)}"
            )
        try:
            at = float(when)
        except ValueError:
            raise OptionError("churn", f"{part!r}: {when!r} is not a number of seconds") from None
        if not 0 < at < float("inf"):
            raise OptionError("churn", f"{part!r}: the time must be above 0")
        steps.append(Step(kind, at))
    steps.sort(key=lambda step: step.at)
    if len({step.at for step in steps}) < len(steps):
        raise OptionError("churn", f"{text!r}: two steps at the same time cannot be told apart")
    return tuple(steps)


def first_members(consumers: int) -> tuple[str, ...]:
    """Name the members a run starts with: ``m1`` to ``mN``."""
    return tuple(f"m{number}" for number in range(1, consumers + 1))


def rehearse(steps: Sequence[Step], consumers: int) -> tuple[Act, ...]:
    """Cast the script: a join brings the next new name, leave and kill take the member that is there longest.

    Raises:
        OptionError: the script would leave the group without a member.
    """
    present = list(first_members(consumers))
    born = consumers
    acts: list[Act] = []
    for step in steps:
        if step.kind == "join":
            born += 1
            present.append(f"m{born}")
            acts.append(Act(step.kind, step.at, present[-1]))
            continue
        if len(present) == 1:
            raise OptionError("churn", f"{step} would leave the group without a member")
        acts.append(Act(step.kind, step.at, present.pop(0)))
    return tuple(acts)


def present_after(acts: Sequence[Act], consumers: int) -> tuple[str, ...]:
    """Name the members that are there once all ``acts`` have happened, oldest first."""
    present = list(first_members(consumers))
    for act in acts:
        if act.kind == "join":
            present.append(act.member)
        else:
            present.remove(act.member)
    return tuple(present)


def client_id(member: str) -> str:
    """Make the client id of a member: a hash first, as in the names that deployments give.

    Assignors order members by an id that begins with this.  With plain names a new member always comes last,
    which is the kindest case for ``range``; in the wild its place is a matter of luck, the same here for all
    strategies.
    """
    return f"{hashlib.sha256(member.encode()).hexdigest()[:6]}-{member}"

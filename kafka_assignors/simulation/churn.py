"""The churn of a run: its script of joins, leaves and kills, and the member of each."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, get_args

from kafka_assignors.errors import OptionError
from kafka_assignors.validators import is_number, wrong

Kind = Literal["join", "leave", "kill"]
KINDS: tuple[Kind, ...] = get_args(Kind)


@dataclass(frozen=True, slots=True)
class ChurnStep:
    """One step of the script.

    Attributes:
        kind: ``join`` starts a process, ``leave`` closes its consumer, ``kill`` sends it SIGKILL.
        at: seconds after the start.  In the demo the start is the first record sent.
    """

    kind: Kind
    at: float

    def __str__(self) -> str:
        """Return the step as in the script.  The time is exact, because scripts tell outcomes apart."""
        return f"{self.kind}@{float(self.at)!r}".removesuffix(".0")


@dataclass(frozen=True, slots=True)
class Act:
    """A step with its member."""

    kind: Kind
    at: float  # seconds after the start
    member: str

    def __str__(self) -> str:
        return f"{self.kind} {self.member}"


def parse_churn(text: str) -> tuple[ChurnStep, ...]:
    """Read ``join@12,leave@26,kill@40``; an empty text means no churn.

    Returns:
        The steps in the order of their times.

    Raises:
        OptionError: an unknown kind, no time, a time that is not a number of seconds above 0, or one used
            twice.
    """
    steps: list[ChurnStep] = []
    for part in filter(None, (part.strip() for part in text.split(","))):
        name, _, when = part.partition("@")
        kind = next((kind for kind in KINDS if kind == name), None)
        if kind is None:
            raise wrong("churn", f"one of {', '.join(f'{kind}@SECONDS' for kind in KINDS)}", part)
        try:
            at_s = float(when)
        except ValueError:
            at_s = math.nan  # refused below
        if not is_number(at_s) or at_s <= 0:
            raise wrong("churn", f"seconds above 0 after {name}@", when)
        steps.append(ChurnStep(kind, at_s))
    steps.sort(key=lambda step: step.at)
    if len({step.at for step in steps}) < len(steps):
        raise OptionError("churn", f"{text!r}: two steps at the same time have no order")
    return tuple(steps)


def first_members(consumers: int) -> tuple[str, ...]:
    """Return the names of the members at the start: ``m1`` to ``mN``."""
    return tuple(f"m{number}" for number in range(1, consumers + 1))


def rehearse(steps: Sequence[ChurnStep], consumers: int) -> tuple[Act, ...]:
    """Assign members to steps: a join adds the next new name, leave and kill take the oldest member.

    Raises:
        OptionError: the script would leave the group without a member.
    """
    present = list(first_members(consumers))
    named = consumers
    acts: list[Act] = []
    for step in steps:
        if step.kind == "join":
            named += 1
            present.append(f"m{named}")
            acts.append(Act(step.kind, step.at, present[-1]))
            continue
        if len(present) == 1:
            raise OptionError("churn", f"{step} would leave the group without a member")
        acts.append(Act(step.kind, step.at, present.pop(0)))
    return tuple(acts)


def client_id(member: str) -> str:
    """Return the client id of a member, which begins with a hash, as the names in many deployments do.

    Assignors order members by their ids, which begin with the client id.  With plain names a new member would
    mostly be last, which is the best case for ``range``.  With the hash its place is arbitrary, but the same
    for all strategies.
    """
    return f"{hashlib.sha256(member.encode()).hexdigest()[:6]}-{member}"

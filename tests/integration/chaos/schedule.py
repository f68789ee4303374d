"""The faults of a seed: pure, so that a failed run can be repeated."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import Enum
from random import Random


class Fault(Enum):
    """What happens to a group.

    Slot n is a member's place in each group; that member comes through door n, a proxy of its own.
    """

    SLOW = "door slow"
    SILENT = "door silent"
    CUT = "connections cut"
    SHUT = "door shut"
    KILL = "member killed"
    SHORT_STOP = "member stopped for less than a session"
    LONG_STOP = "member stopped for more than a session"
    LEAVE = "member leaves"
    JOIN = "member joins"
    BROKER = "broker killed and restarted"
    GROW = "topics grow"


DOORS = frozenset({Fault.SLOW, Fault.SILENT, Fault.CUT, Fault.SHUT})
STOPS = frozenset({Fault.SHORT_STOP, Fault.LONG_STOP})
_GAP_S = (1.0, 4.0)
_SESSIONS: dict[Fault, tuple[float, float]] = {  # how long a fault lasts
    Fault.SLOW: (1.0, 3.0),
    Fault.SILENT: (0.5, 2.5),
    Fault.CUT: (0.1, 0.1),
    Fault.SHUT: (0.5, 2.5),
    Fault.SHORT_STOP: (0.2, 0.6),
    Fault.LONG_STOP: (1.5, 2.5),
    Fault.BROKER: (0.1, 1.0),
}


@dataclass(frozen=True, slots=True)
class Step:
    """One fault.

    Attributes:
        at_s: seconds after the start.
        fault: its kind.
        slot: the member or door; None: it is for all.
        for_s: seconds until it is over; 0 where it cannot be undone.
    """

    at_s: float
    fault: Fault
    slot: int | None = None
    for_s: float = 0.0

    def __str__(self) -> str:
        where = "" if self.slot is None else f" (slot {self.slot})"
        return f"{self.at_s:6.1f} s  {self.fault.value}{where}" + (
            f" for {self.for_s:.1f} s" if self.for_s else ""
        )


@dataclass(slots=True)
class _Scene:
    """What a schedule has done up to now, so that each fault meets something it can befall."""

    slots: int
    present: set[int] = field(init=False)
    stopped_until: dict[int, float] = field(default_factory=dict)
    disturbed_until: dict[int | None, float] = field(default_factory=dict)  # doors; None: the broker

    def __post_init__(self) -> None:
        self.present = set(range(self.slots))

    def targets(self, fault: Fault, at_s: float) -> list[int | None]:
        """The slots that can have this fault now."""
        if fault in {Fault.GROW, Fault.BROKER}:  # without a broker no topic can be altered
            return [None] if self.disturbed_until.get(None, 0.0) <= at_s else []
        if fault in DOORS:
            return [n for n in range(self.slots) if self.disturbed_until.get(n, 0.0) <= at_s]
        if fault is Fault.JOIN:
            return [n for n in range(self.slots) if n not in self.present]
        running = [n for n in sorted(self.present) if self.stopped_until.get(n, 0.0) <= at_s]
        if fault in STOPS:
            return list(running)
        return list(running) if len(self.present) > 1 else []

    def play(self, step: Step) -> None:
        end_s = step.at_s + step.for_s
        if step.fault in DOORS or step.fault is Fault.BROKER:
            self.disturbed_until[step.slot] = end_s
        elif step.slot is None:
            return
        elif step.fault in STOPS:
            self.stopped_until[step.slot] = end_s
        elif step.fault is Fault.JOIN:
            self.present.add(step.slot)
        else:
            self.present.discard(step.slot)


def schedule(seed: int, duration_s: float, *, slots: int, session_s: float) -> tuple[Step, ...]:
    """Draw the faults of a seed: all kinds by turns, in a random order, at random times and places.

    Args:
        seed: the same seed gives the same faults.
        duration_s: no fault begins later.
        slots: members a group has at the most, all present at the start; one is always left.
        session_s: a member's session time-out, by which the length of faults is measured.
    """
    return tuple(_steps(Random(seed), duration_s, _Scene(slots), session_s))


def _steps(random: Random, duration_s: float, scene: _Scene, session_s: float) -> Iterator[Step]:
    at_s = 0.0
    waiting: list[Fault] = []
    while (at_s := at_s + random.uniform(*_GAP_S)) < duration_s:
        while not (possible := [fault for fault in waiting if scene.targets(fault, at_s)]):
            waiting += random.sample(list(Fault), len(Fault))
        fault = possible[0]
        waiting.remove(fault)
        length_s = session_s * random.uniform(*_SESSIONS[fault]) if fault in _SESSIONS else 0.0
        step = Step(at_s, fault, random.choice(scene.targets(fault, at_s)), length_s)
        scene.play(step)
        yield step

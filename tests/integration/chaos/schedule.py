"""Draws the faults of a seed.  Pure, so that a failed run can be repeated."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import Enum
from random import Random


class Fault(Enum):
    """A kind of fault.

    Each group has a member in slot n, which connects through proxy n.
    """

    SLOW = "proxy slow"
    SILENT = "proxy silent"
    CUT = "connections cut"
    SHUT = "proxy shut"
    KILL = "member killed"
    SHORT_STOP = "member stopped for less than a session"
    LONG_STOP = "member stopped for more than a session"
    LEAVE = "member leaves"
    JOIN = "member joins"
    BROKER = "broker killed and restarted"
    GROW = "topics grow"


PROXY_FAULTS = frozenset({Fault.SLOW, Fault.SILENT, Fault.CUT, Fault.SHUT})
STOP_FAULTS = frozenset({Fault.SHORT_STOP, Fault.LONG_STOP})
QUICK_S = 30.0
"""Time of the faults of `make test`; starting, settling and checking take a minute more."""
QUICK_SEED = 9
"""Gives each kind of fault within `QUICK_S`."""
_GAP_S = (1.0, 4.0)
_SESSIONS: dict[Fault, tuple[float, float]] = {  # duration of a fault, in session time-outs
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
        slot: the slot of the member or proxy; None: all.
        for_s: duration (s); 0 for a fault without an end.
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
class _State:
    """The state after the steps so far, so that each fault has a target."""

    slots: int
    present: set[int] = field(init=False)
    stopped_until: dict[int, float] = field(default_factory=dict)
    disturbed_until: dict[int | None, float] = field(default_factory=dict)  # proxies; None: the broker

    def __post_init__(self) -> None:
        self.present = set(range(self.slots))

    def targets(self, fault: Fault, at_s: float) -> list[int | None]:
        """Slots that can have this fault now."""
        if fault in {Fault.GROW, Fault.BROKER}:  # without a broker no topic can be altered
            return [None] if self.disturbed_until.get(None, 0.0) <= at_s else []
        if fault in PROXY_FAULTS:
            return [n for n in range(self.slots) if self.disturbed_until.get(n, 0.0) <= at_s]
        if fault is Fault.JOIN:
            return [n for n in range(self.slots) if n not in self.present]
        running = [n for n in sorted(self.present) if self.stopped_until.get(n, 0.0) <= at_s]
        if fault in STOP_FAULTS:
            return list(running)
        return list(running) if len(self.present) > 1 else []

    def apply(self, step: Step) -> None:
        end_s = step.at_s + step.for_s
        if step.fault in PROXY_FAULTS or step.fault is Fault.BROKER:
            self.disturbed_until[step.slot] = end_s
        elif step.slot is None:
            return
        elif step.fault in STOP_FAULTS:
            self.stopped_until[step.slot] = end_s
        elif step.fault is Fault.JOIN:
            self.present.add(step.slot)
        else:
            self.present.discard(step.slot)


def schedule(seed: int, duration_s: float, *, slots: int, session_s: float) -> tuple[Step, ...]:
    """Draw the faults of a seed: each kind equally often, in random order, at random times and slots.

    Args:
        seed: equal seeds give equal faults.
        duration_s: no fault begins later.
        slots: most members of a group; all are present at the start, and one always stays.
        session_s: a member's session time-out, to which the durations of faults are relative.
    """
    return tuple(_steps(Random(seed), duration_s, _State(slots), session_s))


def _steps(random: Random, duration_s: float, state: _State, session_s: float) -> Iterator[Step]:
    at_s = 0.0
    waiting: list[Fault] = []
    while (at_s := at_s + random.uniform(*_GAP_S)) < duration_s:
        while not (possible := [fault for fault in waiting if state.targets(fault, at_s)]):
            waiting += random.sample(list(Fault), len(Fault))
        fault = possible[0]
        waiting.remove(fault)
        length_s = session_s * random.uniform(*_SESSIONS[fault]) if fault in _SESSIONS else 0.0
        step = Step(at_s, fault, random.choice(state.targets(fault, at_s)), length_s)
        state.apply(step)
        yield step

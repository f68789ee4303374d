"""The groups that are timed, and their events."""

from __future__ import annotations

import random
from collections.abc import Iterable
from dataclasses import dataclass

Counts = dict[str, int]
Subscriptions = dict[str, list[str]]
Plan = dict[str, dict[str, list[int]]]

PHASES = (
    "fresh",
    "stable",
    "one joins",
    "one leaves",
    "10 % leave",
    "partitions added",
    "10 % re-subscribe",
)


@dataclass(frozen=True, slots=True)
class Moment:
    """A group as its leader sees it: the cluster, the members, and their owned partitions."""

    counts: Counts
    subscriptions: Subscriptions
    owned: Plan


@dataclass(frozen=True, slots=True)
class Problem:
    """A group: ``topics`` of ``partitions`` each, and ``members`` that subscribe by ``kind``.

    Kinds: ``uniform`` (all members to all topics), ``half`` (each member to a random half of the topics),
    ``tiers`` (the first half of the members to all topics, the others to the first half of the topics).
    """

    kind: str
    topics: int
    partitions: int
    members: int

    @property
    def total(self) -> int:
        """Partitions of all topics."""
        return self.topics * self.partitions

    @property
    def work(self) -> int:
        """Partitions times members, to which the time of the slow planners is proportional."""
        return self.total * self.members

    @property
    def name(self) -> str:
        """Name for reports: kind, partitions of all topics, members."""
        return f"{self.kind} {self.total:,} x {self.members:,}"

    def at(self, phase: str, base: Plan) -> Moment:
        """Return the group in a phase; ``base`` is the assignment before it, which ``fresh`` ignores."""
        names = [f"t{i:05d}" for i in range(self.topics)]
        counts = dict.fromkeys(names, self.partitions)
        rng = random.Random(self.name)
        subscriptions = {f"c{i:05d}": self._choice(i, names, rng) for i in range(self.members)}
        if phase == "fresh":
            return Moment(counts, subscriptions, {})
        rng = random.Random(f"{phase} {self.name}")
        if phase == "one joins":
            subscriptions["n00000"] = self._choice(0, names, rng)
        elif phase == "one leaves":
            _leave(subscriptions, 1, rng)
        elif phase == "10 % leave":
            _leave(subscriptions, _tenth(self.members), rng)
        elif phase == "partitions added":
            for name in rng.sample(sorted(counts), _tenth(self.topics)):
                counts[name] += _tenth(self.partitions)
        elif phase == "10 % re-subscribe":
            for i in sorted(rng.sample(range(self.members), _tenth(self.members))):
                subscriptions[f"c{i:05d}"] = self._other_choice(i, names, rng)
        elif phase != "stable":
            raise ValueError(f"no phase {phase!r}, only {', '.join(PHASES)}")
        return Moment(counts, subscriptions, {m: base[m] for m in subscriptions if m in base})

    def _choice(self, i: int, names: list[str], rng: random.Random) -> list[str]:
        if self.kind == "half":
            return sorted(rng.sample(names, len(names) // 2))
        if self.kind == "tiers" and i >= self.members // 2:
            return names[: len(names) // 2]
        return names

    def _other_choice(self, i: int, names: list[str], rng: random.Random) -> list[str]:
        """Return a changed subscription: another random half, the other tier, or half of the topics."""
        if self.kind == "tiers":
            return names if i >= self.members // 2 else names[: len(names) // 2]
        return sorted(rng.sample(names, len(names) // 2))


def _tenth(count: int) -> int:
    return max(1, count // 10)


def _leave(subscriptions: Subscriptions, leaving: int, rng: random.Random) -> None:
    for member in rng.sample(sorted(subscriptions), leaving):
        del subscriptions[member]


SIZES: dict[str, tuple[Problem, ...]] = {
    "small": tuple(Problem(kind, 10, 10, 10) for kind in ("uniform", "half", "tiers")),
    "standard": (
        *(Problem(kind, 100, 100, 100) for kind in ("uniform", "half", "tiers")),
        Problem("uniform", 50, 100, 500),
    ),
    "large": (
        *(Problem(kind, 500, 200, 1000) for kind in ("uniform", "half", "tiers")),
        *(Problem(kind, 1000, 1000, 2000) for kind in ("uniform", "half")),
    ),
}

# Partitions or members grow, and the other number stays.  100,000 x 1,000 is on both axes, and in the table.
GROWTH: dict[str, tuple[Problem, ...]] = {
    kind: (
        *(Problem(kind, 500, partitions, 1000) for partitions in (2, 20, 200, 2000)),
        *(Problem(kind, 500, 200, members) for members in (10, 100, 4000)),
    )
    for kind in ("uniform", "half")
}


def select(wanted: Iterable[str]) -> tuple[list[Problem], list[Problem]]:
    """Return the problems of the table, and those of the growth plots.

    Args:
        wanted: sizes (``small``), ``growth``, or parts of names.

    Raises:
        ValueError: a word matches no problem.
    """
    table = [problem for size in SIZES.values() for problem in size]
    chosen: list[Problem] = []
    growth: list[Problem] = []
    for word in wanted:
        if word == "growth":
            growth = [problem for problems in GROWTH.values() for problem in problems]
        elif matches := SIZES.get(word) or [problem for problem in table if word in problem.name]:
            chosen += matches
        else:
            raise ValueError(
                f"no problem {word!r}: {', '.join(SIZES)}, growth, or part of a name in the table"
            )
    return [problem for problem in table if problem in chosen], growth

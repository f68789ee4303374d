"""The groups that are timed, and what happens to them."""

from __future__ import annotations

import random
from dataclasses import dataclass

Subscriptions = dict[str, list[str]]
Plan = dict[str, dict[str, list[int]]]

PHASES = ("fresh", "stable", "one joins", "one leaves", "10 % leave")


@dataclass(frozen=True)
class Problem:
    """A group: ``topics`` of ``partitions`` each, and ``members`` that subscribe by ``kind``.

    Kinds: ``uniform`` (everybody to everything), ``half`` (each to a random half of the topics), ``tiers``
    (the first half of the members to everything, the others to the first half of the topics).
    """

    kind: str
    topics: int
    partitions: int
    members: int

    @property
    def name(self) -> str:
        """For people: partitions in all, by members."""
        return f"{self.kind} {self.topics * self.partitions:,} x {self.members:,}"

    def counts(self) -> dict[str, int]:
        """Topic -> partitions."""
        return {f"t{i:05d}": self.partitions for i in range(self.topics)}

    def subscriptions(self) -> Subscriptions:
        """Member -> its topics."""
        rng = random.Random(self.name)
        return {f"c{i:05d}": self._topics(i, rng) for i in range(self.members)}

    def _topics(self, i: int, rng: random.Random) -> list[str]:
        names = list(self.counts())
        if self.kind == "half":
            return sorted(rng.sample(names, len(names) // 2))
        if self.kind == "tiers" and i >= self.members // 2:
            return names[: len(names) // 2]
        return names

    def after(self, phase: str, base: Plan) -> tuple[Subscriptions, Plan]:
        """Who is there in that phase, and what each of them owned in ``base``."""
        subscriptions = self.subscriptions()
        if phase == "fresh":
            return subscriptions, {}
        rng = random.Random(f"{phase} {self.name}")
        if phase == "one joins":
            subscriptions["n00000"] = self._topics(0, rng)
        leaving = {"one leaves": 1, "10 % leave": max(1, self.members // 10)}.get(phase, 0)
        for member in rng.sample(sorted(subscriptions), leaving):
            del subscriptions[member]
        return subscriptions, {m: base[m] for m in subscriptions if m in base}

"""The planner at work on a small group, step by step: the numbers of the planner page and its picture.

It runs the package's code.  The only hooks are subclasses of ``Residual`` and ``flow.FlowPhase``
that record each step.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise
from typing import NamedTuple
from unittest import mock

import numpy as np

from kafka_assignors.plan import Group, Member, resolve
from kafka_assignors.plan.sticky import max_flow as balance
from kafka_assignors.plan.sticky import min_cost_flow as network
from kafka_assignors.plan.sticky import zero_cost_flow as flow
from kafka_assignors.plan.sticky.deal import Lots
from kafka_assignors.plan.sticky.first_guess import first_shares
from kafka_assignors.plan.sticky.goals import Goal, Load, Matrix, Moved, Potentials, Spread, TransportProblem
from kafka_assignors.plan.sticky.residual import Residual

GROUP = Group(
    (
        Member("a", frozenset({"clicks", "orders"}), {"clicks": (0,), "orders": (0, 1)}, generation=5),
        Member("b", frozenset({"clicks", "orders"}), {"clicks": (1,), "orders": (2,)}, generation=5),
        Member("c", frozenset({"clicks", "orders", "views"}), {"views": (0, 1, 2)}, generation=5),
        Member("d", frozenset({"views"})),
    ),
    {"clicks": 2, "orders": 3, "views": 3},
)
"""Three members own all partitions; ``d`` joins and subscribes only to ``views``, which ``c`` owns."""


class Arc(NamedTuple):
    """An arc of the residual network and what it cost, by the names of its ends."""

    here: str
    there: str
    cost: int

    def __str__(self) -> str:
        return f"{self.here} -({self.cost})-> {self.there}"


@dataclass
class Phase:
    """One phase: its start, and the paths it found.

    Attributes:
        prices: potential of each node.
        step: units of a push, under curved costs.
        excess: node -> units it has too many, or (negative) too few; without nodes that have neither.
        arcs: all open arcs.
        paths: the paths of pushes; none if no node with too few units can be reached.
    """

    prices: dict[str, int]
    step: int
    excess: dict[str, int]
    arcs: list[Arc]
    paths: list[list[Arc]] = field(default_factory=list)


@dataclass
class Step:
    """One goal of the plan.

    Attributes:
        goal: its name.
        how: the method that settled it: ``at sight``, ``by labels``, ``by balance`` (and proved by labels) or
            ``by phases``.
        open: number of arcs that earlier goals left open; 0 if settled at sight.
        used_up: arcs with a negative cost under the first guess.
        phases: phases that return their units; under balance, phases that level the loads.
        prices: the potentials that prove the optimum.
        shares, loads: the result.
    """

    goal: str
    how: str = "at sight"
    open: int = 0
    used_up: list[Arc] = field(default_factory=list)
    phases: list[Phase] = field(default_factory=list)
    prices: dict[str, int] = field(default_factory=dict)
    shares: Matrix = field(default_factory=lambda: np.zeros((0, 0), np.int64))
    loads: list[int] = field(default_factory=list)

    def __str__(self) -> str:
        lines = [f"{self.goal}: settled {self.how}, {self.open} arcs open"]
        lines += [f"  used up   {arc}" for arc in self.used_up]
        for phase in self.phases:
            lines.append(f"  excess    {_shown(phase.excess)}")
            lines += [f"  path      {_chain(path)}" for path in phase.paths]
        lines.append(f"  prices    {_shown(self.prices)}")
        return "\n".join(lines)


@dataclass
class Trace:
    """The whole run: the problem, the first matrix, and a step for each goal."""

    problem: TransportProblem
    first: Matrix
    steps: list[Step]


def watch(group: Group) -> Trace:
    """Plan for a group and record every step."""
    lots = Lots(group, resolve(group).owner)
    problem = lots.problem(keep_all=False)
    names = [group.names[topic] for topic in lots.rows]
    names += [group.members[player].member_id for player in lots.players]
    first = first_shares(problem)
    residual = _Watched(problem, first.copy(), [*names, "hub"])
    goals: list[Goal] = [Load(), Moved(problem.owned), Spread()]
    with mock.patch.object(network, "FlowPhase", _Phase), mock.patch.object(balance, "FlowPhase", _Phase):
        for goal in goals:
            residual.note = Step(type(goal).__name__)
            residual.notes.append(residual.note)
            network.settle(residual, goal)
    return Trace(problem, first, residual.notes)


class _Watched(Residual):
    """Records used-up arcs, and the proofs."""

    def __init__(self, problem: TransportProblem, shares: Matrix, names: list[str]) -> None:
        super().__init__(problem, shares)
        self.names = names
        self.notes: list[Step] = []
        self.note = Step("")
        self.sending = False

    def price(self, goal: Goal, step: int = 1) -> None:
        super().price(goal, step)
        if self.note.how == "at sight":
            self.note.how, self.note.open = "by labels", len(self.arcs())

    def push(self, here: int, there: int, units: int) -> None:
        if not self.sending:
            self.note.used_up += [self.arc(here, there)] * units
        super().push(here, there, units)

    def settled(self, goal: Goal, proof: Potentials) -> None:
        super().settled(goal, proof)
        self.note.prices = self.by_name(proof)
        self.note.shares, self.note.loads = self.shares.copy(), self.loads.tolist()

    def arc(self, here: int, there: int) -> Arc:
        return Arc(self.names[here], self.names[there], self.cost(here, there))

    def arcs(self) -> list[Arc]:
        """Return every open arc."""
        topics, members = range(self.topics), range(self.topics, self.hub)
        pairs = [(t, m) for t in topics for m in members] + [(m, t) for t in topics for m in members]
        pairs += [(m, self.hub) for m in members] + [(self.hub, m) for m in members]
        arcs = [self.arc(here, there) for here, there in pairs]
        return [arc for arc in arcs if arc.cost < self.forbidden]

    def by_name(self, prices: Potentials) -> dict[str, int]:
        numbers = [*prices.topic.tolist(), *prices.member.tolist(), prices.hub]
        return dict(zip(self.names, numbers, strict=True))


class _Phase(flow.FlowPhase):
    """Records the start of a phase, and its paths."""

    _net: _Watched

    def measure(self) -> bool:
        net = self._net
        excess = {name: int(n) for name, n in zip(net.names, self._excess, strict=True) if n}
        net.note.phases.append(Phase(net.by_name(self._before), net.step, excess, net.arcs()))
        net.note.how = "by balance" if net.goal.of_loads else "by phases"
        return super().measure()

    def _send(self, path: list[int]) -> None:
        net = self._net
        net.note.phases[-1].paths.append([net.arc(here, there) for here, there in pairwise(path)])
        net.sending = True
        super()._send(path)
        net.sending = False


def _shown(numbers: dict[str, int]) -> str:
    return ", ".join(f"{name} {number}" for name, number in numbers.items())


def _chain(path: list[Arc]) -> str:
    return path[0].here + "".join(f" -({arc.cost})-> {arc.there}" for arc in path)

"""Runs every problem in every phase with every planner, each figure in a separate process."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, astuple, dataclass, field
from pathlib import Path
from typing import Any

from bench.javapeer import JavaPeer
from bench.outlook import Outlook
from bench.problems import Problem
from bench.programs import Facts, ProgramError, child

OURS = ("sticky", "cooperative")
KAFKA_PYTHON = "kafka-python"
JAVA = {"java sticky": "sticky", "java cooperative": "cooperative"}  # -> whose subscriptions it reads
PEERS = (KAFKA_PYTHON, *JAVA)
JUDGED = ("sticky", KAFKA_PYTHON, "java sticky")  # cooperative plans are incomplete: they hold back moves

OUR_RUNS_S, THEIR_RUNS_S = 5.0, 2.5  # no further run of a median begins after these
GROWTH_PHASES = ("fresh", "one joins")

Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Stage:
    """A problem in one phase, and the paths of its files.

    Attributes:
        base: the plan before the event; None in the phase ``fresh``.
    """

    problem: Problem
    phase: str
    base: Path | None
    folder: Path

    def group(self, kind: str) -> Path:
        """Return the file of the subscriptions of a kind of members."""
        return self.folder / f"{self.phase}, {kind}.group"

    def plan(self, planner: str) -> Path:
        """Return the file of a planner's assignments."""
        return self.folder / f"{self.phase}, {planner}.plan"

    def order(self) -> Facts:
        """Return the arguments of a child process."""
        base = None if self.base is None else str(self.base)
        return {"problem": astuple(self.problem), "phase": self.phase, "base": base}

    def __str__(self) -> str:
        return f"{self.problem.name}, {self.phase}"


@dataclass
class Bench:
    """One run of the benchmark.

    Args:
        patience: seconds that one call of kafka-python may take; Java may take twice as long, because a JVM
            must warm up.
        java: the Java peer; None: Java is not measured.
        now: called with the next step.
        folder: temporary folder for groups and plans; up to 500 MB.
        versions: receives the versions of Java and of its client.
    """

    patience: float
    java: JavaPeer | None
    now: Callable[[str], None]
    folder: Path
    versions: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        java = Outlook(self._patience_with("java"), in_proportion=False)  # one engine, so one outlook
        kafka_python = Outlook(self._patience_with(KAFKA_PYTHON), in_proportion=True)
        self._outlook = {KAFKA_PYTHON: kafka_python} | dict.fromkeys(JAVA, java)

    def rows(self, problem: Problem, phases: Sequence[str], who: Iterable[str]) -> Iterator[Row]:
        """Measure a problem in several phases; one row each, with the facts of every planner in ``who``."""
        who = [planner for planner in who if planner not in JAVA or self.java is not None]
        with tempfile.TemporaryDirectory(dir=self.folder) as place:
            folder = Path(place)
            base = folder / "base.plan"
            fresh = Stage(problem, "fresh", None, folder)
            self._write([fresh], who)
            first = self._ours(fresh, "sticky")
            # All planners start from our plan for the fresh group.
            shutil.copyfile(fresh.plan("sticky"), base)
            if "fresh" in phases:
                yield self._row(fresh, who, {"sticky": first})
            if later := [Stage(problem, phase, base, folder) for phase in phases if phase != "fresh"]:
                self._write(later, who)
            for stage in later:
                yield self._row(stage, who, {})

    def _row(self, stage: Stage, who: list[str], known: dict[str, Facts]) -> Row:
        facts = dict(known)
        for planner in who:
            if planner not in known:
                facts[planner] = (
                    self._ours(stage, planner) if planner in OURS else self._theirs(stage, planner)
                )
        self.now(f"{stage}: judge the plans")
        plans = {planner: str(stage.plan(planner)) for planner in JUDGED if "first" in facts.get(planner, {})}
        for planner, quality in child("judge", **stage.order(), plans=plans).items():
            facts[planner]["quality"] = quality
        return {"problem": stage.problem.name, **asdict(stage.problem), "phase": stage.phase, **facts}

    def _write(self, stages: list[Stage], who: list[str]) -> None:
        self.now(f"{stages[0].problem.name}: write the subscriptions")
        phases = {
            stage.phase: {kind: str(stage.group(kind)) for kind in self._read_by(stage, who)}
            for stage in stages
        }
        child("write", **{**stages[0].order(), "phases": phases})

    def _read_by(self, stage: Stage, who: list[str]) -> list[str]:
        """Return the kinds of members whose subscriptions the measured planners read."""
        measured = [
            planner
            for planner in who
            if planner in OURS or not self._hopeless(stage.problem, stage.phase, planner)
        ]
        return sorted({JAVA.get(planner, planner) for planner in measured})

    def _ours(self, stage: Stage, kind: str) -> Facts:
        self.now(f"{stage}: ours, {kind}")
        return self._measure(stage, kind, OUR_RUNS_S)

    def _theirs(self, stage: Stage, peer: str) -> Facts:
        patience = self._patience_with(peer)
        if self._hopeless(stage.problem, stage.phase, peer):
            return {"skipped": patience}
        self.now(f"{stage}: {peer}")
        try:
            if self.java is not None and peer in JAVA:
                kind = JAVA[peer]
                facts = self.java.measure(kind, stage.group(kind), stage.plan(peer), patience)
            else:
                facts = self._measure(stage, peer, THEIR_RUNS_S, patience)
        except ProgramError as error:
            return {"failed": str(error)}  # a peer's bug, or its lack of memory, is a result
        self.versions |= {name: facts.pop(name) for name in ("java", "kafka_clients") if name in facts}
        seconds = None if "cut" in facts else facts.get("total", facts["first"])
        self._outlook[peer].saw(stage.problem.kind, stage.phase, stage.problem.work, seconds)
        return facts

    def _measure(self, stage: Stage, kind: str, longest: float, patience: float | None = None) -> Facts:
        files = {"group": str(stage.group(kind)), "plan": str(stage.plan(kind))}
        return child("measure", patience, kind=kind, **files, longest=longest)

    def _hopeless(self, problem: Problem, phase: str, peer: str) -> bool:
        return self._outlook[peer].hopeless(problem.kind, phase, problem.work)

    def _patience_with(self, peer: str) -> float:
        return self.patience if peer == KAFKA_PYTHON else 2 * self.patience

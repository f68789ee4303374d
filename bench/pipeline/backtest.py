"""``python -m bench.pipeline.backtest``: scenarios a second of a back-test, by size and by cores.

docs/benchmarks.md, "Back-tests", describes the measurement.
"""

from __future__ import annotations

import argparse
import json
import math
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from bench.machine import machine
from kafka_assignors.cli.backtest.options import BY_DEFAULT
from kafka_assignors.pipeline.backtest.grid import Grid, Trial, candidates, usual_churn
from kafka_assignors.pipeline.backtest.job import run_trials, try_out
from kafka_assignors.pipeline.session import local_session
from kafka_assignors.simulation import History

SCENARIOS, CORES = 1_000, (1, 2)
GROWTH_STEPS, GROWTH_PARTITIONS = (144, 1_440, 14_400), (12, 120, 1_200)
STEP_S, RATE, MEMBERS = 60.0, 500.0, 4
ROUNDS = 3


@dataclass(frozen=True)
class Run:
    """A run of all scenarios: the cores, the seconds of the run, and the seconds to the first result."""

    cores: int
    scenarios: int
    seconds: float
    first_s: float

    @property
    def per_second(self) -> float:
        """Scenarios a second."""
        return self.scenarios / self.seconds


@dataclass(frozen=True)
class Size:
    """One scenario of a strategy, and the least CPU seconds of some tries."""

    strategy: str
    steps: int
    partitions: int
    seconds: float


def history(steps: int, partitions: int) -> History:
    """Return a load with a daily pattern and uneven partitions; it takes 2/3 of four members on average."""
    rng = np.random.default_rng(20261122)
    share = rng.lognormal(0, 1, partitions)
    day = 1 + 0.5 * np.sin(np.arange(steps) * STEP_S / 86_400 * 2 * np.pi)
    mean = MEMBERS * RATE * STEP_S / 1.5 * np.outer(day, share / share.sum())
    return History(
        group="bench",
        step_s=STEP_S,
        topics={"t": partitions},
        arrivals=rng.poisson(mean),
        start_lags=np.zeros(partitions, np.int64),
        service_rate=RATE,
    )


def trials(load: History, scenarios: int) -> list[Trial]:
    """Return scenarios: every strategy, with several warm-up times of a gained partition."""
    tried = candidates(BY_DEFAULT, {"rebalance_on_skew": [False]}, forecasts=False)
    warm_ups = [0.01 * number for number in range(-(-scenarios // len(tried)))]
    grid = Grid(tried, (MEMBERS,), (usual_churn(load, MEMBERS),), surroundings={"warm_up_s": warm_ups})
    return grid.trials([load])[:scenarios]


def on_spark(cores: int, scenarios: int) -> Run:
    """Run all scenarios, after a few that warm up the session and its workers."""
    load = history(GROWTH_STEPS[0], GROWTH_PARTITIONS[0])
    tried = trials(load, scenarios)
    with local_session("bench", cores=cores) as spark:
        list(run_trials(spark, {load.group: load}, tried[: 8 * cores]))
        began, first = time.perf_counter(), 0.0
        for _ in run_trials(spark, {load.group: load}, tried):
            first = first or time.perf_counter() - began
        seconds = time.perf_counter() - began
    return Run(cores, len(tried), seconds, first)


def sizes() -> Iterator[Size]:
    """Time one scenario of three strategies, with more and more steps, then partitions."""
    shapes = [(steps, GROWTH_PARTITIONS[0]) for steps in GROWTH_STEPS]
    shapes += [(GROWTH_STEPS[0], partitions) for partitions in GROWTH_PARTITIONS[1:]]
    for steps, partitions in shapes:
        load = history(steps, partitions)
        for trial in trials(load, len(BY_DEFAULT)):
            if trial.scenario.strategy.name in {"range", "cooperative-sticky", "cooperative-lag-aware"}:
                yield Size(trial.scenario.strategy.name, steps, partitions, _best(load, trial))


def _best(load: History, trial: Trial) -> float:
    seconds = []
    for _ in range(ROUNDS):
        began = time.process_time()
        result = try_out(load, trial)
        seconds.append(time.process_time() - began)
        if result.error:
            raise RuntimeError(result.error)
    return min(seconds)


def _lines(runs: Sequence[Run], grown: Sequence[Size]) -> Iterator[str]:
    yield "cores  scenarios  seconds  scenarios/s  first after"
    for run in runs:
        yield (
            f"{run.cores:>5}  {run.scenarios:>9,}  {run.seconds:>7.1f}  {run.per_second:>11.1f}  "
            f"{run.first_s:>9.2f} s"
        )
    if len(runs) > 1:
        times = runs[-1].per_second / runs[0].per_second
        yield f"{times:.2f} times as many on {runs[-1].cores} cores as on {runs[0].cores}"
    yield ""
    yield "strategy                  steps  partitions  ms a scenario (CPU)"
    for size in grown:
        yield f"{size.strategy:<23} {size.steps:>7,}  {size.partitions:>10,}  {1e3 * size.seconds:>19.1f}"
    yield ""
    for strategy in dict.fromkeys(size.strategy for size in grown):
        of_strategy = [size for size in grown if size.strategy == strategy]
        by_steps = [size for size in of_strategy if size.partitions == GROWTH_PARTITIONS[0]]
        by_partitions = [size for size in of_strategy if size.steps == GROWTH_STEPS[0]]
        yield (
            f"{strategy}: time grows as steps^{_power(by_steps, 'steps'):.2f} "
            f"and partitions^{_power(by_partitions, 'partitions'):.2f}"
        )


def _power(sizes: Sequence[Size], of: str) -> float:
    """Return the exponent with which the time grew over the last ten-fold growth of the size."""
    small, large = sizes[-2:]
    return math.log(large.seconds / small.seconds) / math.log(getattr(large, of) / getattr(small, of))


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--scenarios", type=int, default=SCENARIOS)
    parser.add_argument("--json", type=Path, help="also write the figures there")
    options = parser.parse_args()
    facts = machine()
    runs = [on_spark(cores, options.scenarios) for cores in CORES]
    grown = list(sizes())
    print(", ".join(f"{name} {value}" for name, value in facts.items()))
    print(*_lines(runs, grown), sep="\n")
    if options.json:
        results = {"machine": facts, "runs": list(map(asdict, runs)), "sizes": list(map(asdict, grown))}
        options.json.write_text(json.dumps(results, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()

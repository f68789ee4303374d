"""The results of a back-test, from the results of its trials.  Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timezone
from types import MappingProxyType
from typing import Any, cast

import numpy as np

from kafka_assignors.errors import KafkaAssignorsError
from kafka_assignors.pipeline.backtest.grid import Trial
from kafka_assignors.pipeline.backtest.job import POINTS, TrialResult
from kafka_assignors.pipeline.backtest.recorded import Recorded
from kafka_assignors.pipeline.backtest.results import (
    KIND,
    VERSION,
    CandidateFigures,
    CandidateResult,
    GroupRanking,
    GroupResult,
    LeftOutResult,
    LineResult,
    PlotResult,
    Results,
    RunResult,
)
from kafka_assignors.simulation import Outcome, Ranked, Series, Situation, recommend

FIGURES = (
    *("arrived", "served", "left", "drain_s", "recovery_s", "largest_lag", "mean_lag", "largest_member_lag"),
    *("time_lag_p50", "time_lag_p99", "time_lag_max", "moved", "r_score", "r_score_mean", "rebalances"),
    *("pause_s", "unserved_s", "simulated_s"),
)
"""Figures of an `Outcome` that are columns of results.parquet, in their order."""

MOST_LINES = 10
"""Maximum lines in a plot: readers cannot distinguish more colours."""

_Run = tuple[Trial, TrialResult]


def summed_up(
    recorded: Sequence[Recorded],
    trials: Sequence[Trial],
    trial_results: Sequence[TrialResult],
    *,
    run: RunResult,
    started: datetime,
    read_series: Callable[[Sequence[int]], Mapping[int, Series]],
    left_out: Mapping[str, str] = MappingProxyType({}),
) -> Results:
    """Make the results of a back-test.  ``read_series`` returns the series of scenarios, for the plots.

    Raises:
        KafkaAssignorsError: every trial failed; the message has the first reason.
    """
    if not any(result.outcome for result in trial_results):
        why = trial_results[0].error if trial_results else "there is none"
        raise KafkaAssignorsError(f"every scenario failed; the first: {why}")
    runs = list(zip(trials, trial_results, strict=True))
    of_group: dict[str, list[_Run]] = {}
    for trial, result in runs:
        of_group.setdefault(trial.group, []).append((trial, result))
    tried = {
        recording.history.group: recording for recording in recorded if recording.history.group in of_group
    }
    of_all = _ranking("all groups", runs)
    by_group = [_ranking(group, of_group[group]) for group in tried]
    drawn = [_drawn(of_group[ranking["group"]], ranking["candidates"]) for ranking in by_group]
    series = read_series([trial.number for to_draw in drawn for trial, _ in to_draw])
    reasons = Counter(result.error for result in trial_results if result.error)
    return Results(
        kind=KIND,
        version=VERSION,
        started=started.isoformat(timespec="seconds"),
        run=run,
        replicates=max(trial.replicate for trial in trials) or 1,
        groups=[_group(recording) for recording in tried.values()],
        left_out=[LeftOutResult(group=group, why=why) for group, why in left_out.items()],
        candidates=of_all["candidates"],
        judged_by=of_all["judged_by"],
        notes=of_all["notes"],
        by_group=by_group,
        failures=[
            f"{count:,} of {len(trial_results):,}: {reason}" for reason, count in reasons.most_common()
        ],
        plots=[_plot(tried[to_draw[0][0].group], to_draw, series) for to_draw in drawn if to_draw],
        scenarios=[scenario_row(trial, result) for trial, result in runs],
    )


def scenario_row(trial: Trial, result: TrialResult) -> dict[str, Any]:
    """Return the row of one scenario, with its figures (null if it failed) and its error."""
    scenario = trial.scenario
    figures = {} if result.outcome is None else result.outcome.figures()
    return {
        "scenario": trial.number,
        "group": trial.group,
        "load": scenario.history,
        "scale": trial.scale,
        "candidate": str(scenario.strategy),
        "strategy": scenario.strategy.name,
        "parameters": dict(scenario.strategy.parameters),
        "members": scenario.members,
        "churn": scenario.script,
        "replicate": trial.replicate,
        "service_rate": scenario.service_rate,
        **{name: figures.get(name) for name in FIGURES},
        "error": result.error or None,
    }


# --- the ranking -------------------------------------------------------------------------------------------


def _ranking(groups: str, runs: Sequence[_Run]) -> GroupRanking:
    """Rank the candidates by their results, the best first.

    A candidate has no place, and is last, if another one succeeded in a situation in which this one failed or
    was not tried.
    """
    tried: dict[str, list[_Run]] = {}
    for trial, result in runs:
        tried.setdefault(str(trial.scenario.strategy), []).append((trial, result))
    outcomes = {name: [result.outcome for _, result in of if result.outcome] for name, of in tried.items()}
    succeeded = {name: {outcome.situation for outcome in of} for name, of in outcomes.items()}
    possible = set[Situation]().union(*succeeded.values())
    sound = [outcome for name, of in outcomes.items() if succeeded[name] == possible for outcome in of]
    recommendation = recommend(sound) if sound else None
    ranked = {str(strategy): strategy for strategy in recommendation.ranking} if recommendation else {}
    order = [*ranked, *(name for name in tried if name not in ranked)]
    return GroupRanking(
        group=groups,
        candidates=[_candidate_result(tried[name], ranked.get(name), len(possible)) for name in order],
        judged_by=recommendation.scenarios if recommendation else 0,
        notes=list(recommendation.notes)
        if recommendation
        else ["every candidate failed or was not tried in some situation"],
    )


def _candidate_result(runs: Sequence[_Run], ranked: Ranked | None, possible: int) -> CandidateResult:
    by_replicate: dict[int, list[Outcome]] = {}
    for trial, result in runs:
        if result.outcome:
            by_replicate.setdefault(trial.replicate, []).append(result.outcome)
    outcomes = [outcome for of_replicate in by_replicate.values() for outcome in of_replicate]
    fixed = by_replicate.pop(0, [])  # churn without random times, which each replicate includes
    samples = [fixed + random for random in by_replicate.values()] or [fixed]
    failed = len(runs) - len(outcomes)
    why = f"failed in {failed:,} of {len(runs):,} scenarios"
    if not failed:
        why = f"was tried in {len(runs):,} of {possible:,} situations: not on every group"

    intervals: dict[str, tuple[float, float]] = {}

    def median(figure: str) -> float | None:
        """Return the median of the replicates' means, and keep their interval in ``intervals``."""
        known = [[v for o in sample if (v := getattr(o, figure)) is not None] for sample in samples]
        means = [float(np.mean(values)) for values in known if values]
        if not means:
            return None
        low, middle, high = (round(float(level), 3) for level in np.percentile(means, (5, 50, 95)))
        if by_replicate:
            intervals[figure] = low, high
        return middle

    figures = cast(CandidateFigures, {name: median(name) for name in CandidateFigures.__annotations__})
    strategy = runs[0][0].scenario.strategy
    return {
        "candidate": str(strategy),
        "strategy": strategy.name,
        "parameters": dict(strategy.parameters),
        "place": ranked.place if ranked else None,
        "reasons": list(ranked.reasons) if ranked else [why],
        "scenarios": len(runs),
        "failed": failed,
        "drained": sum(outcome.drain_s is not None for outcome in outcomes),
        **figures,
        "intervals": intervals,
    }


# --- the histories and the plots ---------------------------------------------------------------------------


def _group(recorded: Recorded) -> GroupResult:
    history = recorded.history
    starts = datetime.fromtimestamp(history.starts_at, timezone.utc)
    return GroupResult(
        group=history.group,
        topics=len(history.topics),
        partitions=history.partitions,
        starts=starts.isoformat(timespec="seconds"),
        steps=history.steps,
        step_s=history.step_s,
        records=history.records,
        unknown=round(recorded.unknown, 4),
        never_known=recorded.never_known,
        appeared=recorded.appeared,
        ended=int(recorded.ended.sum()),
        service_rate=None if history.service_rate is None else round(history.service_rate, 3),
        forecasts=history.expected is not None,
    )


def _drawn(runs: Sequence[_Run], candidates: Sequence[CandidateResult]) -> list[tuple[Trial, Outcome]]:
    """Return the outcomes to draw, all of one situation, the best candidate first.

    The chosen situation is the one in which most candidates succeeded; of several, the one with the largest
    mean lag.
    """
    tried: dict[Situation, dict[str, tuple[Trial, Outcome]]] = {}
    for trial, result in runs:
        if outcome := result.outcome:
            by_candidate = tried.setdefault(outcome.situation, {})
            by_candidate[str(trial.scenario.strategy)] = trial, outcome
    if not tried:
        return []

    def weight(by_candidate: dict[str, tuple[Trial, Outcome]]) -> tuple[int, float]:
        return len(by_candidate), float(np.mean([outcome.mean_lag for _, outcome in by_candidate.values()]))

    most = max(tried.values(), key=weight)
    names = [candidate["candidate"] for candidate in candidates]
    return [most[name] for name in names if name in most][:MOST_LINES]


def _plot(
    recorded: Recorded, drawn: Sequence[tuple[Trial, Outcome]], series: Mapping[int, Series]
) -> PlotResult:
    trial, outcome = drawn[0]
    situation = outcome.situation
    return PlotResult(
        group=situation.group,
        load=situation.history,
        members=situation.members,
        churn=situation.churn,
        service_rate=round(situation.service_rate, 3),
        lines=[_line(str(trial.scenario.strategy), series[trial.number]) for trial, _ in drawn],
        recorded=_recorded_lag(recorded) if trial.scale == 1 else [],
    )


def _line(candidate: str, series: Series) -> LineResult:
    return LineResult(
        candidate=candidate,
        t=np.round(series.at, 3).tolist(),
        lag=np.round(series.lag, 3).tolist(),
        largest_member_lag=np.round(series.largest_member_lag, 3).tolist(),
        time_lag=np.round(series.time_lag, 3).tolist(),
    )


def _recorded_lag(recorded: Recorded) -> list[tuple[float, float]]:
    """Return time and lag at the ends of steps, downsampled to maxima; steps with unknown lag are omitted."""
    lag, step_s = recorded.lag, recorded.history.step_s
    width = -(-len(lag) // POINTS)
    peaks: list[tuple[float, float]] = []
    for start in range(0, len(lag), width):
        lags = lag[start : start + width]
        if not np.isnan(lags).all():
            peak = int(np.nanargmax(lags))
            peaks.append((round((start + peak + 1) * step_s, 3), float(lags[peak])))
    return peaks

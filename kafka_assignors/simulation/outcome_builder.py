"""Collects measurements during a simulation, and makes the `Outcome` at the end."""

from __future__ import annotations

import numpy as np

from kafka_assignors.simulation.history import History, Levels
from kafka_assignors.simulation.level_record import LevelRecord
from kafka_assignors.simulation.outcome import Move, Outcome, Series
from kafka_assignors.simulation.scenario import Scenario
from kafka_assignors.simulation.serving import NOTHING, Interval, first_below


class OutcomeBuilder:
    """Collects the figures of an `Outcome`.  Times are seconds since the start, and lag is in records."""

    def __init__(self, history: History, scenario: Scenario, rate: float) -> None:
        self._history, self._scenario, self._rate = history, scenario, rate
        loaded = np.flatnonzero(history.arrivals.any(axis=1))
        self._last_arrival = (int(loaded[-1]) + 1) * history.step_s if len(loaded) else 0.0
        self._drained: float | None = None
        self._unrecovered: list[tuple[float, float]] = []  # disturbances: time, and lag right before
        self._recoveries: list[float] = []
        self._lag_seconds = self._largest = self._largest_member = 0.0
        self.pause_s = self.unserved_s = 0.0
        self.rebalances = 0
        self._moves: list[Move] = []
        self._r_scores = [0.0]  # by rebalance; the last one is of the current or next rebalance
        self._levels = LevelRecord(history.length_s, history.partitions)
        # By recorded step: time, lag, largest lag of a member, lag without an owner, members.
        self._steps: list[tuple[float, float, float, float, int]] = []
        self._served = 0.0

    def record_disturbance(self, now: float, before: float) -> None:
        """Record an event that may cause lag; ``before`` is the lag right before it."""
        self._unrecovered.append((now, before))

    def record_move(self, move: Move, capacity: float) -> None:
        """Record a move to a member that reads ``capacity`` records/s; call `record_levels` first."""
        self._moves.append(move)
        arriving = self._levels.arriving(move.partition)
        if arriving is None:  # at the start there is no recent time
            arriving = float(self._history.arrivals[0, move.partition] / self._history.step_s)
        self._r_scores[-1] += arriving / capacity

    def record_round(self, *, again: bool) -> None:
        """Record the end of a round; with ``again`` the same rebalance has another round."""
        self.rebalances += 1
        if not again:
            self._r_scores.append(0.0)

    def record_interval(self, interval: Interval, *, settled: bool) -> None:
        """Record an interval.

        With ``settled`` no rebalance is running, and no member is starting, dead or pausing.
        """
        times, totals = interval.totals()
        self._largest = max(self._largest, float(totals.max()))
        end = interval.start + interval.length
        if interval.start < self._history.length_s:  # no interval crosses the history's end
            self._lag_seconds += float(((totals[1:] + totals[:-1]) / 2 * np.diff(times)).sum())
        if self._drained is None and end >= self._last_arrival:
            self._drained = first_below(times, totals, NOTHING, self._last_arrival)
        elif self._drained is not None and totals[-1] > NOTHING:
            self._drained = None  # `Consumption.next_step` has corrected rounding
        if settled and self._unrecovered:
            unrecovered: list[tuple[float, float]] = []
            for since, level in self._unrecovered:
                recovered = first_below(times, totals, max(level, NOTHING), since)
                if recovered is None:
                    unrecovered.append((since, level))
                else:
                    self._recoveries.append(recovered - since)
            self._unrecovered = unrecovered

    def record_member_lag(self, lags: Levels) -> None:
        """Record the lag by member."""
        self._largest_member = max(self._largest_member, float(lags.max(initial=0.0)))

    def record_levels(self, now: float, arrived: Levels, read: Levels) -> None:
        """Record the records arrived and read so far, by partition.  Both grew evenly since the last call."""
        self._levels.record(now, arrived, read)

    def record_step(self, now: float, arrived: Levels, read: Levels, lags: Levels, *, members: int) -> None:
        """Record the start of the first step, the end of a step, or the end of the simulation.

        The last of ``lags`` is that of partitions without an owner.
        """
        self._levels.record(now, arrived, read)
        self._levels.record_step()
        lag = float(np.maximum(arrived - read, 0.0).sum())
        self._steps.append((now, lag, float(lags[:-1].max(initial=0.0)), float(lags[-1]), members))
        self._served = float(read.sum())

    def build(self, now: float, *, settled: bool, series: bool) -> Outcome:
        """Make the outcome at the end of the simulation; ``settled`` is as in `record_interval`."""
        history, scenario = self._history, self._scenario
        time_lags = self._levels.time_lags()
        at, lag, largest_member, unowned, members = np.array(self._steps).T
        r_scores = self._r_scores if self._r_scores[-1] else self._r_scores[:-1]
        left = float(lag[-1])
        # The last interval may end just before the last arrival, because times are rounded.
        drained = now if self._drained is None and left <= NOTHING else self._drained
        # No interval follows the last event.  If the group settles with it, the lag at the end decides.
        unrecovered = any(not settled or left > max(level, NOTHING) for _since, level in self._unrecovered)
        recoveries = [*self._recoveries, *(now - since for since, _level in self._unrecovered)]
        return Outcome(
            group=history.group,
            history=scenario.history,
            strategy=scenario.strategy.name,
            parameters=dict(scenario.strategy.parameters),
            members=scenario.members,
            churn=scenario.script,
            service_rate=self._rate,
            arrived=history.records,
            served=self._served,
            left=left if left > NOTHING else 0.0,
            drain_s=None if drained is None else max(drained - self._last_arrival, 0.0),
            recovery_s=None if unrecovered else max(recoveries, default=0.0),
            largest_lag=self._largest,
            mean_lag=self._lag_seconds / history.length_s,
            largest_member_lag=self._largest_member,
            time_lag_p50=time_lags.p50,
            time_lag_p99=time_lags.p99,
            time_lag_max=float(time_lags.largest.max(initial=0.0)),
            moved=len(self._moves),
            r_score=sum(r_scores),
            r_score_mean=sum(r_scores) / max(len(r_scores), 1),
            rebalances=self.rebalances,
            pause_s=self.pause_s,
            unserved_s=self.unserved_s,
            simulated_s=now,
            moves=tuple(self._moves),
            time_lags=time_lags.largest,
            series=Series(
                at=at,
                lag=lag,
                largest_member_lag=largest_member,
                unowned_lag=unowned,
                time_lag=time_lags.at_steps,
                members=members.astype(np.int64),
            )
            if series
            else None,
        )

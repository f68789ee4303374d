"""Encodes a member's own report of lag; on the leader, selects the newest valid report of each partition."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Collection

from kafka_assignors.assignor.complaints import Complaints, partitions_text
from kafka_assignors.assignor.members import Reports
from kafka_assignors.lag.keeper import LagKeeper
from kafka_assignors.lag.service_rate import ServiceRate
from kafka_assignors.lag.sources import LagAnswer, Lags
from kafka_assignors.lag.throughput import Throughput
from kafka_assignors.plan import Ownership, TopicPartition
from kafka_assignors.wire import compact_lag_user_data, lag_user_data, rates
from kafka_assignors.wire.compact_lag_user_data import LagUserData
from kafka_assignors.wire.compact_ownership import in_order

log = logging.getLogger("kafka_assignors")


class OwnReport:
    """The user data of a member: its claims, its lag, its arrival rates and its capacity.

    Args:
        capacity: see ``Member``; None: the member measures it.
        throughput: the arrival rates that the member reports; None: it reports none.
        now: seconds, as ``time.monotonic``.

    Attributes:
        budget: limit of its claims and user data, bytes; None: the leader has set none.
    """

    def __init__(
        self,
        capacity: float | None,
        throughput: Throughput | None = None,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self.budget: int | None = None
        self._throughput = throughput
        self._rates: dict[TopicPartition, float] = {}
        self._service_rate = ServiceRate() if capacity is None else None
        self._warned = False
        self._capacity = 1.0 if capacity is None else capacity
        self._reported_rate: float | None = None
        self._now = now
        self._measured_for: object = None  # the partitions and the generation of the last `measure`
        self._lags: dict[TopicPartition, int] = {}
        self._age_ms = 0.0

    def observe(self, answer: LagAnswer, at_s: float) -> None:
        """Update the measured rates with offsets fetched at ``at_s``.  Any thread may call this."""
        if self._throughput is not None:
            self._throughput.measure(answer.ends, at_s)
        if self._service_rate is not None:
            self._service_rate.measure(answer.lags, answer.commits, at_s)

    def learn(self, owned: Ownership, packed: bytes) -> None:
        """Learn the arrival rates that earlier owners measured.

        ``packed`` are the rates as ``rates.pack`` encodes them; empty: unknown.
        """
        if self._throughput is not None and packed:
            self._throughput.learn(rates.unpack(in_order(owned), packed), self._now())

    def begin(self, owned: Collection[TopicPartition]) -> None:
        """Begin to measure how fast the member reads these partitions."""
        if self._service_rate is not None:
            self._service_rate.begin(owned)

    def pause(self) -> None:
        """Do not measure how fast the member reads while the group rebalances: it may read nothing then."""
        self.begin(())

    def warn_unmeasured(self, name: str, reason: str) -> None:
        """Warn once if the capacity cannot be measured."""
        if self._service_rate is not None and reason and not self._warned:
            self._warned = True
            log.warning(
                "%s: capacity cannot be measured: %s; until you set a number, this member counts as the "
                "median",
                name,
                reason,
            )

    def measure(self, keeper: LagKeeper | None, owned: Ownership, generation: int) -> None:
        """Set the values to report: the lag of owned partitions, its age, arrival rates, the service rate.

        A join that is repeated reports the same values, because with new user data a broker starts another
        rebalance.
        """
        if self._measured_for == (owned, generation):
            return
        self._measured_for = owned, generation
        lags, measured_at = ({}, 0.0) if keeper is None else keeper.report()
        self._age_ms = 1000 * (self._now() - measured_at) if lags else 0
        self._lags = {partition: lags[partition] for partition in in_order(owned) if partition in lags}
        self._rates = {} if self._throughput is None else self._throughput.rates(self._lags)
        self._reported_rate = None if self._service_rate is None else self._service_rate.report()

    def end_join(self) -> None:
        """End the join: the next call of ``measure`` belongs to another join, and sets new values."""
        self._measured_for = None

    def encode(self, revoked: Ownership, generation: int, *, reads_budget: bool) -> bytes:
        """Encode the plain form; ``revoked``: partitions that the member owned in ``generation``."""
        return lag_user_data.encode(self._report(revoked, generation, reads_budget=reads_budget))

    def encode_compact(self, claimed: Ownership, generation: int, *, still_owns: bool) -> bytes:
        """Encode the compact form; claims may exceed the budget, because they are always complete.

        ``claimed``: partitions owned in ``generation``.
        """
        report = self._report(claimed, generation, still_owns=still_owns)
        return compact_lag_user_data.encode(report, self.budget or 0)

    def _report(
        self, claimed: Ownership, generation: int, *, still_owns: bool = False, reads_budget: bool = False
    ) -> LagUserData:
        return LagUserData(
            claimed=claimed,
            generation=generation,
            lags=self._lags,
            lag_age_ms=int(self._age_ms),
            capacity=self._capacity,
            still_owns=still_owns,
            reads_budget=reads_budget,
            has_budget=self.budget is not None,
            rates=self._rates,
            service_rate=self._reported_rate,
        )


def newest_reports(
    reports: Reports,
    max_age_ms: float,
    complaints: Complaints,
    *,
    of_owned: bool,
) -> Lags:
    """Return the lag that members report, in records.

    Reports do not count if they were older than ``max_age_ms`` when their member first sent the join.
    With ``of_owned`` a member may report only partitions it owns; without, any partition of its topics.
    The newest report of a partition counts.  Among equally old reports the larger lag counts, because the
    order of members is arbitrary.
    """
    best: dict[TopicPartition, tuple[int, int]] = {}
    for member, report in reports:
        if report.lag_age_ms > max_age_ms:
            continue
        owned = {topic: set(numbers) for topic, numbers in member.owned.items()} if of_owned else {}
        foreign = 0
        for partition, lag in report.lags.items():
            is_owned = partition.partition in owned.get(partition.topic, ())
            if partition.topic not in member.topics or (of_owned and not is_owned):
                foreign += 1
                continue
            candidate = -report.lag_age_ms, lag
            if partition not in best or best[partition] < candidate:
                best[partition] = candidate
        if foreign:
            of_foreign = f"{partitions_text(foreign)} that it does not own or read"
            complaints.add(member.member_id, f"reports the lag of {of_foreign}")
    return {partition: lag for partition, (_age, lag) in best.items()}

"""The members' capacities on the leader: set with the option ``capacity``, or measured."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import replace

from kafka_assignors.assignor.members import MemberReport, Reports
from kafka_assignors.plan.capacity import in_units, median_ratio

log = logging.getLogger("kafka_assignors")

MEASURED = "measured"
"""Value of the option ``capacity``: the member measures its capacity."""

MOST_RATIO = 8.0
"""A measured capacity is limited to 1 / ``MOST_RATIO`` ... ``MOST_RATIO``."""


def capacities(reports: Sequence[MemberReport]) -> list[float]:
    """Return the capacity of each member; an invalid one counts as 1.

    A measured capacity is the member's service rate divided by the median of all measured rates.  So a member
    with a ``capacity`` of 1 counts as the median, as does a member that has not measured anything yet.
    """
    median = median_rate(reports)
    return [_capacity(report, median) for report in reports]


def median_rate(reports: Sequence[MemberReport]) -> float:
    """Return the median of the measured service rates, records a second; 0 if no member has measured one."""
    known = [report.service_rate for report in reports if report.service_rate]
    return median_ratio(known) if known else 0.0


def _capacity(report: MemberReport, median: float) -> float:
    if report.service_rate is None:
        return 1.0 if in_units(report.capacity) is None else report.capacity
    if not report.service_rate:
        return 1.0
    return min(max(report.service_rate / median, 1 / MOST_RATIO), MOST_RATIO)


class MeasuredCapacities:
    """Sets the capacities of all members from their reports, on the leader."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._capacity_of: Mapping[str, float] = {}  # by member id, in the last plan
        self._logged: tuple[int, bool] | None = None  # members without a rate, and whether there is a median

    def with_capacities(self, reports: Reports, *, is_later_round: bool) -> Reports:
        """Return the members with their capacities.

        ``is_later_round``: whether this is a later round of a rebalance whose first round is recent.  Members
        then keep their capacities of the last round, so that all rounds have the same target.
        """
        measuring = [report for _member, report in reports if report.service_rate is not None]
        if not measuring:
            return reports
        self._log_change(measuring)
        known = self._capacity_of if is_later_round else {}
        measured = capacities([report for _member, report in reports])
        self._capacity_of = {
            member.member_id: known.get(member.member_id, capacity)
            for (member, _report), capacity in zip(reports, measured, strict=True)
        }
        return [
            (replace(member, capacity=self._capacity_of[member.member_id]), report)
            for member, report in reports
        ]

    def _log_change(self, measuring: Sequence[MemberReport]) -> None:
        unknown, median = sum(not report.service_rate for report in measuring), median_rate(measuring)
        if self._logged == (logged := (unknown, median > 0)):
            return
        self._logged = logged
        if not median:
            log.info(
                "%s: no member has measured its capacity yet: until then, those that measure count as 1",
                self._name,
            )
            return
        log.info(
            "%s: %d of %d measuring members have a capacity, the median is %s records/s%s",
            self._name,
            len(measuring) - unknown,
            len(measuring),
            f"{median:,.2f}",
            ": the others count as the median" if unknown else "",
        )

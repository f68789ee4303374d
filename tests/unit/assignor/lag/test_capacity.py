"""``capacity="measured"``: members report their service rates, and the leader compares them."""

from __future__ import annotations

import logging
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kafka.protocol.consumer.metadata import ConsumerProtocolAssignment

from kafka_assignors import ConfigurationError, CooperativeLagAwareAssignor, LagAwareAssignor, PlanReport
from kafka_assignors.assignor.lag.base import LagAssignor
from kafka_assignors.assignor.lag.capacity import MOST_RATIO, MeasuredCapacities, capacities
from kafka_assignors.assignor.lag.reports import OwnReport
from kafka_assignors.assignor.members import MemberReport
from kafka_assignors.lag.sources import LagAnswer
from kafka_assignors.plan import Member, TopicPartition
from kafka_assignors.wire import lag_user_data
from kafka_assignors.wire.compact_lag_user_data import LagUserData
from tests.support.group.joining import cluster, joined, raw
from tests.support.logged import warnings

KINDS = pytest.mark.parametrize("kind", [LagAwareAssignor, CooperativeLagAwareAssignor])
MEASURED = st.floats(0.001, 3e6).map(lambda rate: MemberReport(service_rate=rate))
UNMEASURED = st.just(MemberReport(service_rate=0.0))
GIVEN = st.floats(2.0**-10, 1024).map(lambda capacity: MemberReport(capacity=capacity))
A = TopicPartition("t", 0)


def of(*rates: float | None) -> list[MemberReport]:
    """Reports of members that measure; None: of one that does not."""
    return [MemberReport(service_rate=rate) for rate in rates]


# --- the comparison ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("reports", "expected"),
    [
        (of(100, 200, 400), [0.5, 1, 2]),
        (of(100, 400), [0.5, 2]),
        (of(0, 100, 200, 400), [1, 0.5, 1, 2]),
        (of(0, 0), [1, 1]),
        ([*of(50, 100, 200), MemberReport(capacity=4.0), MemberReport()], [0.5, 1, 2, 4, 1]),
        ([MemberReport(capacity=float("nan")), MemberReport(capacity=0.0)], [1, 1]),
        (of(100, 100, 3e6), [1, 1, MOST_RATIO]),
        (of(100, 100, 0.001), [1, 1, 1 / MOST_RATIO]),
    ],
    ids=[
        *("one is the median", "two are as far from one", "without a rate", "no rate at all"),
        *("numbers are compared with the median", "invalid numbers", "a fast liar", "a slow liar"),
    ],
)
def test_capacity_is_the_ratio_to_the_median_rate(reports: list[MemberReport], expected: list[float]) -> None:
    assert capacities(reports) == pytest.approx(expected)


@given(st.lists(st.one_of(MEASURED, UNMEASURED, GIVEN), max_size=12))
def test_numbers_stay_and_rates_are_bounded(reports: list[MemberReport]) -> None:
    for report, capacity in zip(reports, capacities(reports), strict=True):
        if report.service_rate is None:
            assert capacity == report.capacity
        elif not report.service_rate:
            assert capacity == 1
        else:
            assert 1 / MOST_RATIO <= capacity <= MOST_RATIO


@given(st.lists(st.floats(1, 1_000), min_size=1, max_size=12), st.floats(0.01, 1_000))
def test_unit_of_the_rates_does_not_matter(rates: list[float], factor: float) -> None:
    scaled = capacities(of(*(rate * factor for rate in rates)))
    assert scaled == pytest.approx(capacities(of(*rates)))


@given(st.lists(st.floats(1, 1_000), min_size=1, max_size=12), st.data())
def test_faster_member_never_counts_less(rates: list[float], data: st.DataObject) -> None:
    order = data.draw(st.permutations(range(len(rates))))
    by_member = dict(zip(order, capacities(of(*(rates[i] for i in order))), strict=True))
    ranked = sorted(order, key=lambda i: rates[i])
    assert all(by_member[a] <= by_member[b] for a, b in pairwise(ranked))


# --- the leader -------------------------------------------------------------------------------------------


def member(name: str, service_rate: float | None = None, capacity: float = 1.0) -> Any:
    data = lag_user_data.encode(LagUserData({}, -1, {}, 0, capacity, service_rate=service_rate))
    return joined(name, raw(["t"], data))


def planned(kind: type[LagAssignor], members: list[Any], **options: Any) -> PlanReport:
    """The plan for 20 partitions of equal lag."""
    reports = list[PlanReport]()
    lags = {TopicPartition("t", p): 10 for p in range(20)}
    assignor = kind(lag_source=lambda _partitions: lags, on_plan=reports.append, **options)
    assignor.metadata(["t"])
    assignor.assign(cluster({"t": 20}), members)
    assignor.close()
    return reports[0]


def counts(report: PlanReport) -> list[int]:
    return [len(report.target[name]["t"]) for name in sorted(report.target)]


@KINDS
def test_leader_plans_with_the_ratio_of_rates(kind: type[LagAssignor]) -> None:
    report = planned(kind, [member("a", 64.0), member("b", 128.0), member("c", 0.0), member("d", None, 4.0)])
    capacity_of_each = [m.capacity for m in report.target.group.members]
    assert capacity_of_each == pytest.approx([2**-0.5, 2**0.5, 1, 4])


@pytest.mark.parametrize(
    ("rates", "expected"),
    [((64.0, 128.0, 128.0), [4, 8, 8]), ((64.0, 64.0, 3e6), [2, 2, 16])],
    ids=["honest", "a liar leaves some to others"],
)
def test_partitions_follow_measured_rates(rates: tuple[float, ...], expected: list[int]) -> None:
    members = [member(name, rate) for name, rate in zip("abc", rates, strict=True)]
    assert counts(planned(CooperativeLagAwareAssignor, members, max_partition_skew=None)) == expected


def test_members_of_equal_rates_get_the_plan_of_equal_members() -> None:
    equal = planned(CooperativeLagAwareAssignor, [member("a"), member("b"), member("c")])
    measured = planned(CooperativeLagAwareAssignor, [member("a", 64.0), member("b", 64.0), member("c", 0.0)])
    assert measured.target == equal.target
    assert measured.target.group.capacities.are_equal


def test_unreadable_rate_counts_as_1_with_one_warning(caplog: pytest.LogCaptureFixture) -> None:
    data = lag_user_data.encode(LagUserData({}, -1, {}, 0, service_rate=64.0)).replace(b"=130", b"=999")
    broken = joined("b", raw(["t"], data))
    report = planned(CooperativeLagAwareAssignor, [member("a", 64.0), broken, member("c", 128.0)])
    assert [m.capacity for m in report.target.group.members] == pytest.approx([2**-0.5, 1, 2**0.5])
    (warning,) = warnings(caplog)
    assert "member b reports a capacity of nan" in warning


def read(*rates: float | None) -> list[tuple[Member, MemberReport]]:
    """Members with their reports."""
    names = (f"m{i}" for i in range(len(rates)))
    return [(Member(name, frozenset({"t"})), report) for name, report in zip(names, of(*rates), strict=True)]


def test_rounds_of_a_rebalance_plan_with_the_same_capacities() -> None:
    leader = MeasuredCapacities("s")
    first = leader.with_capacities(read(100, 200, 400), is_later_round=False)
    second = leader.with_capacities(read(100, 800, 400), is_later_round=True)
    assert [m.capacity for m, _ in second] == [m.capacity for m, _ in first]
    later = leader.with_capacities(read(100, 800, 400), is_later_round=False)
    assert [m.capacity for m, _ in later] == pytest.approx([0.25, 2, 1])


def test_leader_logs_who_has_measured_once_for_each_change(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    leader = MeasuredCapacities("s")
    for rates in ((None, None), (0, 0, None), (0, 0, None), (0, 100, None), (0, 120, None), (100, 100, None)):
        leader.with_capacities(read(*rates), is_later_round=False)
    assert [record.getMessage() for record in caplog.records] == [
        "s: no member has measured its capacity yet: until then, those that measure count as 1",
        "s: 1 of 2 measuring members have a capacity, the median is 100.00 records/s: "
        "the others count as the median",
        "s: 2 of 2 measuring members have a capacity, the median is 100.00 records/s",
    ]


# --- the member -------------------------------------------------------------------------------------------


def test_member_reports_what_it_measures() -> None:
    """In both forms; records read during a rebalance do not count."""
    own = OwnReport(None)
    for at_s, commit in ((0, 0), (10, 640)):
        own.begin([A])
        own.observe(LagAnswer({A: 10_000}, commits={A: commit}), at_s)
    own.pause()
    own.observe(LagAnswer({A: 10_000}, commits={A: 10_000}), 20)
    own.begin([A])
    for at_s, commit in ((30, 10_000), (50, 11_280)):
        own.observe(LagAnswer({A: 10_000}, commits={A: commit}), at_s)
    own.measure(None, {}, 1)
    own.budget = 1_000
    for data in (
        own.encode({}, 1, reads_budget=True),
        own.encode_compact({}, 1, still_owns=False),
    ):
        sent = lag_user_data.decode(data)
        assert (sent.service_rate, sent.capacity) == (64.0, 1.0)


@KINDS
def test_member_that_has_measured_nothing_says_so(kind: type[LagAssignor]) -> None:
    assignor = kind(capacity="measured")
    sent = lag_user_data.decode(bytes(assignor.metadata(["t"]).user_data))
    assert (sent.service_rate, sent.capacity) == (0.0, 1.0)
    assignor.close()


@pytest.mark.parametrize("capacity", ["fast", "Measured", "", 0, -1, 2**11, float("nan"), True, None, [1]])
def test_wrong_capacity_is_refused(capacity: Any) -> None:
    with pytest.raises(ConfigurationError, match="'capacity': expected measured, or a number from"):
        LagAwareAssignor.configured(capacity=capacity)


def test_measured_capacity_needs_the_offsets_of_the_cluster() -> None:
    with pytest.raises(ConfigurationError, match="'capacity': measured needs the cluster's offsets"):
        LagAwareAssignor.configured(capacity="measured", lag_source=lambda _partitions: {})


def test_member_that_cannot_measure_warns_once(caplog: pytest.LogCaptureFixture) -> None:
    """Its configuration has no group, so no offsets can be fetched."""
    assignor = CooperativeLagAwareAssignor(
        capacity="measured", consumer_config={"bootstrap_servers": "localhost:1"}
    )
    for generation in (1, 2):
        assignor.on_assignment(ConsumerProtocolAssignment(0, [], b""), generation)
    (warning,) = warnings(caplog)
    assert "capacity cannot be measured: option 'group_id'" in warning
    assignor.close()

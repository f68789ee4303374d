"""The budget of a group's record, from sizes, and through real assignors without a broker."""

from __future__ import annotations

import random
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kafka.protocol.consumer.metadata import ConsumerProtocolAssignment

from kafka_assignors import CooperativeLagAwareAssignor, LagAwareAssignor, PlanReport
from kafka_assignors.assignor import convert
from kafka_assignors.assignor.lag.base import LagAssignor
from kafka_assignors.assignor.lag.budget import Budgets, Fitted, MemberSize, fit
from kafka_assignors.assignor.record_size import plain_bytes
from kafka_assignors.lag.throughput import Throughput
from kafka_assignors.plan import TopicPartition
from kafka_assignors.wire import budget, compact_ownership
from kafka_assignors.wire.assignment import CLASSIC_ONLY
from kafka_assignors.wire.budget import NO_LIMIT, MemberBudget
from tests.support.group.joining import Plan, cluster, every, joined, owner_of, raw
from tests.support.logged import warnings
from tests.support.waiting import until

TOPICS = {"orders": 6_000}
LIMIT = 30_000  # bytes: too few for the plain forms of 10 members
KINDS = pytest.mark.parametrize("kind", [CooperativeLagAwareAssignor, LagAwareAssignor])


def lags_of(partitions: Collection[TopicPartition]) -> Mapping[TopicPartition, int]:
    return {
        partition: int(random.Random(partition.partition).paretovariate(0.9) * 100)
        for partition in partitions
    }


class Members:
    """Assignors of one group, and their rebalances."""

    def __init__(self, kind: type[LagAssignor], count: int, **options: Any) -> None:
        # A fetch must not end too early on a busy machine.
        patient = {"lag_refresh_ms": 10**9, "lag_max_age_ms": 10**9, "lag_timeout_ms": 60_000}
        self._start = partial(kind, **{"lag_source": lags_of, **patient, **options})
        self.assignors: dict[str, Any] = {f"m{i}": self._start() for i in range(count)}
        self.cluster = cluster(TOPICS)
        self.generation = 0
        self.subscriptions: dict[str, bytes] = {}
        self.assignments: dict[str, bytes] = {}

    def restart(self, name: str, **options: Any) -> None:
        """Replace a member's assignor by a new one, which remembers nothing."""
        self.assignors[name].close()
        self.assignors[name] = self._start(**options)

    def rebalance(self, leader: str = "m0") -> Plan:
        """Join, plan, encode, and pass each assignment on as kafka-python does."""
        self.generation += 1
        sent = {name: assignor.metadata(list(TOPICS)) for name, assignor in self.assignors.items()}
        self.subscriptions = {name: subscription.encode() for name, subscription in sent.items()}
        members = [joined(name, subscription) for name, subscription in sent.items()]
        given = self.assignors[leader].assign(self.cluster, members)
        self.assignments = {name: given[name].encode() for name in self.assignors}
        plan: Plan = {}
        for name, data in self.assignments.items():
            assignment = ConsumerProtocolAssignment.decode(budget.unfold(data))
            self.assignors[name].on_assignment(assignment, self.generation)
            plan[name] = convert.ownership((tp.topic, tp.partition) for tp in assignment.partitions())
        return plan

    def wait_for_lag(self) -> None:
        until(lambda: all(a._keeper.report()[0] for a in self.assignors.values()), "lag")

    @property
    def size(self) -> int:
        """Bytes of all subscriptions and assignments."""
        return sum(map(len, [*self.subscriptions.values(), *self.assignments.values()]))


@contextmanager
def members_of(kind: type[LagAssignor], count: int = 10, **options: Any) -> Iterator[Members]:
    members = Members(kind, count, **options)
    try:
        yield members
    finally:
        for assignor in members.assignors.values():
            assignor.close()


@KINDS
def test_record_of_a_large_group_stays_within_its_limit(kind: type[LagAssignor]) -> None:
    """In the first rebalance, with claims and lag, and under a leader without memory."""
    plans: list[PlanReport] = []
    with members_of(kind, group_record_bytes=LIMIT, on_plan=plans.append) as members:
        first = members.rebalance()
        assert members.size <= LIMIT
        members.wait_for_lag()
        second = members.rebalance()
        assert members.size <= LIMIT
        assert all(assignor._own.budget for assignor in members.assignors.values()), "the limit was reached"
        assert owner_of(second).keys() == every(TOPICS)
        if kind is CooperativeLagAwareAssignor:
            assert second == first, "claims are complete, so nothing moves"
            members.assignors.pop("m0").close()
            members.rebalance(leader="m1")
            assert members.size <= LIMIT
            for known in plans[-1].target.group.members:
                assert (known.owned, known.still_owns) == (first[known.member_id], True)
                assert known.generation == 2


@KINDS
def test_small_group_sends_the_plain_forms(kind: type[LagAssignor]) -> None:
    with members_of(kind) as members:
        members.rebalance()
        members.wait_for_lag()
        members.rebalance()
        for data in members.assignments.values():
            assert ConsumerProtocolAssignment.decode(data).user_data == CLASSIC_ONLY
        for name, assignor in members.assignors.items():
            report = assignor.decode_user_data(assignor.metadata(list(TOPICS)).user_data)
            assert (
                report.lags.keys()
                == lags_of([TopicPartition("orders", p) for p in assignor._owned["orders"]]).keys()
            ), name


def test_lag_that_does_not_fit_is_fetched_by_the_leader() -> None:
    """The heaviest partitions come with the members' reports."""
    with members_of(CooperativeLagAwareAssignor, group_record_bytes=12_000) as members:
        members.rebalance()
        members.wait_for_lag()
        asked: list[set[TopicPartition]] = []
        leader = members.assignors["m9"]
        leader._keeper._fetched.clear()
        ask = leader._ask

        def record_and_ask(partitions: Collection[TopicPartition]) -> object:
            asked.append(set(partitions))
            return ask(partitions)

        leader._ask = record_and_ask
        members.rebalance(leader="m9")
        assert members.size <= 12_000
        (fetched,) = asked
        assert 0 < len(fetched) < 6_000
        lags = lags_of([TopicPartition("orders", p) for p in range(6_000)])
        reported = lags.keys() - fetched
        assert max(map(lags.__getitem__, fetched)) < max(map(lags.__getitem__, reported))


@pytest.mark.parametrize("restarted", [(), ("m0",), ("m0", "m1")], ids=["none", "leader", "two"])
def test_budget_ends_when_the_group_is_small_again(restarted: Sequence[str]) -> None:
    """Most partitions went: after one more assignment with user data the formats are plain again.

    A leader that restarted, and has no budget itself, ends those of the others.
    """
    with members_of(CooperativeLagAwareAssignor, group_record_bytes=LIMIT) as members:
        members.rebalance()
        members.wait_for_lag()
        members.rebalance()
        assert all(assignor._own.budget for assignor in members.assignors.values())
        for name in restarted:
            members.restart(name)
        members.cluster = cluster({"orders": 100})
        members.rebalance()
        assert [assignor._own.budget for assignor in members.assignors.values()] == [None] * 10
        members.rebalance()
        for data in members.assignments.values():
            assert ConsumerProtocolAssignment.decode(data).user_data == CLASSIC_ONLY


def test_no_budget_while_a_member_does_not_read_it() -> None:
    """A member of an older release, or a consumer of an unknown kafka-python version."""
    with members_of(CooperativeLagAwareAssignor, group_record_bytes=LIMIT) as members:
        known = [joined(name, assignor.metadata(["orders"])) for name, assignor in members.assignors.items()]
        given = members.assignors["m0"].assign(members.cluster, [*known, joined("old", raw(["orders"], b""))])
        for assignment in given.values():
            assert assignment.user_data == CLASSIC_ONLY
            assert assignment.assigned_partitions


def test_retried_join_repeats_the_compact_bytes() -> None:
    with members_of(CooperativeLagAwareAssignor, group_record_bytes=LIMIT) as members:
        members.rebalance()
        members.wait_for_lag()
        first = members.assignors["m1"].metadata(["orders"]).encode()
        assert convert.owned_in(members.assignors["m1"].metadata(["orders"])) == {}
        assert members.assignors["m1"].metadata(["orders"]).encode() == first


def test_fallback_withholds_what_compact_claims_hold(monkeypatch: pytest.MonkeyPatch) -> None:
    """A failing leader must not give a partition to two members."""
    with members_of(CooperativeLagAwareAssignor, group_record_bytes=LIMIT) as members:
        before = owner_of(members.rebalance())
        leader = members.assignors["m0"]
        monkeypatch.setattr(leader, "_plan_round", lambda *_: 1 / 0)
        after = owner_of(members.rebalance())
        assert 0 < len(after) < 6_000
        assert all(before[partition] == owner for partition, owner in after.items())
        assert members.size <= LIMIT


def test_unreadable_budget_is_logged_and_the_last_one_counts(caplog: pytest.LogCaptureFixture) -> None:
    with members_of(CooperativeLagAwareAssignor, 1) as members:
        assignor = members.assignors["m0"]
        for user_data in (
            budget.encode(budget.MemberBudget(700)),
            budget.encode(budget.MemberBudget(7))[:-3],
        ):
            assignor.on_assignment(ConsumerProtocolAssignment(0, [("orders", [1])], user_data), 1)
        assert assignor._own.budget == 700
        assert assignor._owned == {"orders": [1]}
        assert "reading the budget failed" in caplog.text


def test_record_over_the_limit_is_one_warning(caplog: pytest.LogCaptureFixture) -> None:
    with members_of(CooperativeLagAwareAssignor, group_record_bytes=2_000) as members:
        for _ in range(3):
            members.rebalance()
        lines = warnings(caplog)
        assert sum("more than group_record_bytes (2000)" in line for line in lines) == 1


def test_rates_are_left_out_of_a_record_that_is_too_large_with_them() -> None:
    throughput = Throughput(60)
    throughput.learn({TopicPartition("t", p): random.Random(p).uniform(1, 1e6) for p in range(200)}, 0)
    member = joined("m", raw(["t"], b""))

    def sends_rates(limit: int) -> bool:
        given = {"m": ConsumerProtocolAssignment(0, [("t", list(range(200)))], b"")}
        budgets = Budgets("lag", limit, claims=True)
        sent = budgets.add(given, [member], throughput, some_have_budgets=False)["m"]
        received = budget.decode(sent.user_data)
        return received is not None and bool(received.rates)

    sent = [sends_rates(limit) for limit in range(200, 2_000, 50)]
    assert sent == sorted(sent)
    assert 0 < sum(sent) < len(sent)


# --- from sizes ---------------------------------------------------------------------------------------------

sizes = st.lists(
    st.builds(
        MemberSize,
        st.integers(100, 400),
        st.integers(0, 20_000),
        st.dictionaries(st.sampled_from("abc"), st.sets(st.integers(0, 9_999), min_size=1).map(sorted)),
    ),
    min_size=1,
    max_size=6,
)


@given(sizes, st.integers(1_024, 60_000), st.booleans(), st.booleans())
def test_budgets_share_the_limit(
    members: list[MemberSize], limit: int, claims: bool, some_have_budgets: bool
) -> None:
    """The next record fits if the compact forms can; claims always have room."""
    fitted = fit(members, limit, claims=claims, some_have_budgets=some_have_budgets)
    packed = [len(compact_ownership.pack(member.assigned)) for member in members]
    plain = [plain_bytes(member.assigned) for member in members]
    fixed = sum(member.fixed for member in members)
    if fitted.budgets is None:
        assert not some_have_budgets
        assert fixed + sum(plain) * (1 + claims) <= limit / 2
        return
    folded = {given.owned is not None for given in fitted.budgets}
    assert len(folded) == 1, "all or none"
    assigned = packed if folded == {True} else plain
    if (
        some_have_budgets
        and fixed + sum(plain) * (1 + claims) <= limit / 2
        and fitted.budgets[0].size == NO_LIMIT
    ):
        assert set(fitted.budgets) == {MemberBudget(NO_LIMIT)}
        assert fitted.size <= limit / 2
        return
    rooms = [given.size or 0 for given in fitted.budgets]
    assert all(room >= (claim if claims else 0) for room, claim in zip(rooms, packed, strict=True))
    coming = fixed + sum(assigned) + sum(rooms)
    least = fixed + sum(packed) * (1 + claims)
    assert coming <= max(limit, least)
    assert fitted.size == fixed + sum(member.sent for member in members) + sum(assigned)
    if folded == {True}:
        now = fixed + sum(member.sent + plain_bytes(member.assigned) for member in members)
        assert max(now, fixed + sum(plain) + sum(packed)) > 0.9 * limit - 1


def test_group_without_members_needs_no_budget() -> None:
    assert fit([], 1_024, claims=True) == Fitted(None, 0)

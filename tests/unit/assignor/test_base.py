"""Decode, plan, encode; ``assign`` never raises, whatever the members send."""

from __future__ import annotations

import logging
import random
from collections.abc import Callable

import pytest

from kafka_assignors import (
    Assignor,
    CooperativeStickyAssignor,
    PlanReport,
    RangeAssignor,
    StickyAssignor,
    strategy,
)
from kafka_assignors.assignor.members import Reports
from kafka_assignors.plan import Assignment, Claims, Group
from kafka_assignors.strategies import STRATEGIES
from kafka_assignors.wire import sticky_user_data
from tests.support.group.joining import Plan, cluster, every, joined, own, owner_of, plan_of, raw
from tests.support.logged import warnings

TOPICS = {"t": 4, "u": 2}
every_strategy = pytest.mark.parametrize("kind", STRATEGIES.values(), ids=STRATEGIES)
Kind = type[Assignor]


@every_strategy
def test_group_of_one_strategy_gets_every_partition_without_complaints(
    kind: Kind, caplog: pytest.LogCaptureFixture
) -> None:
    """From the members' metadata, over the wire, to an assignment of everything; without a complaint."""
    members = [joined(m, kind().metadata(TOPICS)) for m in "abc"]
    plan = plan_of(kind().assign(cluster(TOPICS), members))
    assert owner_of(plan).keys() == every(TOPICS)
    assert sorted(plan) == ["a", "b", "c"]
    assert not warnings(caplog)


@every_strategy
def test_each_rebalance_logs_one_structured_line(kind: Kind, caplog: pytest.LogCaptureFixture) -> None:
    """Strategy, members, partitions, kept, moved, spread, milliseconds; as text and as a field."""
    ticks = iter([10.0, 10.0025])
    with caplog.at_level(logging.INFO, logger="kafka_assignors"):
        kind(clock=lambda: next(ticks)).assign(cluster(TOPICS), [joined("a", kind().metadata(TOPICS))])
    (record,) = caplog.records
    assert record.getMessage() == (
        f"rebalance strategy={kind.name} members=1 partitions=6 kept=0 moved=0 spread=0 milliseconds=2.5"
        ' cause="joined (a)"'
    )
    assert getattr(record, "rebalance")["partitions"] == 6  # noqa: B009  # mypy does not know the extra field


def hostile(kind: Kind) -> dict[str, tuple[object, str]]:
    """Subscriptions of a bad member, and the expected warnings."""
    rng = random.Random(5)
    huge = b"\x5a" * 900_000
    cases: dict[str, tuple[object, str]] = {
        "no topics": (raw([]), "subscribes to no topic"),
        "unknown topic": (raw(["t", "gone"]), "unknown topic 'gone'"),
    }
    if kind.by_priority:
        cases |= {
            "unknown topic": (raw(["t", "gone"], bytes(4)), "unknown topic 'gone'"),
            "no topics": (raw([], bytes(4)), "subscribes to no topic"),
            "no user data": (raw(["t"], None), "cannot be read"),
            "random bytes": (raw(["t"], rng.randbytes(200)), "of which a part cannot be read"),
            "truncated": (raw(["t"], b"\x00\x00\x00"), "cannot be read"),
            "900 kB of junk": (raw(["t"], huge), "of which a part cannot be read"),
        }
    if kind.name in {"sticky", "cooperative-sticky", "fairest-sticky"}:
        cases |= {
            "random bytes": (raw(["t"], rng.randbytes(200)), "cannot be read"),
            "truncated": (raw(["t"], b"\x00\x00\x00"), "cannot be read"),
            "another version": (raw(["t"], b"\x00\x07" * 5), "cannot be read"),
            "900 kB of junk": (raw(["t"], huge), "cannot be read"),
        }
    nowhere = {"t": [0, 4, 99, -1], "gone": [0]}
    if kind.name == "sticky":
        cases["claims that do not exist"] = (
            raw(["t"], sticky_user_data.encode(nowhere, 3)),
            "claims 4 partitions",
        )
    elif kind.name.endswith("sticky"):
        cases["claims that do not exist"] = (raw(["t"], b"", nowhere, 3), "claims 4 partitions")
    return cases


@pytest.mark.parametrize(
    ("kind", "case"), [(kind, case) for kind in STRATEGIES.values() for case in hostile(kind)]
)
def test_hostile_member_costs_one_warning_and_the_plan_is_valid(
    kind: Kind, case: str, caplog: pytest.LogCaptureFixture
) -> None:
    subscription, complaint = hostile(kind)[case]
    good = kind()
    own(good, {"t": [1]}, 3)
    members = [joined("good", good.metadata(TOPICS)), joined("bad", subscription)]
    plan = plan_of(kind().assign(cluster(TOPICS), members))
    assert owner_of(plan).keys() == every(TOPICS)
    (warning,) = warnings(caplog)
    assert "member bad " in warning
    assert complaint in warning


@pytest.mark.parametrize("kind", [kind for kind in STRATEGIES.values() if not kind.by_priority])
@pytest.mark.parametrize("user_data", [None, b""])
def test_member_without_user_data_is_no_complaint(
    kind: Kind, user_data: bytes | None, caplog: pytest.LogCaptureFixture
) -> None:
    """A member that never had an assignment sends none."""
    plan = plan_of(kind().assign(cluster(TOPICS), [joined("a", raw(TOPICS, user_data))]))
    assert owner_of(plan).keys() == every(TOPICS)
    assert not warnings(caplog)


def test_cooperative_member_of_librdkafka_is_no_complaint(caplog: pytest.LogCaptureFixture) -> None:
    """It sends the user data of ``sticky``, and lists its partitions."""
    owned = {"t": [0, 3]}
    members = [
        joined("a", raw(["t"], sticky_user_data.encode(owned, 5), owned, 5)),
        joined("b", CooperativeStickyAssignor().metadata({"t"})),
    ]
    plan = plan_of(CooperativeStickyAssignor().assign(cluster({"t": 4}), members))
    assert plan == {"a": {"t": [0, 3]}, "b": {"t": [1, 2]}}
    assert not warnings(caplog)


def claims_by_user_data(generation: int) -> object:
    return raw(["t", "u"], sticky_user_data.encode({"t": [0, 1]}, generation))


def claims_by_ownership(generation: int) -> object:
    return raw(["t", "u"], b"", {"t": [0, 1]}, generation)


@pytest.mark.parametrize(
    ("name", "claim"),
    [
        ("sticky", claims_by_user_data),
        ("cooperative-sticky", claims_by_ownership),
        ("fairest-sticky", claims_by_ownership),
    ],
)
def test_disputed_claim_costs_one_warning_that_names_both_members(
    name: str, claim: Callable[[int], object], caplog: pytest.LogCaptureFixture
) -> None:
    kind = strategy(name)
    members = [joined("a", claim(3)), joined("b", claim(3))]
    plan = plan_of(kind().assign(cluster(TOPICS), members))
    assert owner_of(plan).keys() == every(TOPICS)
    (warning,) = warnings(caplog)
    assert "member b claims 2 partitions that others (a) claim in the same generation" in warning


def test_unknown_topics_get_one_warning_and_no_assignment(caplog: pytest.LogCaptureFixture) -> None:
    """Nothing to give out; one warning, though both subscribe to it."""
    members = [joined(m, StickyAssignor().metadata({"gone"})) for m in "ab"]
    assert plan_of(StickyAssignor().assign(cluster(TOPICS), members)) == {"a": {}, "b": {}}
    (warning,) = warnings(caplog)
    assert "member a subscribes to unknown topic 'gone'" in warning


class _Broken(Assignor):
    """A strategy with a bug in its planner."""

    name = "broken"

    def plan(self, group: Group, claims: Claims) -> Assignment:
        raise ZeroDivisionError


class _Worse(_Broken):
    """An unexpected failure: reading the members raises."""

    def _read(self, members: object, complaints: object) -> Reports:
        raise MemoryError


@pytest.mark.parametrize("kind", [_Broken, _Worse])
def test_failure_falls_back_to_ranges(kind: Kind, caplog: pytest.LogCaptureFixture) -> None:
    """``assign`` does not raise; the traceback is in the log."""
    plan = plan_of(kind().assign(cluster({"t": 2}), [joined(m, raw(["t"])) for m in "ab"]))
    assert plan == {"a": {"t": [0]}, "b": {"t": [1]}}
    record, *_more = [r for r in caplog.records if r.levelno == logging.ERROR]
    assert "falling back to ranges" in record.getMessage()
    assert record.exc_info is not None


def test_two_consumers_of_a_process_share_no_state() -> None:
    """State is the instance's, also of classes made by ``configured``."""
    kind = StickyAssignor.configured(rack="r")
    first, other = kind(), kind()
    own(first, {"t": [1]}, 5)
    assert first.metadata({"t"}).user_data
    assert not other.metadata({"t"}).user_data


def test_on_plan_gets_the_plan_and_its_metrics() -> None:
    """Target and assignment differ while a member holds a partition that moves."""
    reports: list[PlanReport] = []
    leader = CooperativeStickyAssignor(on_plan=reports.append)
    holder = CooperativeStickyAssignor()
    own(holder, {"t": [0, 1]}, 1)
    members = [joined("a", holder.metadata({"t"})), joined("b", raw(["t"]))]
    plan = plan_of(leader.assign(cluster({"t": 2}), members))
    (report,) = reports
    assert report.strategy == "cooperative-sticky"
    assert report.target == {"a": {"t": [0]}, "b": {"t": [1]}}
    assert report.assignment == plan == {"a": {"t": [0]}, "b": {}}
    assert (report.metrics.kept, report.metrics.moved) == (1, 1)
    assert [str(why) for why in report.why()] == ["kept", "moved for balance: a; waits for revocation by a"]


def test_exception_in_on_plan_does_not_fail_the_rebalance(caplog: pytest.LogCaptureFixture) -> None:
    """It is user code inside the rebalance."""

    def fails(_report: PlanReport) -> None:
        raise RuntimeError("no disk")

    plan = plan_of(StickyAssignor(on_plan=fails).assign(cluster({"t": 1}), [joined("a", raw(["t"]))]))
    assert plan == {"a": {"t": [0]}}
    assert "on_plan failed" in caplog.text


def test_many_unknown_topics_make_a_short_log_line(caplog: pytest.LogCaptureFixture) -> None:
    """A member may send thousands of names."""
    wishes = [f"{'x' * 200}-{i}" for i in range(5000)]
    StickyAssignor().assign(cluster({}), [joined("a", raw(wishes))])
    (warning, about_record) = warnings(caplog)
    assert "and 4,995 more" in warning
    assert len(warning) < 500
    assert "the group's record takes 1033998 bytes" in about_record


def test_null_arrays_count_as_empty_arrays(caplog: pytest.LogCaptureFixture) -> None:
    """The protocol allows a null array."""
    subscription = raw(["t"], b"", {"t": [1]}, 3)
    member = joined("a", subscription)
    member.metadata.owned_partitions[0].partitions = None
    assert plan_of(CooperativeStickyAssignor().assign(cluster({"t": 1}), [member])) == {"a": {"t": [0]}}
    assert not warnings(caplog)


# --- nothing gets in the way of a plan ----------------------------------------------------------------------


def holders() -> list[object]:
    """Two cooperative members; each owns the partitions that ranges would give the other."""
    a, b = CooperativeStickyAssignor(), CooperativeStickyAssignor()
    own(a, {"t": [2, 3]}, 1)
    own(b, {"t": [0, 1]}, 1)
    return [joined("a", a.metadata({"t"})), joined("b", b.metadata({"t"}))]


CALM: Plan = {"a": {"t": [2, 3]}, "b": {"t": [0, 1]}}


def test_failing_clock_only_costs_the_measured_time() -> None:
    def fails() -> float:
        raise OSError("no clock")

    assert plan_of(CooperativeStickyAssignor(clock=fails).assign(cluster({"t": 4}), holders())) == CALM


@pytest.mark.parametrize(
    "part", ["Rebalance.metrics", "Rebalance.explain", "Complaints.about_topics", "Complaints.log"]
)
def test_failure_beside_the_plan_does_not_change_the_plan(part: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Such as a failure in reports or complaints."""

    def fails(*_args: object, **_options: object) -> None:
        raise RuntimeError("a bug")

    failing = property(fails) if part == "Rebalance.metrics" else fails
    monkeypatch.setattr(f"kafka_assignors.assignor.base.{part}", failing)
    leader = CooperativeStickyAssignor(on_plan=lambda report: report.why())
    assert plan_of(leader.assign(cluster({"t": 4}), holders())) == CALM


def test_failure_to_read_racks_leaves_the_plan_without_racks(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fails(*_args: object) -> None:
        raise TypeError("metadata of another kafka-python")

    monkeypatch.setattr("kafka_assignors.assignor.convert.replica_racks", fails)
    a = CooperativeStickyAssignor(rack="x")
    own(a, {"t": [2, 3]}, 1)
    members = [joined("a", a.metadata({"t"})), holders()[1]]
    assert plan_of(CooperativeStickyAssignor().assign(cluster({"t": 4}), members)) == CALM
    assert "racks failed" in caplog.text


def test_fallback_assigns_no_partition_that_another_member_claims(monkeypatch: pytest.MonkeyPatch) -> None:
    """Plain ranges would exchange all partitions: two members would own each of them for a while."""

    def fails(_group: Group) -> None:
        raise RuntimeError("a bug")

    monkeypatch.setattr("kafka_assignors.assignor.base.resolve", fails)
    plan = plan_of(CooperativeStickyAssignor().assign(cluster({"t": 4, "u": 2}), holders()))
    assert {m: topics.get("t") for m, topics in plan.items()} == {"a": [], "b": []}


def test_fallback_of_an_eager_strategy_ignores_listed_partitions(monkeypatch: pytest.MonkeyPatch) -> None:
    """Eager members hold nothing during a plan.  A partition held back would stay without an owner."""

    def fails(_group: Group) -> None:
        raise RuntimeError("a bug")

    monkeypatch.setattr("kafka_assignors.assignor.base.resolve", fails)
    members = [joined("a", raw(["t"], owned={"t": [2, 3]})), joined("b", raw(["t"], owned={"t": [0, 1]}))]
    plan = plan_of(RangeAssignor().assign(cluster({"t": 4}), members))
    assert plan == {"a": {"t": [0, 1]}, "b": {"t": [2, 3]}}


@pytest.mark.parametrize("topics", [None, [None], [None, "unknown"], [None, "t"]])
def test_null_topics_and_null_names_count_as_no_topic(topics: list[str | None] | None) -> None:
    """The protocol allows both; kafka-python decodes them as None."""
    strange = joined("z", raw(["t"]))
    strange.metadata.topics = topics
    plan = plan_of(StickyAssignor().assign(cluster({"t": 2}), [joined("a", raw(["t"])), strange]))
    assert owner_of(plan).keys() == every({"t": 2})


def test_member_id_cannot_inject_log_lines(caplog: pytest.LogCaptureFixture) -> None:
    """Any client chooses its client id, a part of the member id."""
    name = "a\nCRITICAL forged \x1b[31m"
    StickyAssignor().assign(cluster({}), [joined(name, raw(["gone"]))])
    (warning,) = warnings(caplog)
    assert warning.isprintable()


def test_many_complaints_make_a_short_log(caplog: pytest.LogCaptureFixture) -> None:
    members = [joined(f"m{i}", raw([])) for i in range(100)]
    StickyAssignor().assign(cluster({}), members)
    assert len(warnings(caplog)) == 21
    assert "80 more" in warnings(caplog)[-1]


@pytest.mark.parametrize(("dated", "believed"), [(6, True), (7, False), (8, False), (2**31 - 1, False)])
def test_claim_from_the_current_or_a_later_generation_is_ignored(
    dated: int, believed: bool, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """The group joins generation 7: such a claim would win over every other one."""
    leader = CooperativeStickyAssignor()
    monkeypatch.setattr(leader._access, "generation", lambda: 7)
    honest = joined("a", raw(["t"], owned={"t": [0]}, generation=6))
    liar = joined("b", raw(["t"], owned={"t": [1]}, generation=dated))
    plan = plan_of(leader.assign(cluster({"t": 2}), [liar, honest]))
    assert plan == {"a": {"t": [0]}, "b": {"t": [1]}}
    assert (f"generation {dated}, but joins generation 7" in caplog.text) is not believed


def test_generation_of_a_deleted_group_without_claims_is_no_complaint(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """A new broker counts from 1; the members have lost their partitions, but know the old generation."""
    leader = CooperativeStickyAssignor()
    monkeypatch.setattr(leader._access, "generation", lambda: 1)
    member = CooperativeStickyAssignor()
    own(member, {}, 57)
    plan = plan_of(leader.assign(cluster({"t": 1}), [joined("a", member.metadata(["t"]))]))
    assert plan == {"a": {"t": [0]}}
    assert not warnings(caplog)

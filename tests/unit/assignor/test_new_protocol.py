"""User data that keeps the broker from converting a group (KIP-848), and the log of a conversion."""

from __future__ import annotations

import logging
from typing import Any

import pytest
from kafka.protocol.consumer.metadata import ConsumerProtocolAssignment

from kafka_assignors import (
    Assignor,
    ConfigurationError,
    CooperativeStickyAssignor,
    FailoverAssignor,
    FairAssignor,
    RangeAssignor,
    StickyAssignor,
)
from kafka_assignors.strategies import STRATEGIES
from kafka_assignors.wire.assignment import CLASSIC_ONLY
from tests.support.group.joining import cluster, joined, own

BEYOND = {"failover", "fairest-sticky", "lag-aware", "cooperative-lag-aware"}


def user_data_of(assignor: Assignor, *racks: str) -> set[bytes]:
    """Return the user data of all assignments."""
    kind = type(assignor)
    options: list[dict[str, Any]] = [{"rack": rack} for rack in racks] or [{}]
    members = [
        joined(f"m{i}", kind(**member_options).metadata({"t"})) for i, member_options in enumerate(options)
    ]
    given = assignor.assign(cluster({"t": 4}, racks or (None,)), members)
    return {bytes(ConsumerProtocolAssignment.decode(part.encode()).user_data) for part in given.values()}


@pytest.mark.parametrize("kind", STRATEGIES.values(), ids=STRATEGIES)
def test_strategies_that_keep_more_than_the_broker_send_user_data(kind: type[Assignor]) -> None:
    assert user_data_of(kind()) == {CLASSIC_ONLY if kind.name in BEYOND else b""}


@pytest.mark.parametrize("kind", [StickyAssignor, CooperativeStickyAssignor, FairAssignor])
def test_plans_by_rack_are_kept_from_the_broker(kind: type[Assignor]) -> None:
    assert user_data_of(kind(), "x", "y") == {CLASSIC_ONLY}


def test_unused_racks_do_not_keep_the_group_classic() -> None:
    assert user_data_of(RangeAssignor(), "x", "y") == {b""}


@pytest.mark.parametrize("kind", [StickyAssignor, CooperativeStickyAssignor])
def test_migration_policy(kind: type[Assignor]) -> None:
    assert user_data_of(kind(migration_policy="disabled")) == {CLASSIC_ONLY}
    assert user_data_of(kind(migration_policy="upgrade")) == {b""}


@pytest.mark.parametrize("kind", [StickyAssignor, CooperativeStickyAssignor])
@pytest.mark.parametrize("policy", ["bidirectional", "", None, False, ["disabled"]])
def test_other_policies_are_refused_by_name(kind: type[Assignor], policy: object) -> None:
    with pytest.raises(ConfigurationError) as error:
        kind.configured(migration_policy=policy)
    assert error.value.option == "migration_policy"


def test_strategies_without_a_choice_have_no_such_option() -> None:
    with pytest.raises(ConfigurationError, match="unknown"):
        FailoverAssignor.configured(migration_policy="upgrade")


@pytest.mark.parametrize("assignor", [FailoverAssignor(), StickyAssignor(migration_policy="disabled")])
def test_fallback_keeps_the_group_classic(assignor: Assignor, monkeypatch: pytest.MonkeyPatch) -> None:
    """One failed plan must not let the broker convert the group."""

    def fails(_group: object) -> None:
        raise RuntimeError("a bug")

    monkeypatch.setattr("kafka_assignors.assignor.base.resolve", fails)
    assert user_data_of(assignor) == {CLASSIC_ONLY}


def test_conversion_is_logged_once_until_it_is_over(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """A JoinGroup response names no leader in a converted group."""
    assignor = StickyAssignor()
    leaders: list[str | None] = ["m", "", "", "m", "", None]
    caplog.set_level(logging.INFO, logger="kafka_assignors")
    logged = []
    for leader in leaders:
        monkeypatch.setattr(assignor._access, "leader_id", lambda leader=leader: leader)
        caplog.clear()
        own(assignor, {"t": [0]}, 3)
        logged.append([(r.levelname, "converted the group;" in r.getMessage()) for r in caplog.records])
    assert logged == [[], [("WARNING", True)], [], [("INFO", False)], [("WARNING", True)], [("INFO", False)]]

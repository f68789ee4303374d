"""Live groups: the leader's log line names the cause of each rebalance.

Four causes are tested where their groups are: ``forecast`` in ``lag/test_feed.py``, ``skew`` in
``lag/test_lag_aware.py``, ``probe`` in ``stateful/test_stateful.py``, ``metadata`` in ``test_unlisted.py``.
``upgrade`` needs a member of another release, so only unit tests have it.
"""

from __future__ import annotations

from typing import Any

from kafka import KafkaAdminClient, KafkaConsumer
from kafka.admin import NewTopic

from kafka_assignors import (
    CooperativeStickyAssignor,
    RangeAssignor,
)
from kafka_assignors.lag.fetch.link import client_without_topic_creation
from tests.integration.conftest import FreshNames
from tests.integration.members import HEARTBEAT_MS, Group, Member
from tests.support.waiting import poll_until

LONG_SESSION_MS = 30_000
"""No session ends during a test, so a member that is missing has left."""


def member_id(member: Member) -> str:
    state = member.state()
    assert state is not None
    return str(state.facts["member_id"])


def causes(leader: Member) -> list[str]:
    """The causes of the rebalances that a member led."""
    return [str(event.facts["cause"]) for event in leader.of_kind("rebalance")]


def wait_for_cause(group: Group, leader: Member, cause: str) -> None:
    """Wait for a rebalance with this cause among its causes."""
    try:
        group.wait_until(lambda: any(cause in line.split("; ") for line in causes(leader)), cause)
    except TimeoutError as error:
        raise TimeoutError(f"{error}; the causes are {causes(leader)}") from None
    finally:
        print(*causes(leader), sep="\n")  # pytest -rP shows it


def test_joined_second_round_left_and_topic_grew(fresh: FreshNames) -> None:
    with Group(fresh, 4) as group:
        settings: dict[str, Any] = {"session_timeout_ms": LONG_SESSION_MS, "metadata_max_age_ms": 500}
        leader = group.join(CooperativeStickyAssignor, **settings)
        group.settled()
        assert causes(leader)[0] == f"joined ({member_id(leader)})"
        other = group.join(CooperativeStickyAssignor, **settings)
        group.settled()
        joined = causes(leader).index(f"joined ({member_id(other)})")
        # On a busy machine a member revokes too late for the first second round, or a join ends between two
        # polls, and kafka-python repeats it.
        later = {cause for line in causes(leader)[joined + 1 :] for cause in line.split("; ")}
        assert later - {"repeated"} == {"second-round"}
        other_id = member_id(other)
        other.close()
        group.settled()
        assert [line for line in causes(leader) if line != "repeated"][-1] == f"left ({other_id})"
        group.grow(group.topics[0], 6)
        wait_for_cause(group, leader, f"topic-grew ({group.topics[0]}: 4 to 6)")


def test_killed_members_and_a_new_leader(fresh: FreshNames) -> None:
    """The protocol does not show whether a dynamic member left or was lost."""
    with Group(fresh, 6) as group:
        (leader,) = group.join_all(1, CooperativeStickyAssignor)
        static = group.join(CooperativeStickyAssignor, group_instance_id="one")
        dynamic = group.join(CooperativeStickyAssignor)
        group.settled()
        dynamic_id = member_id(dynamic)
        dynamic.kill()
        wait_for_cause(group, leader, f"gone ({dynamic_id})")
        group.settled()
        static.kill()
        wait_for_cause(group, leader, "lost (one)")
        last = group.join(CooperativeStickyAssignor)
        group.settled()
        leader_id = member_id(leader)
        leader.kill()
        group.wait_until(lambda: causes(last), "a rebalance that the last member leads")
        group.settled()  # a busy machine may cost the member its id
        assert causes(last)[0] == f"gone ({leader_id}); leader-changed ({member_id(last)})"


def test_leader_keeps_its_memory_when_the_group_changes_to_the_other_strategy_of_its_list(
    fresh: FreshNames,
) -> None:
    with Group(fresh, 4) as group:
        settings: dict[str, Any] = {"session_timeout_ms": LONG_SESSION_MS}
        leader = group.join(CooperativeStickyAssignor, RangeAssignor, **settings)
        group.settled()
        eager = group.join(RangeAssignor, **settings)
        group.settled()
        eager_id = member_id(eager)
        eager.close()
        group.settled()
        lines = [(event.facts["strategy"], event.facts["cause"]) for event in leader.of_kind("rebalance")]
        print(*lines, sep="\n")
        assert ("range", f"joined ({eager_id})") in lines
        assert ("cooperative-sticky", f"left ({eager_id})") in lines


def test_member_that_outlives_its_session_rejoins(fresh: FreshNames) -> None:
    with Group(fresh, 4) as group:
        leader, other = group.join_all(2, CooperativeStickyAssignor)
        group.settled()
        former_id = member_id(other)
        other.freeze()
        wait_for_cause(group, leader, f"gone ({former_id})")
        other.thaw()
        group.settled()
        assert member_id(other) != former_id
        wait_for_cause(group, leader, f"rejoined ({member_id(other)})")


def test_created_topic_appears(fresh: FreshNames) -> None:
    with Group(fresh, 4) as group:
        later = fresh.group("later")
        leader = group.join(
            CooperativeStickyAssignor,
            topics=[*group.topics, later],
            metadata_max_age_ms=500,
            kafka_client=client_without_topic_creation,
        )
        # Its first plan may be made without metadata.
        group.wait_until(
            lambda: (state := leader.state()) is not None and state.partitions == group.partitions,
            "the topic that exists",
        )
        admin = KafkaAdminClient(bootstrap_servers=group.bootstrap)
        admin.create_topics([NewTopic(later, 2, 1)])
        admin.close()
        wait_for_cause(group, leader, f"topic-appeared ({later})")


def test_deleted_topic(fresh: FreshNames) -> None:
    """The member that read the topic revokes its partitions, so a second round follows."""
    with Group(fresh, 4, 2) as group:
        (leader,) = group.join_all(
            1, CooperativeStickyAssignor, metadata_max_age_ms=500, kafka_client=client_without_topic_creation
        )
        group.settled()
        deleted = group.topics[1]
        admin = KafkaAdminClient(bootstrap_servers=group.bootstrap)
        admin.delete_topics([deleted])
        admin.close()
        wait_for_cause(group, leader, f"topic-disappeared ({deleted})")
        wait_for_cause(group, leader, "second-round")


def test_changed_subscription_is_the_cause(fresh: FreshNames) -> None:
    with Group(fresh, 4, 2) as group:
        (leader,) = group.join_all(1, CooperativeStickyAssignor)
        group.settled()
        first, second = group.topics
        with KafkaConsumer(
            first,
            bootstrap_servers=group.bootstrap,
            group_id=group.group_id,
            client_id="changing",
            partition_assignment_strategy=[CooperativeStickyAssignor],
            heartbeat_interval_ms=HEARTBEAT_MS,
            enable_auto_commit=False,
        ) as consumer:
            poll_until(consumer, lambda: "second-round" in causes(leader)[-1])
            consumer.subscribe([first, second])
            poll_until(consumer, lambda: "subscription" in " ".join(causes(leader)))
            consumer_id = consumer.group_metadata().member_id
        assert consumer_id.startswith("changing-")
        wait_for_cause(group, leader, f"subscription ({consumer_id}: +{second})")


def test_static_leader_restarted_and_found_new_partitions(fresh: FreshNames) -> None:
    with Group(fresh, 4) as group:
        # With short polls kafka-python may join twice, and the second join is a rebalance.
        settings: dict[str, Any] = {"metadata_max_age_ms": 500, "poll_ms": 1000}
        (first,) = group.join_all(1, CooperativeStickyAssignor, group_instance_id="one", **settings)
        group.join(CooperativeStickyAssignor, group_instance_id="two", **settings)
        group.settled()
        first.close()
        leader = group.join(CooperativeStickyAssignor, group_instance_id="one", **settings)
        group.settled()
        assert not causes(leader), "a static member that restarts gets its assignment back"
        (topic,) = group.topics
        group.grow(topic, 6)
        wait_for_cause(group, leader, "restarted (one)")
        # Either member may find the partitions first.  Only the leader knows its own request.
        expected = "static-watch; restarted (one)", f"restarted (one); unowned ({topic}: 2 of 6)"
        assert causes(leader)[0] in expected

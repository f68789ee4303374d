"""Active and passive members in live groups: takeovers, their duration, and faulty members."""

from __future__ import annotations

import json

import pytest

from tests.integration.cli.plan_command import as_planned, plan
from tests.integration.conftest import FreshNames
from tests.integration.groups.failover.active_passive import assert_only_the_active_works, join
from tests.integration.groups.hostile import Hostile, assert_named_once_a_rebalance
from tests.integration.groups.records import Producing, each_once, processed
from tests.integration.members import Group, Member, Owned, about, assert_never_two_owners
from tests.support.quick import long

PARTITIONS = (4, 2)


def active(owned: Owned) -> str:
    """Return the only member with partitions."""
    (name,) = (name for name, partitions in owned.items() if partitions)
    return name


def seconds_to_first_record(dead: Member, successor: Member) -> float:
    """Return the seconds from a member's death to the next record that another member processes."""
    (death,) = dead.of_kind("died")
    since = sum(event.at < death.at for event in successor.events)
    return (successor.wait_for("processed", since=since).at - death.at) / 1e9


@pytest.mark.parametrize("preempt", [True, long(False)], ids=["preempt", "no preempt"])
def test_killed_active_is_replaced_and_returns(
    fresh: FreshNames, preempt: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    """The next in line takes over.  With preemption a returning member takes back.  No record is lost."""
    with Group(fresh, *PARTITIONS) as group:
        with Producing(group) as producing:
            first = join(group, 10, preempt=preempt)
            first.wait_for("processed")
            join(group, 1, preempt=preempt)
            second = join(group, 5, preempt=preempt)
            assert active(group.settled()) == first.name
            since = len(first.events)
            first.wait_for("processed", since=since)
            assert not processed(*(m for m in group.members if m is not first))

            first.kill()
            took = seconds_to_first_record(first, second)
            assert active(group.settled()) == second.name
            with capsys.disabled():
                print(
                    f"\nfailover, preempt={preempt}: {took:.1f} s from kill -9 to the next one's first record"
                )

            back = join(group, 10, preempt=preempt)
            expected = back if preempt else second
            assert active(group.settled()) == expected.name
            expected.wait_for("processed", since=len(expected.events))
            expected.close()
            expected = second if preempt else back
            assert active(group.settled()) == expected.name
            expected.wait_for("processed", since=len(expected.events))
        everything = each_once(producing.ends).keys()
        group.wait_until(lambda: processed(*group.members).keys() >= everything, "all records")
        assert_only_the_active_works(group.members)


def test_higher_priority_preempts_a_running_active(fresh: FreshNames) -> None:
    """With a clean hand-over nothing is processed twice."""
    with Group(fresh, *PARTITIONS) as group:
        with Producing(group) as producing:
            low = join(group, 1)
            low.wait_for("processed")
            high = join(group, 2)
            assert active(group.settled()) == high.name
            high.wait_for("processed")
        expected = each_once(producing.ends)
        group.wait_until(lambda: processed(low, high).total() >= expected.total(), "all records")
        assert processed(low, high) == expected
        assert_only_the_active_works(group.members)


def test_zombie_gets_nothing_and_new_partitions_go_to_the_active(fresh: FreshNames) -> None:
    """The former active member is suspended beyond its session and returns with its old claim."""
    with Group(fresh, *PARTITIONS) as group:
        zombie = join(group, 10, preempt=False, metadata_max_age_ms=300)
        group.settled()
        successor = join(group, 1, preempt=False, metadata_max_age_ms=300)
        assert active(group.settled()) == zombie.name
        zombie.freeze()
        assert active(group.settled()) == successor.name
        zombie.thaw()
        zombie.wait_for("lost", since=len(zombie.events) - 1)
        assert active(group.settled()) == successor.name
        join(group, 20, preempt=False)
        assert active(group.settled()) == successor.name
        group.grow(group.topics[0], 6)
        group.wait_until(
            lambda: (state := successor.state()) and len(state.partitions) == 8, "the new partitions"
        )
        assert active(group.settled()) == successor.name
        assert_never_two_owners(group.members)


@pytest.mark.parametrize("preempt", [True, long(False)], ids=["preempt", "no preempt"])
def test_each_topic_has_an_active_under_unequal_subscriptions(fresh: FreshNames, preempt: bool) -> None:
    """Each topic goes whole to the first in line of its subscribers."""
    with Group(fresh, 3, 2, 4) as group:
        a, b, c = group.topics

        def owners(owned: Owned) -> dict[str, set[str]]:
            return {
                t: {name for name, tps in owned.items() if t in {tp.topic for tp in tps}} for t in (a, b, c)
            }

        join(group, 9, preempt=preempt, topics=[a])
        group.settled()
        join(group, 5, preempt=preempt, topics=[b, c])
        group.settled()
        join(group, 7, preempt=preempt, topics=[a, b])
        before = owners(group.settled())
        assert before == {a: {"m0"}, b: {"m2" if preempt else "m1"}, c: {"m1"}}
        group.members[0].kill()
        assert owners(group.settled()) == before | {a: {"m2"}}
        assert_only_the_active_works(group.members)


# --- who does no harm --------------------------------------------------------------------------------------


class SaysNothing(Hostile):
    """Sends no user data."""

    name = "failover"


class SaysTooLittle(Hostile):
    """Sends less than a priority."""

    name = "failover"

    def user_data(self, topics: list[str]) -> bytes:
        return b"\x7f\xff\xff"


class SaysNonsense(Hostile):
    """Sends bytes that look like a low priority, followed by others."""

    name = "failover"

    def user_data(self, topics: list[str]) -> bytes:
        return b"\x99\x0a\x17\x04" + b"\xfe" * 500


def test_member_with_unreadable_priority_ranks_last(fresh: FreshNames) -> None:
    """One warning names each, in each rebalance; they are never active while another member is present."""
    with Group(fresh, *PARTITIONS) as group:
        leader = join(group, 1)
        group.settled()
        bad = [group.join(kind) for kind in (SaysNothing, SaysTooLittle, SaysNonsense)]
        assert active(group.settled()) == leader.name
        since = len(leader.events)
        other = join(group, 2)
        assert active(group.settled()) == other.name
        other.kill()
        assert active(group.settled()) == leader.name
        for member in bad:
            assert_named_once_a_rebalance(leader, member, since)
        assert_only_the_active_works([leader, other])


# --- the plan command --------------------------------------------------------------------------------------


@pytest.mark.parametrize("preempt", [True, long(False)], ids=["preempt", "no preempt"])
def test_plan_command_reads_priorities_of_a_live_group(fresh: FreshNames, preempt: bool) -> None:
    """It predicts the takeover after the active ends; the broker does not know whether the group preempts."""
    with Group(fresh, *PARTITIONS) as group:
        low, high, middle = (join(group, priority, preempt=preempt) for priority in (1, 10, 5))
        before = group.settled()
        members = {member.name: member for member in group.members}
        words = ["--option", f"preempt={json.dumps(preempt)}"]
        now = plan(group, *words)
        assert (now["strategy"], now["assignment"]) == ("failover", as_planned(before, members))
        (compared,) = (entry for entry in plan(group, "--compare", *words) if entry["strategy"] == "failover")
        assert compared == now

        gone = members[active(before)]
        successor = next(member for member in (high, middle, low) if member is not gone)
        foreseen = plan(group, "--without", about(gone, "member_id"), *words)
        assert len(foreseen["assignment"][about(successor, "member_id")]) == sum(PARTITIONS)
        gone.close()
        assert as_planned(group.settled(), members) == foreseen["assignment"]

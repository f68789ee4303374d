"""What no plan can go below."""

from __future__ import annotations

from itertools import combinations

from hypothesis import given

from kafka_assignors.plan import Group, load_lower_bound
from tests.builders import groups, member


def by_crowded_topics(group: Group) -> int:
    """Hall's theorem: some set of topics needs so many from each of its subscribers, and none needs more."""
    subscribers = {
        topic: {m.member_id for m in group.members if topic in m.topics}
        for topic, count in group.topics.items()
        if count
    }
    subscribers = {topic: members for topic, members in subscribers.items() if members}
    return max(
        (
            -(-sum(group.topics[t] for t in some) // len(set().union(*(subscribers[t] for t in some))))
            for size in range(1, len(subscribers) + 1)
            for some in combinations(subscribers, size)
        ),
        default=0,
    )


@given(group=groups())
def test_it_is_exact_for_any_subscriptions(group: Group) -> None:
    """Found in another way, without a plan: no valid plan has less, and one has just that."""
    assert load_lower_bound(group) == by_crowded_topics(group)


def test_one_crowded_topic_counts_however_many_members_idle_elsewhere() -> None:
    group = Group((member("a", ["t0"]), member("b", ["t1"]), member("c", ["t1"])), {"t0": 7, "t1": 2})
    assert load_lower_bound(group) == 7


def test_nobody_has_nothing() -> None:
    assert load_lower_bound(Group((), {"t0": 3})) == 0

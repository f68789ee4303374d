"""Groups for tests: small ones by hand, random ones by Hypothesis."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from random import Random

from hypothesis import strategies as st

from kafka_assignors.plan import NO_GENERATION, Group, Member, Ownership

TOPICS = ("t0", "t1", "t2", "t3", "t4")


def member(  # a test reads best with everything but the id optional
    member_id: str,
    topics: Iterable[str] = ("t0",),
    owned: Mapping[str, Iterable[int]] | None = None,
    *,
    generation: int | None = None,
    instance_id: str | None = None,
    rack: str | None = None,
    still_owns: bool = False,
    priority: int | None = None,
) -> Member:
    """A member; with partitions its generation is 1 by default."""
    partitions = {topic: tuple(numbers) for topic, numbers in (owned or {}).items()}
    if generation is None:
        generation = 1 if partitions else NO_GENERATION
    return Member(
        member_id, frozenset(topics), partitions, generation, instance_id, rack, still_owns, priority
    )


def next_generation(
    group: Group, assignment: Mapping[str, Ownership], generation: int, *, still_owns: bool = False
) -> Group:
    """Return the group as it rejoins with its assignment; nothing else has changed."""
    members = tuple(
        replace(m, owned=assignment[m.member_id], generation=generation, still_owns=still_owns)
        for m in group.members
    )
    return replace(group, members=members)


def shuffled(group: Group, seed: int) -> Group:
    """The same group with members, topics, dicts and sets in another order."""
    rng = Random(seed)

    def shuffle(items: Iterable[tuple[str, object]]) -> list[tuple[str, object]]:
        return rng.sample(list(items), len(list(items)))

    members = [
        replace(
            m,
            topics=frozenset(rng.sample(sorted(m.topics), len(m.topics))),
            owned={
                topic: tuple(rng.sample(list(numbers), len(numbers)))
                for topic, numbers in rng.sample(list(m.owned.items()), len(m.owned))
            },
        )
        for m in group.members
    ]
    topics = dict(rng.sample(list(group.topics.items()), len(group.topics)))
    racks = {
        topic: [frozenset(rng.sample(sorted(of), len(of))) for of in by_partition]
        for topic, by_partition in rng.sample(list(group.racks.items()), len(group.racks))
    }
    lags = dict(rng.sample(list(group.lags.items()), len(group.lags)))
    return Group(tuple(rng.sample(members, len(members))), topics, racks, lags)


def replica_racks(
    names: Iterable[str], max_partitions: int
) -> st.SearchStrategy[dict[str, list[frozenset[str]]]]:
    """Draw racks of replicas: of some topics, with too few or too many partitions; no member is in rack d."""
    of = st.sampled_from([frozenset(some) for some in ("", "a", "b", "ab", "ac", "abc", "d", "bd")])
    some = st.dictionaries(st.sampled_from((*names, "gone")), st.lists(of, max_size=max_partitions))
    return st.one_of(st.just({}), some)


member_racks = st.sampled_from(("a", "a", "b", "c", None))


@st.composite
def groups(
    draw: st.DrawFn,
    *,
    max_members: int = 5,
    max_topics: int = 4,
    max_partitions: int = 6,
    equal: bool = False,
) -> Group:
    """Any group: static members, unequal subscriptions, racks, and claims stale, doubled or impossible."""
    names = TOPICS[: draw(st.integers(0, max_topics))]
    topics = {name: draw(st.integers(0, max_partitions)) for name in names}
    subscribed = st.just(frozenset(names)) if equal else st.frozensets(st.sampled_from((*names, "gone")))
    claim = st.dictionaries(
        st.sampled_from((*names, "gone")),
        st.lists(st.integers(-1, max_partitions), max_size=max_partitions).map(tuple),
        max_size=len(names) + 1,
    )
    return Group(
        tuple(
            Member(
                member_id=f"m{i}",
                topics=draw(subscribed),
                owned=draw(claim),
                generation=draw(st.integers(NO_GENERATION, 2)),
                instance_id=draw(st.sampled_from((None, f"s{9 - i}"))),
                rack=draw(member_racks),
                still_owns=draw(st.booleans()),
            )
            for i in range(draw(st.integers(1, max_members)))
        ),
        topics,
        draw(replica_racks(names, max_partitions + 1)),
    )


@st.composite
def settled_groups(draw: st.DrawFn, *, equal: bool = False, max_members: int = 6) -> Group:
    """Draw a planned group after joins, leaves or growth."""
    names = TOPICS[: draw(st.integers(1, 4))]
    topics = {name: draw(st.integers(0, 8)) for name in names}
    everything = frozenset(names)
    some = st.just(everything) if equal else st.frozensets(st.sampled_from(names))
    owner = {
        (t, p): draw(st.integers(-1, max_members - 1)) for t, count in topics.items() for p in range(count)
    }
    members = []
    for i in range(max_members):
        mine: dict[str, list[int]] = {}
        for (t, p), who in owner.items():
            if who == i:
                mine.setdefault(t, []).append(p)
        if mine and draw(st.integers(0, 4)) == 0:
            continue  # this one left
        members.append(
            member(f"m{i}", draw(some), mine, rack=draw(member_racks), still_owns=draw(st.booleans()))
        )
    grown = {t: count + draw(st.integers(0, 2)) for t, count in topics.items()}
    racks = draw(replica_racks(names, 10))
    return Group(tuple(members) or (member("m0", everything),), grown, racks)


lag = st.one_of(
    st.integers(-1, 3),
    st.integers(0, 100),
    st.integers(0, 1_000_000),
    st.integers(2**61, 2**63 - 1),
)


capacity = st.sampled_from((1.0, 1.0, 0.5, 2.0, 4.0, 0.3, 2.0**-10, 1000.0))


def unequal(groups: st.SearchStrategy[Group]) -> st.SearchStrategy[Group]:
    """Draw such groups whose members have different capacities."""

    @st.composite
    def with_capacities(draw: st.DrawFn) -> Group:
        group = draw(groups)
        return replace(group, members=tuple(replace(m, capacity=draw(capacity)) for m in group.members))

    return with_capacities()


def lagging(groups: st.SearchStrategy[Group]) -> st.SearchStrategy[Group]:
    """Draw such groups with lags: for some topics, with too few or too many partitions, unknown or huge."""

    @st.composite
    def with_lags(draw: st.DrawFn) -> Group:
        group = draw(groups)
        names = st.sampled_from((*group.topics, "gone"))
        return replace(group, lags=draw(st.dictionaries(names, st.lists(lag, max_size=10))))

    return with_lags()

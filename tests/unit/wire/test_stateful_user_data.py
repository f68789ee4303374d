"""The user data of ``stateful``: members' state, and what the leader makes of it."""

from __future__ import annotations

import zlib
from contextlib import suppress
from dataclasses import replace
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_assignors.errors import CodecError
from kafka_assignors.wire import owners_section, stateful_assignment, stateful_subscription, task_section
from kafka_assignors.wire.primitives import Reader
from kafka_assignors.wire.stateful_assignment import Assignment
from kafka_assignors.wire.stateful_subscription import Subscription
from kafka_assignors.wire.stateful_version import LATEST_VERSION, Newer, common_version
from kafka_assignors.wire.task_section import Task

PROCESS = UUID("00112233-4455-6677-8899-aabbccddeeff")
TOLD = Subscription(
    PROCESS,
    actives=(("a", 0), ("a", 300)),
    standbys=(("b", 7),),
    lags={("a", 0): 0, ("a", 300): 70_000, ("b", 7): 2},
    generation=5,
    probe=258,
    endpoint="h:1",
    rack="r",
)
ANSWER = Assignment(
    actives=(("a", 2), ("b", 0)),
    standbys=(),
    warmups=(("b", 1),),
    next_probe_ms=1_000,
    owners={"h:1": (("a", 2), ("b", 0)), "h:2": (("a", 0),)},
)

numbers = st.integers(0, 2**31 - 1) | st.integers(0, 300)
ids = st.text(min_size=1, max_size=5)
tasks = st.lists(st.tuples(ids, numbers), max_size=20, unique=True).map(lambda found: tuple(sorted(found)))
places = st.text(max_size=20)
subscriptions = st.builds(
    Subscription,
    process_id=st.uuids(),
    actives=tasks,
    standbys=tasks,
    lags=st.dictionaries(st.tuples(ids, numbers), st.integers(0, 2**63 - 1), max_size=20),
    generation=st.integers(-(2**31), 2**31 - 1),
    probe=numbers,
    endpoint=places,
    rack=places,
)
owned = st.lists(st.tuples(ids, st.integers(0, 300)), max_size=20, unique=True)
assignments = st.builds(
    Assignment,
    actives=tasks,
    standbys=tasks,
    warmups=tasks,
    next_probe_ms=st.integers(0, 2**63 - 1),
    owners=owned.flatmap(lambda found: _dealt(sorted(found))),
)


def _dealt(found: list[Task]) -> st.SearchStrategy[dict[str, tuple[Task, ...]]]:
    """Each task has one owner."""
    ends = st.lists(st.sampled_from(["h:1", "h:2", "h:3"]), min_size=len(found), max_size=len(found))
    return ends.map(
        lambda chosen: {
            end: tuple(task for task, its in zip(found, chosen, strict=True) if its == end)
            for end in sorted(set(chosen))
        }
    )


def test_the_bytes_of_a_subscription() -> None:
    told = (
        "00 02 00 02 00 11 22 33 44 55 66 77 88 99 aa bb cc dd ee ff",  # of every version
        "00 00 00 05 00 00 01 02",  # generation, probes
        "00 02 00 01 61 00 01 62",  # subtopologies
        "01 02 00 02 00 00 01 2c",  # actives: two of a, none of b; steps to 0, and to 300
        "01 00 01 01 07",  # standbys
        "01 02 01 02 00 00 01 2c 00 07 04 00 00 00 00 00 01 11 70 00 00 00 02",  # lags
        "00 03 68 3a 31 00 01 72",  # endpoint, rack
    )
    assert stateful_subscription.encode(TOLD).hex(" ") == " ".join(told)
    assert stateful_subscription.decode(bytes.fromhex("".join(told))) == TOLD


def test_the_bytes_of_an_assignment() -> None:
    """What is compressed is looked at as what it was: other releases of zlib write other bytes."""
    told = (
        "00 02 00 02 00 00 00 00 00 00 03 e8 00 02 00 01 61 00 01 62",  # versions, next probe, subtopologies
        "01 01 01 01 02 00 00 01 00 01 01 01",  # actives, standbys, warm-ups
    )
    owners = bytes.fromhex(
        "00 02 00 03 68 3a 31 00 03 68 3a 32 00 02 00 01 61 00 00 00 03 00 01 62 00 00 00 01 02 00 01 01"
    )
    data = stateful_assignment.encode(ANSWER)
    start = len(bytes.fromhex("".join(told)))
    assert data[:start].hex(" ") == " ".join(told)
    assert int.from_bytes(data[start : start + 4], "big") == len(data) - start - 4
    assert zlib.decompress(data[start + 4 :]) == owners
    by_hand = zlib.compress(owners, 0)
    assert stateful_assignment.decode(data[:start] + len(by_hand).to_bytes(4, "big") + by_hand) == ANSWER


def test_a_member_with_nothing_takes_few_bytes() -> None:
    assert len(stateful_subscription.encode(Subscription(PROCESS))) == 37
    assert stateful_subscription.decode(stateful_subscription.encode(Subscription(PROCESS))) == Subscription(
        PROCESS
    )
    assert (
        stateful_assignment.encode(Assignment()).hex() == "00020002" + 8 * "00" + "0000" + 3 * "00" + 4 * "00"
    )


@given(subscriptions)
def test_a_subscription_comes_back(told: Subscription) -> None:
    assert stateful_subscription.decode(stateful_subscription.encode(told)) == told


@given(assignments)
def test_an_assignment_comes_back(told: Assignment) -> None:
    assert stateful_assignment.decode(stateful_assignment.encode(told)) == told


@given(subscriptions, assignments)
def test_version_1_has_neither_places_nor_owners(told: Subscription, answer: Assignment) -> None:
    before = stateful_subscription.encode(told, version=1)
    assert stateful_subscription.decode(before) == replace(told, endpoint="", rack="")
    answered = stateful_assignment.encode(replace(answer, common_version=1))
    assert stateful_assignment.decode(answered) == replace(answer, owners={}, common_version=1)


def test_order_is_no_matter() -> None:
    """The same bytes for the same join, or a broker begins another rebalance."""
    turned = replace(TOLD, actives=TOLD.actives[::-1], lags=dict(reversed([*TOLD.lags.items()])))
    assert stateful_subscription.encode(turned) == stateful_subscription.encode(TOLD)


def test_a_probe_can_be_seen() -> None:
    again = replace(TOLD, probe=TOLD.probe + 1)
    assert stateful_subscription.encode(again) != stateful_subscription.encode(TOLD)
    over = stateful_subscription.decode(stateful_subscription.encode(replace(TOLD, probe=2**31 + 3)))
    assert isinstance(over, Subscription)
    assert over.probe == 3


# --- members of several releases ----------------------------------------------------------------------------


def test_an_older_leader_reads_how_far_a_newer_member_can_come_down() -> None:
    assert stateful_subscription.decode(stateful_subscription.encode(TOLD), latest=1) == Newer(2, 2, PROCESS)
    future = bytes.fromhex("0007 0009") + PROCESS.bytes + b"whatever they may think of"
    assert stateful_subscription.decode(future) == Newer(7, 9, PROCESS)
    assert stateful_assignment.decode(bytes.fromhex("0007 0009") + b"whatever") == Newer(7, 9)


def test_the_common_version_is_what_all_can_read() -> None:
    old = replace(TOLD, latest_supported=1)
    assert common_version([TOLD, Newer(7, 9, PROCESS)]) == LATEST_VERSION
    assert common_version([TOLD, old]) == 1
    assert common_version([]) == LATEST_VERSION
    assert common_version([TOLD], latest=1) == 1


def test_a_group_of_two_releases_comes_to_speak_the_older_ones_language() -> None:
    """The older leads: it meets a newer member, says so, and can read it the next time."""
    old = stateful_subscription.encode(replace(TOLD, latest_supported=1), version=1)
    first = [
        stateful_subscription.decode(data, latest=1) for data in (old, stateful_subscription.encode(TOLD))
    ]
    assert isinstance(first[1], Newer)
    asked = stateful_assignment.decode(
        stateful_assignment.encode(replace(ANSWER, common_version=common_version(first, latest=1)))
    )
    assert isinstance(asked, Assignment)
    again = stateful_subscription.encode(TOLD, version=asked.common_version)
    second = stateful_subscription.decode(again, latest=1)
    assert isinstance(second, Subscription)
    assert (second.lags, second.latest_supported) == (TOLD.lags, 2)
    alone = stateful_subscription.decode(again)
    assert isinstance(alone, Subscription)
    assert common_version([alone]) == 2


@pytest.mark.parametrize("version", [0, 3, -1])
def test_a_version_there_is_not_is_not_written(version: int) -> None:
    with pytest.raises(CodecError, match="version"):
        stateful_subscription.encode(TOLD, version=version)
    with pytest.raises(CodecError, match="version"):
        stateful_assignment.encode(replace(ANSWER, common_version=version))
    with pytest.raises(CodecError, match="version 2, know 1 to 1"):
        stateful_subscription.encode(replace(TOLD, latest_supported=1))


# --- bytes that are not what they should be -----------------------------------------------------------------

GOOD = stateful_subscription.encode(TOLD)
FINE = stateful_assignment.encode(ANSWER)


def _with(data: bytes, at: int, hexed: str) -> bytes:
    raw = bytes.fromhex(hexed)
    return data[:at] + raw + data[at + len(raw) :]


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (b"", "needs 2 bytes"),
        (GOOD[:-1], "needs"),
        (GOOD + b"\0", "1 bytes too many"),
        (_with(GOOD, 0, "0000"), "version 0"),
        (_with(GOOD, 0, "8000"), "version -32768"),
        (_with(GOOD, 0, "0005"), "version 5 of a sender that supports up to 2"),
        (_with(GOOD, 24, "ffff"), "negative counter"),
        (_with(GOOD, 28, "ffff"), "needs"),  # more subtopologies than bytes
        (_with(GOOD, 32, "62"), "duplicate subtopology"),
        (_with(GOOD, 36, "03"), "numbers of an unknown width"),
        (_with(GOOD, 37, "ff"), "needs"),  # more tasks than bytes
        (_with(GOOD, 42, "0000"), "duplicate task"),
        (_with(GOOD, 44 + 5, "03"), "numbers of an unknown width"),
    ],
)
def test_a_subscription_that_is_none(data: bytes, says: str) -> None:
    with pytest.raises(CodecError, match=f"stateful user data: .*{says}"):
        stateful_subscription.decode(data)


@pytest.mark.parametrize(
    ("hexed", "says"),
    [
        ("01 02 01 03 00", "duplicate task"),
        ("01 01 08 ff ff ff ff ff ff ff ff", "numbers of an unknown width"),
        ("01 01 04 80 00 00 00", "partition 2147483648"),
        ("08 ff ff ff ff ff ff ff ff", "numbers of an unknown width"),
        ("04 00 01 86 a1", "more than 100000 tasks"),
        ("04 00 01 86 a0 01", "needs 100000 bytes"),
        ("01 01 05 00", "numbers of an unknown width"),
    ],
)
def test_a_section_that_is_none(hexed: str, says: str) -> None:
    with pytest.raises(CodecError, match=says):
        task_section.read_tasks(Reader(bytes.fromhex(hexed)), ["a"])


def test_negative_lags_are_refused() -> None:
    with pytest.raises(CodecError, match="negative lag"):
        task_section.read_lags(Reader(bytes.fromhex("01 01 01 00 08 ff ff ff ff ff ff ff ff")), ["a"])
    with pytest.raises(CodecError, match="negative lag"):
        stateful_subscription.encode(replace(TOLD, lags={("a", 0): -1}))


def _owners(hexed: str) -> bytes:
    packed = zlib.compress(bytes.fromhex(hexed))
    return len(packed).to_bytes(4, "big") + packed


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (b"\0\0\0\2ab", "owners: "),
        (b"\xff\xff\xff\xff", "needs -1 bytes"),
        (b"\0\0\0\x50", "needs 80 bytes"),
        (_owners("00 00 00 00"), "no endpoints"),
        (_owners("00 02 00 01 61 00 01 61 00 00"), "duplicate one"),
        (_owners("00 01 00 00 00 00"), "empty"),
        (_owners("00 01 00 01 61 00 01 00 01 61 00 00 00 01 02"), "endpoint 2 of 1"),
        (_owners("00 01 00 01 61 00 01 00 01 61 00 00 00 02 01"), "needs 2 bytes"),
        (_owners("00 01 00 01 61 00 01 00 01 61 00 00 00 01 01 00"), "too many"),
        (_owners("00 01 00 01 61 00 01 00 01 61 7f ff ff ff 01"), "expected 1 to 100000"),
        (_owners("00 01 00 01 61 00 01 00 01 61 ff ff ff ff 01"), "expected 1 to 100000"),
        (_owners("00 01 00 01 61 00 02 00 01 61 00 00 00 01 00 01 61 00 00 00 01 01 01"), "duplicate subt"),
    ],
)
def test_owners_that_are_none(data: bytes, says: str) -> None:
    with pytest.raises(CodecError, match=says):
        owners_section.read_owners(Reader(data))


def test_what_was_compressed_does_not_grow_without_bound() -> None:
    """Half a gigabyte of nothing takes half a megabyte; a member reads no more than 4 MB of it."""
    bomb = zlib.compress(bytes(8 * 1024 * 1024))
    with pytest.raises(CodecError, match="too large"):
        owners_section.read_owners(Reader(len(bomb).to_bytes(4, "big") + bomb))


@pytest.mark.parametrize(
    "told",
    [
        replace(TOLD, actives=(("a", -1),)),
        replace(TOLD, actives=(("a", 2**31),)),
        replace(TOLD, actives=(("", 1),)),
        replace(TOLD, standbys=(("x" * 250, 1),)),
        replace(TOLD, endpoint="x" * 256),
        replace(TOLD, rack="ä" * 128),
        replace(TOLD, rack="\ud800"),
        replace(TOLD, actives=tuple(("a", p) for p in range(task_section.MOST_TASKS + 1))),
    ],
    ids=lambda told: str(told)[-20:],
)
def test_what_cannot_be_is_not_written(told: Subscription) -> None:
    with pytest.raises(CodecError):
        stateful_subscription.encode(told)


@pytest.mark.parametrize(
    "answer",
    [
        replace(ANSWER, next_probe_ms=-1),
        replace(ANSWER, warmups=(("a", -1),)),
        replace(ANSWER, owners={"": (("a", 1),)}),
        replace(ANSWER, owners={"h": (("a", -1),)}),
        replace(ANSWER, owners={"h": (("a", task_section.MOST_TASKS),)}),
    ],
)
def test_what_cannot_be_is_not_answered(answer: Assignment) -> None:
    with pytest.raises(CodecError):
        stateful_assignment.encode(answer)


@given(st.binary(max_size=200))
def test_any_bytes_are_read_or_refused(data: bytes) -> None:
    for decode in (stateful_subscription.decode, stateful_assignment.decode):
        with suppress(CodecError):
            decode(data)


@given(subscriptions, assignments, st.data())
def test_any_change_is_read_or_refused(told: Subscription, answer: Assignment, data: st.DataObject) -> None:
    """Bytes that are nearly right get further than random ones."""
    for raw, decode in (
        (stateful_subscription.encode(told), stateful_subscription.decode),
        (stateful_assignment.encode(answer), stateful_assignment.decode),
    ):
        at = data.draw(st.integers(0, len(raw) - 1))
        changed = raw[:at] + data.draw(st.binary(min_size=1, max_size=4)) + raw[at + 1 :]
        with suppress(CodecError):
            decode(changed)


@given(subscriptions, assignments, st.integers(0, 10_000))
def test_what_is_cut_off_is_refused(told: Subscription, answer: Assignment, at: int) -> None:
    raw, answered = stateful_subscription.encode(told), stateful_assignment.encode(answer)
    with pytest.raises(CodecError):
        stateful_subscription.decode(raw[: at % len(raw)])
    with pytest.raises(CodecError):
        stateful_assignment.decode(answered[: at % len(answered)])


# --- large groups -------------------------------------------------------------------------------------------


def test_a_large_groups_members_fit_into_one_message() -> None:
    """10,000 tasks on 100 members, one standby each: less than 2 KB a member."""
    mine, kept = (tuple((f"sub-{p % 10}", p // 10) for p in range(start, 10_000, 100)) for start in (3, 4))
    lags = dict.fromkeys(mine, 0) | {task: 17 * task[1] for task in kept}
    data = stateful_subscription.encode(Subscription(PROCESS, mine, kept, lags, endpoint="host-3:8080"))
    assert len(data) < 2_000


def test_of_state_left_behind_the_most_recent_is_told() -> None:
    held = {("a", p): 2**40 for p in range(10)}
    left = {("b", p): p for p in range(5_000)}
    sent = stateful_subscription.decode(
        stateful_subscription.encode(Subscription(PROCESS, tuple(held)[:5], tuple(held)[5:], held | left))
    )
    assert isinstance(sent, Subscription)
    assert sent.lags == held | {("b", p): p for p in range(stateful_subscription.MOST_OTHERS)}


def test_many_endpoints_take_two_bytes_each() -> None:
    owners = {f"host-{n:03}:80": (("a", n),) for n in range(300)}
    read = stateful_assignment.decode(stateful_assignment.encode(Assignment(owners=owners)))
    assert isinstance(read, Assignment)
    assert read.owners == owners


def test_owners_are_left_out_where_the_groups_message_would_grow_too_large() -> None:
    section = owners_section.pack_owners(ANSWER.owners)
    assert owners_section.affordable(section, 100) == section
    assert owners_section.affordable(section, owners_section.MOST_BYTES) == owners_section.NO_OWNERS
    left_out = stateful_assignment.decode(stateful_assignment.encode(ANSWER, owners_section.NO_OWNERS))
    assert left_out == replace(ANSWER, owners={})

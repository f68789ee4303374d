"""The user data of ``stateful``: subscriptions of members, and assignments of the leader."""

from __future__ import annotations

import zlib
from contextlib import suppress
from dataclasses import replace
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_assignors.errors import CodecError
from kafka_assignors.wire.primitives import Reader
from kafka_assignors.wire.stateful import assignment as stateful_assignment
from kafka_assignors.wire.stateful import owners_section, task_section
from kafka_assignors.wire.stateful import subscription as stateful_subscription
from kafka_assignors.wire.stateful.assignment import TaskAssignment
from kafka_assignors.wire.stateful.subscription import Subscription
from kafka_assignors.wire.stateful.task_section import Task
from kafka_assignors.wire.stateful.version import NewerHeader

PROCESS = UUID("00112233-4455-6677-8899-aabbccddeeff")
SUBSCRIPTION = Subscription(
    PROCESS,
    actives=(("a", 0), ("a", 300)),
    standbys=(("b", 7),),
    lags={("a", 0): 0, ("a", 300): 70_000, ("b", 7): 2},
    generation=5,
    probe=258,
    endpoint="h:1",
    rack="r",
)
ASSIGNMENT = TaskAssignment(
    actives=(("a", 2), ("b", 0)),
    standbys=(),
    warmups=(("b", 1),),
    next_probe_ms=1_000,
    owners={"h:1": (("a", 2), ("b", 0)), "h:2": (("a", 0),)},
)

numbers = st.integers(0, 2**31 - 1) | st.integers(0, 300)
ids = st.text(min_size=1, max_size=5)
tasks = st.lists(st.tuples(ids, numbers), max_size=20, unique=True).map(lambda tasks: tuple(sorted(tasks)))
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
    TaskAssignment,
    actives=tasks,
    standbys=tasks,
    warmups=tasks,
    next_probe_ms=st.integers(0, 2**63 - 1),
    owners=owned.flatmap(lambda tasks: _dealt(sorted(tasks))),
)


def _dealt(tasks: list[Task]) -> st.SearchStrategy[dict[str, tuple[Task, ...]]]:
    """Give each task one owner."""
    endpoints = st.sampled_from(["h:1", "h:2", "h:3"])
    return st.lists(endpoints, min_size=len(tasks), max_size=len(tasks)).map(
        lambda chosen: {
            endpoint: tuple(task for task, owner in zip(tasks, chosen, strict=True) if owner == endpoint)
            for endpoint in sorted(set(chosen))
        }
    )


def test_the_bytes_of_a_subscription() -> None:
    expected = (
        "00 02 00 02 00 11 22 33 44 55 66 77 88 99 aa bb cc dd ee ff",  # the same in every version
        "00 00 00 05 00 00 01 02",  # generation, probes
        "00 02 00 01 61 00 01 62",  # subtopologies
        "01 02 00 02 00 00 01 2c",  # actives: two of a, none of b; steps to 0, and to 300
        "01 00 01 01 07",  # standbys
        "01 02 01 02 00 00 01 2c 00 07 04 00 00 00 00 00 01 11 70 00 00 00 02",  # lags
        "00 03 68 3a 31 00 01 72",  # endpoint, rack
    )
    assert stateful_subscription.encode(SUBSCRIPTION).hex(" ") == " ".join(expected)
    assert stateful_subscription.decode(bytes.fromhex("".join(expected))) == SUBSCRIPTION


def test_the_bytes_of_an_assignment() -> None:
    """Compressed bytes are compared after decompression, because releases of zlib differ."""
    expected = (
        "00 02 00 02 00 00 00 00 00 00 03 e8 00 02 00 01 61 00 01 62",  # versions, next probe, subtopologies
        "01 01 01 01 02 00 00 01 00 01 01 01",  # actives, standbys, warm-ups
    )
    owners = bytes.fromhex(
        "00 02 00 03 68 3a 31 00 03 68 3a 32 00 02 00 01 61 00 00 00 03 00 01 62 00 00 00 01 02 00 01 01"
    )
    data = stateful_assignment.encode(ASSIGNMENT)
    start = len(bytes.fromhex("".join(expected)))
    assert data[:start].hex(" ") == " ".join(expected)
    assert int.from_bytes(data[start : start + 4], "big") == len(data) - start - 4
    assert zlib.decompress(data[start + 4 :]) == owners
    by_hand = zlib.compress(owners, 0)
    assert stateful_assignment.decode(data[:start] + len(by_hand).to_bytes(4, "big") + by_hand) == ASSIGNMENT


def test_a_member_without_tasks_takes_few_bytes() -> None:
    assert len(stateful_subscription.encode(Subscription(PROCESS))) == 37
    assert stateful_subscription.decode(stateful_subscription.encode(Subscription(PROCESS))) == Subscription(
        PROCESS
    )
    assert (
        stateful_assignment.encode(TaskAssignment()).hex()
        == "00020002" + 8 * "00" + "0000" + 3 * "00" + 4 * "00"
    )


@given(subscriptions)
def test_decode_reverses_encode_of_a_subscription(subscription: Subscription) -> None:
    assert stateful_subscription.decode(stateful_subscription.encode(subscription)) == subscription


@given(assignments)
def test_decode_reverses_encode_of_an_assignment(assignment: TaskAssignment) -> None:
    assert stateful_assignment.decode(stateful_assignment.encode(assignment)) == assignment


@given(subscriptions, assignments)
def test_version_1_has_no_endpoint_rack_or_owners(
    subscription: Subscription, assignment: TaskAssignment
) -> None:
    before = stateful_subscription.encode(subscription, version=1)
    assert stateful_subscription.decode(before) == replace(subscription, endpoint="", rack="")
    answered = stateful_assignment.encode(replace(assignment, common_version=1))
    assert stateful_assignment.decode(answered) == replace(assignment, owners={}, common_version=1)


def test_bytes_do_not_depend_on_order() -> None:
    """A join with other bytes would make the broker start another rebalance."""
    turned = replace(
        SUBSCRIPTION, actives=SUBSCRIPTION.actives[::-1], lags=dict(reversed([*SUBSCRIPTION.lags.items()]))
    )
    assert stateful_subscription.encode(turned) == stateful_subscription.encode(SUBSCRIPTION)


def test_a_probe_changes_the_bytes() -> None:
    again = replace(SUBSCRIPTION, probe=SUBSCRIPTION.probe + 1)
    assert stateful_subscription.encode(again) != stateful_subscription.encode(SUBSCRIPTION)
    over = stateful_subscription.decode(stateful_subscription.encode(replace(SUBSCRIPTION, probe=2**31 + 3)))
    assert isinstance(over, Subscription)
    assert over.probe == 3


# --- members of several releases ----------------------------------------------------------------------------


def test_an_older_leader_reads_the_header_of_a_newer_member(monkeypatch: pytest.MonkeyPatch) -> None:
    data = stateful_subscription.encode(SUBSCRIPTION)
    with monkeypatch.context() as older:
        older.setattr(stateful_subscription, "LATEST_VERSION", 1)
        assert stateful_subscription.decode(data) == NewerHeader(2, 2, PROCESS)
    future = bytes.fromhex("0007 0009") + PROCESS.bytes + b"fields of the future"
    assert stateful_subscription.decode(future) == NewerHeader(7, 9, PROCESS)
    assert stateful_assignment.decode(bytes.fromhex("0007 0009") + b"future") == NewerHeader(7, 9)


def test_an_older_leader_reads_a_newer_member_that_joins_in_the_older_version(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The leader asks for that version; the member still reports its own."""
    asked = stateful_assignment.decode(stateful_assignment.encode(replace(ASSIGNMENT, common_version=1)))
    assert isinstance(asked, TaskAssignment)
    data = stateful_subscription.encode(SUBSCRIPTION, version=asked.common_version)
    monkeypatch.setattr(stateful_subscription, "LATEST_VERSION", 1)
    joined = stateful_subscription.decode(data)
    assert isinstance(joined, Subscription)
    assert (joined.lags, joined.latest_supported) == (SUBSCRIPTION.lags, 2)


@pytest.mark.parametrize("version", [0, 3, -1])
def test_an_unknown_version_is_not_written(version: int) -> None:
    with pytest.raises(CodecError, match="version"):
        stateful_subscription.encode(SUBSCRIPTION, version=version)
    with pytest.raises(CodecError, match="version"):
        stateful_assignment.encode(replace(ASSIGNMENT, common_version=version))
    with pytest.raises(CodecError, match="version 2 cannot be written, only 1 to 1"):
        stateful_subscription.encode(replace(SUBSCRIPTION, latest_supported=1))


# --- invalid bytes ------------------------------------------------------------------------------------------

GOOD = stateful_subscription.encode(SUBSCRIPTION)
FINE = stateful_assignment.encode(ASSIGNMENT)


def _with(data: bytes, offset: int, hexed: str) -> bytes:
    raw = bytes.fromhex(hexed)
    return data[:offset] + raw + data[offset + len(raw) :]


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "needs 2 bytes"),
        (GOOD[:-1], "needs"),
        (GOOD + b"\0", "1 bytes left over"),
        (_with(GOOD, 0, "0000"), "version 0, but the header allows 1 to 2"),
        (_with(GOOD, 0, "8000"), "version -32768"),
        (_with(GOOD, 0, "0005"), "version 5, but the header allows 1 to 2"),
        (_with(GOOD, 24, "ffff"), "negative counter"),
        (_with(GOOD, 28, "ffff"), "needs"),  # more subtopologies than bytes
        (_with(GOOD, 32, "62"), "not sorted, or one twice"),
        (_with(GOOD, 36, "03"), "numbers of an unknown width"),
        (_with(GOOD, 37, "ff"), "needs"),  # more tasks than bytes
        (_with(GOOD, 42, "0000"), "duplicate task"),
        (_with(GOOD, 44 + 5, "03"), "numbers of an unknown width"),
    ],
)
def test_invalid_subscriptions_are_refused(data: bytes, message: str) -> None:
    with pytest.raises(CodecError, match=f"stateful user data: .*{message}"):
        stateful_subscription.decode(data)


@pytest.mark.parametrize(
    ("hexed", "message"),
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
def test_invalid_sections_are_refused(hexed: str, message: str) -> None:
    with pytest.raises(CodecError, match=message):
        task_section.read_tasks(Reader(bytes.fromhex(hexed)), ["a"])


def test_negative_lags_are_refused() -> None:
    with pytest.raises(CodecError, match="negative lag"):
        task_section.read_lags(Reader(bytes.fromhex("01 01 01 00 08 ff ff ff ff ff ff ff ff")), ["a"])
    with pytest.raises(CodecError, match="negative lag"):
        stateful_subscription.encode(replace(SUBSCRIPTION, lags={("a", 0): -1}))


def _owners(hexed: str) -> bytes:
    packed = zlib.compress(bytes.fromhex(hexed))
    return len(packed).to_bytes(4, "big") + packed


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"\0\0\0\2ab", "owners: "),
        (b"\xff\xff\xff\xff", "needs -1 bytes"),
        (b"\0\0\0\x50", "needs 80 bytes"),
        (_owners("00 00 00 00"), "no endpoints"),
        (_owners("00 02 00 01 61 00 01 61 00 00"), "duplicate one"),
        (_owners("00 01 00 00 00 00"), "empty"),
        (
            _owners("00 01 00 01 61 00 01 00 01 61 00 00 00 01 02"),
            "endpoint number 2, but there are 1 endpoints",
        ),
        (_owners("00 01 00 01 61 00 01 00 01 61 00 00 00 02 01"), "needs 2 bytes"),
        (_owners("00 01 00 01 61 00 01 00 01 61 00 00 00 01 01 00"), "left over"),
        (_owners("00 01 00 01 61 00 01 00 01 61 7f ff ff ff 01"), "expected 1 to 100000"),
        (_owners("00 01 00 01 61 00 01 00 01 61 ff ff ff ff 01"), "expected 1 to 100000"),
        (_owners("00 01 00 01 61 00 02 00 01 61 00 00 00 01 00 01 61 00 00 00 01 01 01"), "duplicate subt"),
    ],
)
def test_invalid_owners_are_refused(data: bytes, message: str) -> None:
    with pytest.raises(CodecError, match=message):
        owners_section.read_owners(Reader(data))


def test_decompression_is_bounded() -> None:
    """Half a gigabyte of zeros takes half a megabyte; a member reads at most 4 MB of it."""
    bomb = zlib.compress(bytes(8 * 1024 * 1024))
    with pytest.raises(CodecError, match="too large"):
        owners_section.read_owners(Reader(len(bomb).to_bytes(4, "big") + bomb))


@pytest.mark.parametrize(
    "subscription",
    [
        replace(SUBSCRIPTION, actives=(("a", -1),)),
        replace(SUBSCRIPTION, actives=(("a", 2**31),)),
        replace(SUBSCRIPTION, actives=(("", 1),)),
        replace(SUBSCRIPTION, standbys=(("x" * 250, 1),)),
        replace(SUBSCRIPTION, endpoint="x" * 256),
        replace(SUBSCRIPTION, rack="ä" * 128),
        replace(SUBSCRIPTION, rack="\ud800"),
        replace(SUBSCRIPTION, actives=tuple(("a", p) for p in range(task_section.MOST_TASKS + 1))),
    ],
    ids=lambda subscription: str(subscription)[-20:],
)
def test_invalid_subscriptions_are_not_written(subscription: Subscription) -> None:
    with pytest.raises(CodecError):
        stateful_subscription.encode(subscription)


@pytest.mark.parametrize(
    "assignment",
    [
        replace(ASSIGNMENT, next_probe_ms=-1),
        replace(ASSIGNMENT, warmups=(("a", -1),)),
        replace(ASSIGNMENT, owners={"": (("a", 1),)}),
        replace(ASSIGNMENT, owners={"h": (("a", -1),)}),
        replace(ASSIGNMENT, owners={"h": (("a", task_section.MOST_TASKS),)}),
    ],
)
def test_invalid_assignments_are_not_written(assignment: TaskAssignment) -> None:
    with pytest.raises(CodecError):
        stateful_assignment.encode(assignment)


@given(subscriptions, assignments, st.data())
def test_changed_bytes_are_read_or_refused(
    subscription: Subscription, assignment: TaskAssignment, data: st.DataObject
) -> None:
    """Nearly valid bytes get further than random ones."""
    for raw, decode in (
        (stateful_subscription.encode(subscription), stateful_subscription.decode),
        (stateful_assignment.encode(assignment), stateful_assignment.decode),
    ):
        at = data.draw(st.integers(0, len(raw) - 1))
        changed = raw[:at] + data.draw(st.binary(min_size=1, max_size=4)) + raw[at + 1 :]
        with suppress(CodecError):
            decode(changed)


@given(subscriptions, assignments, st.integers(0, 10_000))
def test_truncated_bytes_are_refused(subscription: Subscription, assignment: TaskAssignment, at: int) -> None:
    raw, answered = stateful_subscription.encode(subscription), stateful_assignment.encode(assignment)
    with pytest.raises(CodecError):
        stateful_subscription.decode(raw[: at % len(raw)])
    with pytest.raises(CodecError):
        stateful_assignment.decode(answered[: at % len(answered)])


# --- large groups -------------------------------------------------------------------------------------------


def test_members_of_a_large_group_fit_into_one_message() -> None:
    """10,000 tasks on 100 members, one standby each: less than 2 KB a member."""
    mine, kept = (tuple((f"sub-{p % 10}", p // 10) for p in range(start, 10_000, 100)) for start in (3, 4))
    lags = dict.fromkeys(mine, 0) | {task: 17 * task[1] for task in kept}
    data = stateful_subscription.encode(Subscription(PROCESS, mine, kept, lags, endpoint="host-3:8080"))
    assert len(data) < 2_000


def test_only_the_least_lag_of_unowned_state_is_sent() -> None:
    held = {("a", p): 2**40 for p in range(10)}
    left = {("b", p): p for p in range(5_000)}
    sent = stateful_subscription.decode(
        stateful_subscription.encode(Subscription(PROCESS, tuple(held)[:5], tuple(held)[5:], held | left))
    )
    assert isinstance(sent, Subscription)
    assert sent.lags == held | {("b", p): p for p in range(stateful_subscription.MOST_OTHERS)}


def test_many_endpoints_take_two_bytes_each() -> None:
    owners = {f"host-{n:03}:80": (("a", n),) for n in range(300)}
    read = stateful_assignment.decode(stateful_assignment.encode(TaskAssignment(owners=owners)))
    assert isinstance(read, TaskAssignment)
    assert read.owners == owners


def test_too_many_subtopologies_for_owners_are_refused() -> None:
    with pytest.raises(CodecError, match="65536 subtopologies, more than 65535"):
        owners_section.pack_owners({"host:80": [(str(number), 0) for number in range(2**16)]})


def test_owners_are_left_out_if_the_message_would_be_too_large() -> None:
    section = owners_section.pack_owners(ASSIGNMENT.owners)
    assert owners_section.owners_if_small_enough(section, 100) == section
    assert (
        owners_section.owners_if_small_enough(section, owners_section.MOST_BYTES) == owners_section.NO_OWNERS
    )
    left_out = stateful_assignment.decode(stateful_assignment.encode(ASSIGNMENT, owners_section.NO_OWNERS))
    assert left_out == replace(ASSIGNMENT, owners={})

"""The JSON that ``plan`` reads: every field, every default, and every way to get it wrong."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_assignors.cli.fields import parsed_json
from kafka_assignors.cli.plan.problem import MOST_PROBLEM_PARTITIONS, Problem, parse_problem
from kafka_assignors.errors import ProblemError
from kafka_assignors.plan import NO_GENERATION, UNKNOWN_LAG, Group, Member, TopicPartition

EVERYTHING = {
    "version": 1,
    "strategy": "sticky",
    "options": {"rack": "a"},
    "topics": {"orders": 12, "payments": 6},
    "members": [
        {
            "id": "c1",
            "instance_id": "static-1",
            "rack": "zone-a",
            "topics": ["orders"],
            "owned": [["orders", 1], ["orders", 0], ["gone", 3]],
            "generation": 5,
            "priority": 10,
            "capacity": 2,
        }
    ],
    "racks": {"orders": [["zone-a", "zone-b"], [], ["zone-b"]]},
    "lags": {"orders": [100000, None, 50000]},
    "expected": {"orders": [1, None, 2.5]},
}


def wrong(value: Any) -> str:
    """The error of an invalid problem."""
    with pytest.raises(ProblemError) as error:
        parse_problem(value)
    assert "\n" not in str(error.value)
    return str(error.value)


def test_every_field_is_read() -> None:
    assert parse_problem(EVERYTHING) == Problem(
        group=Group(
            (
                Member(
                    member_id="c1",
                    topics=frozenset({"orders"}),
                    owned={"orders": [1, 0], "gone": [3]},
                    generation=5,
                    instance_id="static-1",
                    rack="zone-a",
                    priority=10,
                    capacity=2.0,
                ),
            ),
            {"orders": 12, "payments": 6},
            {"orders": (frozenset({"zone-a", "zone-b"}), frozenset(), frozenset({"zone-b"}))},
            {"orders": (100000, UNKNOWN_LAG, 50000)},
        ),
        strategy="sticky",
        options={"rack": "a"},
        expected={TopicPartition("orders", 0): 1.0, TopicPartition("orders", 2): 2.5},
    )


def test_empty_object_is_an_empty_group() -> None:
    assert parse_problem({}) == Problem(Group((), {}))


def test_missing_member_fields_have_defaults() -> None:
    """It subscribes to all there is, owns nothing, and has no history."""
    (member,) = parse_problem({"topics": {"a": 1, "b": 2}, "members": [{"id": "c1"}]}).group.members
    assert member == Member("c1", frozenset({"a", "b"}), {}, NO_GENERATION, None, None)


@pytest.mark.parametrize("name", ["instance_id", "rack", "generation", "priority", "capacity"])
def test_null_equals_a_missing_field(name: str) -> None:
    missing, null = ({"members": [{"id": "c1", **fields}]} for fields in ({}, {name: None}))
    assert parse_problem(null) == parse_problem(missing)


def test_empty_topics_do_not_mean_all_topics() -> None:
    (member,) = parse_problem({"topics": {"a": 1}, "members": [{"id": "c1", "topics": []}]}).group.members
    assert member.topics == frozenset()


def a_member(**fields: object) -> dict[str, object]:
    """A problem with an invalid third member."""
    return {"topics": {"orders": 2}, "members": [{"id": "c1"}, {"id": "c2"}, {"id": "c3", **fields}]}


@pytest.mark.parametrize(
    ("problem", "message"),
    [
        ([], "the file: expected an object, got []"),
        ({"version": 2}, "version: expected 1, got 2"),
        ({"version": None}, "version: expected a whole number, got null"),
        ({"strategy": 7}, "strategy: expected a non-empty text or null, got 7"),
        ({"options": []}, "options: expected an object, got []"),
        (
            {"topic": {}},
            "topic: unknown, expected one of version, strategy, options, topics, members, racks, lags, "
            "expected",
        ),
        ({"topics": {"orders": 1.0}}, "topics.orders: expected a whole number, got 1.0"),
        ({"topics": {"orders": True}}, "topics.orders: expected a whole number, got true"),
        ({"topics": {"a.b": -1}}, 'topics."a.b": expected a whole number >= 0, got -1'),
        ({"topics": {"": 1}}, 'topics: expected a non-empty text that UTF-8 can encode, got ""'),
        (
            {"topics": {"a": MOST_PROBLEM_PARTITIONS, "b": 1}},
            "topics: 1000001 partitions in total, at most 1000000 are allowed",
        ),
        ({"members": {}}, "members: expected an array, got {}"),
        ({"members": [{}]}, "members[0].id: missing"),
        (a_member(id="c1"), 'members[2].id: "c1" repeats members[0].id'),
        (
            {"members": [{"id": "a", "instance_id": "s"}, {"id": "b", "instance_id": "s"}]},
            'members[1].instance_id: "s" repeats members[0].instance_id',
        ),
        (
            a_member(id="\ud800"),
            'members[2].id: expected a non-empty text that UTF-8 can encode, got "\\ud800"',
        ),
        (a_member(topics=["orders", 3]), "members[2].topics[1]: expected a non-empty text, got 3"),
        (a_member(owned=[["orders"]]), 'members[2].owned[0]: expected an array of length 2, got ["orders"]'),
        (a_member(owned=[["orders", "x"]]), 'members[2].owned[0][1]: expected a whole number, got "x"'),
        (
            a_member(owned=[["orders", 2**31]]),
            "members[2].owned[0][1]: expected a whole number <= 2147483647, got 2147483648",
        ),
        (a_member(generation=-2), "members[2].generation: expected a whole number >= -1, got -2"),
        (a_member(rack=""), 'members[2].rack: expected a non-empty text that UTF-8 can encode, got ""'),
        (a_member(priority=False), "members[2].priority: expected a whole number or null, got false"),
        (
            a_member(holds=True),
            "members[2].holds: unknown, expected one of id, instance_id, rack, topics, owned, generation, "
            "priority, capacity",
        ),
        (a_member(capacity=0), "members[2].capacity: expected a number >= 0.0009765625, got 0"),
        (a_member(capacity=1e300), "members[2].capacity: expected a number <= 1024.0, got 1e+300"),
        (a_member(capacity="2"), 'members[2].capacity: expected a number or null, got "2"'),
        ({"racks": {"orders": [["a"]]}}, "racks.orders: topics has no such topic"),
        ({"topics": {"a": 1}, "racks": {"a": ["b"]}}, 'racks.a[0]: expected an array, got "b"'),
        (
            {"topics": {"a": 2}, "racks": {"a": [["b"], ["b", ""]]}},
            'racks.a[1][1]: expected a non-empty text that UTF-8 can encode, got ""',
        ),
        (
            {"topics": {"a": 1}, "racks": {"a": [[], []]}},
            "racks.a: 2 entries, but the topic has 1 partitions",
        ),
        ({"topics": {"a": 1}, "lags": {"a": [-1]}}, "lags.a[0]: expected a whole number >= 0, got -1"),
        ({"strategy": ["x" * 500]}, 'strategy: expected a non-empty text or null, got ["' + "x" * 58 + "…"),
    ],
)
def test_errors_name_the_path_of_the_field(problem: object, message: str) -> None:
    assert wrong(problem) == message


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"\udcff": 1}', "byte 2: not utf-8"),
        ('{"version": 1,\n  "topics": {"orders": }}', "not JSON: line 2, column 24: Expecting value"),
        ("", "not JSON: line 1, column 1: Expecting value"),
        ('{"topics": {"a": NaN}}', "NaN is not a JSON number"),
        ("[" * 100_000, "nested too deeply"),
        ('{"version": ' + "1" * 5000 + "}", "a number with too many digits"),
        ('{"options": {"a": [{"b": 1, "b": 1}]}}', 'the name "b" appears twice in one object'),
        (
            '{"topics": {"a": 1}, "expected": {"a": [1e999]}}',
            "expected.a[0]: expected a number < 9.223372036854776e+18, got Infinity",
        ),
        (
            '{"members": [{"id": "a", "\\ud800": 1}]}',
            'members[0]."\\ud800": unknown, expected one of id, instance_id, rack, topics, owned, generation,'
            " priority, capacity",
        ),
        (
            '{"topics": {"\\ud800": 1}}',
            'topics."\\ud800": expected a non-empty text that UTF-8 can encode, got "\\ud800"',
        ),
        ('{"topics": {"a\\nb": -1}}', 'topics."a\\nb": expected a whole number >= 0, got -1'),
    ],
)
def test_invalid_text_is_refused_in_one_line(text: str, message: str) -> None:
    with pytest.raises(ProblemError) as error:
        parse_problem(parsed_json(text.encode(errors="surrogateescape")))
    assert str(error.value) == message


def places(value: Any) -> Iterator[tuple[Any, Any]]:
    """Yield each container in the value with each of its keys or indices."""
    if isinstance(value, dict | list):
        for key in value if isinstance(value, dict) else range(len(value)):
            yield value, key
            yield from places(value[key])


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=5,
)


@given(data=st.data())
def test_any_value_in_any_field_is_read_or_refused(data: st.DataObject) -> None:
    """Never another error than the one that names the field."""
    problem = json.loads(json.dumps(EVERYTHING))
    place, key = data.draw(st.sampled_from(list(places(problem))))
    place[key] = data.draw(json_values)
    try:
        parse_problem(problem)
    except ProblemError as error:
        assert "\n" not in str(error)  # noqa: PT017  # that nothing is raised is fine, too

"""JSON that others wrote: every fault is one kind of error, with one line."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from kafka_assignors.strict_json import json_or_text, read_json


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b'{"a": }', "not JSON: line 1, column 7: Expecting value"),
        ("", "not JSON: line 1, column 1: Expecting value"),
        (b"[NaN]", "NaN is not a JSON number"),
        (b"-Infinity", "-Infinity is not a JSON number"),
        (b'{"\xff": 1}', "byte 2: not utf-8"),
        ("[" * 100_000, "nested too deeply"),
        ("1" * 5000, "a number with too many digits"),
    ],
)
def test_fault_is_named_in_one_line(data: bytes | str, reason: str) -> None:
    with pytest.raises(ValueError, match=r"^.+$") as refused:
        read_json(data)
    assert str(refused.value) == reason


def test_repeated_name_is_refused_on_request() -> None:
    assert read_json('{"a": 1, "a": 2}') == {"a": 2}
    with pytest.raises(ValueError, match='the name "a" appears twice in one object'):
        read_json('[{"b": {"a": 1, "c": 0, "a": 2}}]', unique_names=True)
    assert read_json('[{"a": {"a": 1}}, {"a": 2}]', unique_names=True) == [{"a": {"a": 1}}, {"a": 2}]


def test_byte_order_mark_is_skipped() -> None:
    assert read_json(b'\xef\xbb\xbf{"a": 1}') == {"a": 1}


def test_value_that_is_no_json_is_text() -> None:
    assert [json_or_text(text) for text in ("1", "true", "a", "NaN", "[")] == [1, True, "a", "NaN", "["]
    assert json_or_text("[" * 100_000).startswith("[[")


@given(st.binary(max_size=100))
@example(b"\x00")
@example(b'"\\ud800"')
def test_random_bytes_are_read_or_refused(data: bytes) -> None:
    try:
        read_json(data, unique_names=True)
    except ValueError as error:
        assert "\n" not in str(error)  # noqa: PT017  # that nothing is raised is fine, too

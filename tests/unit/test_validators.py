"""Checks of option values: accepted, or refused with the option and one style of reason."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

import pytest

from kafka_assignors import validators as check
from kafka_assignors.errors import OptionError

NAN, INF = float("nan"), float("inf")


@pytest.mark.parametrize(
    ("call", "reason"),
    [
        (lambda: check.whole("o", 0, 1), "expected a whole number from 1, got 0"),
        (lambda: check.whole("o", 9, 1, 5), "expected a whole number from 1 to 5, got 9"),
        (lambda: check.whole("o", True, 0), "expected a whole number from 0, got True"),
        (lambda: check.whole("o", 1.0, 0), "expected a whole number from 0, got 1.0"),
        (lambda: check.number("o", -1), "expected a number from 0, got -1"),
        (lambda: check.number("o", "1"), "expected a number from 0, got '1'"),
        (lambda: check.number("o", False), "expected a number from 0, got False"),
        (lambda: check.number("o", NAN), "expected a number from 0, got nan"),
        (lambda: check.number("o", INF), "expected a number from 0, got inf"),
        (lambda: check.number("o", 10**309), f"expected a number from 0, got 1{'0' * 59}"),
        (lambda: check.number("o", 10**5000), "expected a number from 0, got an unprintable int"),
        (lambda: check.number("o", 2, 0, 1), "expected a number from 0 to 1, got 2"),
        (lambda: check.number("o", 1, below=1), "expected a number from 0 to below 1, got 1"),
        (lambda: check.positive("o", 0), "expected a number above 0, got 0"),
        (
            lambda: check.positive("o", None, "milliseconds"),
            "expected a number of milliseconds above 0, got None",
        ),
        (lambda: check.seconds("o", -0.5), "expected a number of seconds from 0, got -0.5"),
        (
            lambda: check.seconds("o", 9e4, 0, 86_400),
            "expected a number of seconds from 0 to 86,400, got 90000.0",
        ),
        (lambda: check.one_of("o", "c", ("a", "b")), "expected one of a, b, got 'c'"),
        (lambda: check.one_of("o", ["a"], ("a", "b")), "expected one of a, b, got ['a']"),
        (lambda: check.boolean("o", 1), "expected true or false, got 1"),
        (lambda: check.text("o", ""), "expected a non-empty text, got ''"),
        (lambda: check.text("o", 5), "expected a non-empty text, got 5"),
        (lambda: check.function("o", {"password": "p"}), "expected a function, got a dict"),
        (lambda: check.instance("o", ["p"], dict, "a mapping"), "expected a mapping, got a list"),
        (lambda: check.known_names(["o"], ("a", "b")), "unknown; choose one of a, b"),
        (lambda: check.required({"o": ""}, "a", "o"), "missing, a needs it"),
    ],
)
def test_wrong_value_is_refused_with_what_is_expected(call: Callable[[], Any], reason: str) -> None:
    with pytest.raises(OptionError) as refused:
        call()
    assert (refused.value.option, refused.value.reason) == ("o", reason)


def test_good_values_are_returned() -> None:
    assert check.whole("o", 2**70, 1) == 2**70
    assert check.number("o", 0) == 0
    assert check.number("o", 0.999, below=1) == 0.999
    assert check.positive("o", 1e-9) == 1e-9
    assert check.one_of("o", "a", {"a": 1}) == "a"
    assert check.boolean("o", False) is False
    assert check.text("o", "x") == "x"
    check.function("o", print)
    check.instance("o", {}, dict, "a mapping")
    check.known_names([], ())
    check.required({"o": "x"}, "a", "o")


async def _coroutine() -> None: ...


def _generator() -> Iterator[None]:
    yield


async def _async_generator() -> AsyncIterator[None]:
    yield


class _Callable:
    async def __call__(self) -> None: ...


@pytest.mark.parametrize("lazy", [_coroutine, _generator, _async_generator, _Callable()])
def test_function_whose_call_runs_none_of_it_is_refused(lazy: Callable[..., Any]) -> None:
    with pytest.raises(OptionError, match="with async or yield: a call runs none of it"):
        check.function("o", lazy)


def test_long_values_are_cut() -> None:
    with pytest.raises(OptionError) as refused:
        check.whole("o", "x" * 1000, 1)
    assert len(refused.value.reason) < 110


def test_error_of_a_part_names_the_part() -> None:
    error = check.error_of_part("feed", OptionError("topic", "unknown"))
    assert (error.option, error.reason) == ("feed", "topic: unknown")


@pytest.mark.parametrize(
    ("name", "valid"),
    [
        ("a.B_9-", True),
        ("x" * 249, True),
        ("...", True),
        ("", False),
        ("x" * 250, False),
        (".", False),
        ("..", False),
        ("a b", False),
        ("a\n", False),
        (5, False),
    ],
)
def test_topic_has_a_name_that_kafka_allows(name: object, valid: bool) -> None:
    assert check.is_topic(name) is valid


@pytest.mark.parametrize(
    ("port", "valid"), [("1", True), ("65535", True), ("0", False), ("65536", False), ("1" * 5000, False)]
)
def test_port_has_sixteen_bits(port: str, valid: bool) -> None:
    assert check.is_port(port) is valid
    assert not check.is_port(f"{port}²")

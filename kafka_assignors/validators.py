"""Checks of option values.

A check raises OptionError for a wrong value.  Only ``function``, ``instance``, ``known_names`` and
``required`` return nothing; the other checks return the value.

A number is an int or float, never a bool, NaN or infinite.  Ranges include their limits, unless these are
called ``above`` and ``below``.
"""

from __future__ import annotations

import inspect
import math
import re
import sys
from collections.abc import Collection, Mapping
from typing import Any, TypeVar

from kafka_assignors.errors import OptionError
from kafka_assignors.strict_json import LONGEST, json_or_text

T = TypeVar("T")

_LAZY = (inspect.iscoroutinefunction, inspect.isgeneratorfunction, inspect.isasyncgenfunction)
_TOPIC = re.compile(r"[a-zA-Z0-9._-]{1,249}")


def is_whole(value: object, least: float = -math.inf, most: float = math.inf) -> bool:
    """Whether a value is an int in a range."""
    return isinstance(value, int) and not isinstance(value, bool) and least <= value <= most


def is_number(value: object, least: float = -math.inf, most: float = math.inf) -> bool:
    """Whether a value is a finite number in a range."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return False
    return least <= value <= most and abs(value) <= sys.float_info.max  # an int may be larger


def is_topic(name: object) -> bool:
    """Whether a value is a name that Kafka allows for a topic."""
    return isinstance(name, str) and name not in {".", ".."} and _TOPIC.fullmatch(name) is not None


def is_port(text: str) -> bool:
    """Whether a text is the number of a TCP port."""
    return len(text) <= 5 and text.isascii() and text.isdecimal() and 0 < int(text) < 65536


def wrong(option: str, expected: str, value: object) -> OptionError:
    """Make an error that shows the invalid value."""
    try:
        shown = f"{value!r:.{LONGEST}}"
    except ValueError:  # an int of more than 4,300 digits
        shown = f"an unprintable {type(value).__name__}"
    return OptionError(option, f"expected {expected}, got {shown}")


def whole(option: str, value: Any, least: int, most: int | None = None) -> int:
    """Check a whole number."""
    if not is_whole(value, least, math.inf if most is None else most):
        raise wrong(option, f"a whole number from {least}" + ("" if most is None else f" to {most}"), value)
    return int(value)


def number(
    option: str,
    value: Any,
    least: float = 0,
    most: float = math.inf,
    *,
    above: float | None = None,
    below: float | None = None,
    unit: str = "",
) -> float:
    """Check a number; ``unit`` names what it counts."""
    lowest, highest = (-math.inf if above is None else above), (math.inf if below is None else below)
    if is_number(value, least, most) and lowest < value < highest:
        return value  # type: ignore[no-any-return]
    start = f"from {least:,}" if above is None else f"above {above:,}"
    end = f" to below {below:,}" if below is not None else "" if most == math.inf else f" to {most:,}"
    raise wrong(option, f"a number{unit and f' of {unit}'} {start}{end}", value)


def seconds(option: str, value: Any, least: float = 0, most: float = math.inf) -> float:
    """Check a number of seconds, by default from 0."""
    return number(option, value, least, most, unit="seconds")


def positive(option: str, value: Any, unit: str = "") -> float:
    """Check a number above 0."""
    return number(option, value, above=0, unit=unit)


def one_of(option: str, value: T, known: Collection[T]) -> T:
    """Check a choice."""
    if value not in tuple(known):  # a wrong value may be unhashable
        raise wrong(option, f"one of {', '.join(map(str, known))}", value)
    return value


def boolean(option: str, value: Any) -> bool:
    """Check True or False."""
    if not isinstance(value, bool):
        raise wrong(option, "true or false", value)
    return value


def text(option: str, value: Any) -> str:
    """Check a string that is not empty."""
    if not isinstance(value, str) or not value:
        raise wrong(option, "a non-empty text", value)
    return value


def function(option: str, value: Any) -> None:
    """Check a function that does its work when it is called.  The error shows the type only."""
    if not callable(value):
        raise OptionError(option, f"expected a function, got a {type(value).__name__}")
    if any(is_lazy(called) for is_lazy in _LAZY for called in (value, type(value).__call__)):
        raise OptionError(option, "expected a function, got one with async or yield: a call runs none of it")


def instance(option: str, value: Any, kind: type | tuple[type, ...], expected: str) -> None:
    """Check a type.  The error shows the type only, because a configuration may hold passwords."""
    if not isinstance(value, kind):
        raise OptionError(option, f"expected {expected}, got a {type(value).__name__}")


def from_text(value: Any) -> Any:
    """Read a text as a JSON number, ``true``, ``false`` or ``null``; return any other value as it is."""
    if not isinstance(value, str) or value != value.strip():
        return value
    read = json_or_text(value)
    return read if read is None or isinstance(read, (bool, int, float)) else value


def known_names(names: Collection[str], known: Collection[str]) -> None:
    """Refuse names of options that do not exist."""
    for name in names:
        if name not in known:
            raise OptionError(name, f"unknown; choose one of {', '.join(known)}")


def error_of_part(option: str, error: OptionError) -> OptionError:
    """Return the error of a field (``jitter``) as an error of its option (``rebalance_on_skew``)."""
    return OptionError(option, f"{error.option}: {error.reason}")


def required(settings: Mapping[str, Any], needed_by: str, *options: str) -> None:
    """Refuse settings in which one of ``options`` is missing or empty; ``needed_by`` requires them."""
    for option in options:
        if not settings.get(option):
            raise OptionError(option, f"missing, {needed_by} needs it")

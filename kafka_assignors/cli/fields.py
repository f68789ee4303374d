"""Checks fields of the JSON that ``plan`` reads.  Errors name a field by its path.  Pure."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator
from typing import Any, NoReturn

from kafka_assignors.errors import ProblemError

_INT32 = 2**31
INT64 = 2**63
_LONGEST = 60  # characters of a wrong value that an error shows


def load(data: bytes) -> object:
    """Parse JSON, strictly.

    Raises:
        ProblemError: the data is not JSON (with line and column), or an object repeats a name.
    """
    try:
        return json.loads(data, object_pairs_hook=_object, parse_constant=_no_constant)
    except json.JSONDecodeError as error:
        raise ProblemError(f"not JSON: line {error.lineno}, column {error.colno}: {error.msg}") from error
    except UnicodeDecodeError as error:
        raise ProblemError(f"byte {error.start}: not {error.encoding}") from error
    except RecursionError as error:
        raise ProblemError("nested too deeply") from error
    except ProblemError:
        raise
    except ValueError as error:  # Python's limit on the digits of a number
        raise ProblemError("a number with too many digits") from error


def fields(path: str, value: object, known: tuple[str, ...]) -> dict[str, object]:
    """Return an object; refuse unknown fields."""
    entry = object_at(path, value)
    for name in entry:
        if name not in known:
            raise ProblemError(f"{below(path, name)}: unknown, expected one of {', '.join(known)}")
    return entry


def entries(path: str, value: object) -> Iterator[tuple[str, str, object]]:
    """Yield path, key and value of each entry of an object keyed by topic."""
    for name, entry in object_at(path, value).items():
        yield below(path, text(path, name)), name, entry


def object_at(path: str, value: object) -> dict[str, object]:
    """Return an object."""
    return value if isinstance(value, dict) else wrong(path or "the file", "an object", value)


def array(path: str, value: object) -> list[object]:
    """Return an array."""
    return value if isinstance(value, list) else wrong(path, "an array", value)


def text(path: str, value: object) -> str:
    """Return a non-empty text that UTF-8 can encode."""
    if not isinstance(value, str) or not value:
        wrong(path, "a non-empty text", value)
    if any("\ud800" <= character <= "\udfff" for character in value):
        wrong(path, "a text that can be written as UTF-8", value)
    return value


def whole(path: str, value: object, least: int = -_INT32, most: int = _INT32 - 1) -> int:
    """Return a whole number between ``least`` and ``most``, by default of 32 bits."""
    if not isinstance(value, int) or isinstance(value, bool):
        wrong(path, "a whole number", value)
    if not least <= value <= most:
        wrong(path, f"a whole number from {least} to {most}", value)
    return value


def amount(path: str, value: object) -> float:
    """Return a number from 0 to below 2^63."""
    if not isinstance(value, (int, float)) or isinstance(value, bool):
        wrong(path, "a number", value)
    if not 0 <= value < INT64 or not math.isfinite(value):
        wrong(path, "a number from 0 to below 2^63", value)
    return float(value)


def optional(check: Callable[[str, object], Any], path: str, value: object) -> Any:
    """Return None for null, else the checked value."""
    return None if value is None else check(path, value)


def wrong(path: str, expected: str, value: object) -> NoReturn:
    """Raise a ProblemError that names the expected and the actual value."""
    raise ProblemError(f"{path}: expected {expected}, got {shown_value(value)}")


def shown_value(value: object) -> str:
    """Return a value as JSON, cut to the length an error shows."""
    text = json.dumps(value)
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"


def below(path: str, name: str) -> str:
    """Return the path of an entry.  Names that are not one word are quoted."""
    shown = name if name.replace("_", "a").replace("-", "a").isalnum() else json.dumps(name)
    return f"{path}.{shown}" if path else shown


def _object(pairs: list[tuple[str, object]]) -> dict[str, object]:
    """Build a JSON object.  Python would silently keep the last of two equal names."""
    entries: dict[str, object] = {}
    for name, value in pairs:
        if name in entries:
            raise ProblemError(f"the name {shown_value(name)} appears twice in one object")
        entries[name] = value
    return entries


def _no_constant(name: str) -> NoReturn:
    raise ProblemError(f"{name} is not a JSON number")

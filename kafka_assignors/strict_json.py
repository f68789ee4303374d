"""Parses JSON that others wrote.  Every fault is a ``ValueError`` with a message of one line."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any, NoReturn

LONGEST = 60
"""Maximum number of characters of a wrong value that an error shows."""


def read_json(data: bytes | str, *, unique_names: bool = False) -> Any:
    """Parse JSON; refuse the words NaN and Infinity.

    Args:
        data: a text; or bytes in UTF-8, UTF-16 or UTF-32, with or without a byte order mark.
        unique_names: refuse an object that repeats a name.  Python would keep the last of the values.

    Raises:
        ValueError: not JSON, another encoding, nested too deeply, too many digits, or a repeated name.
    """
    try:
        return json.loads(
            data, object_pairs_hook=_object if unique_names else None, parse_constant=_refuse_constant
        )
    except json.JSONDecodeError as error:
        raise ValueError(f"not JSON: line {error.lineno}, column {error.colno}: {error.msg}") from error
    except UnicodeDecodeError as error:
        raise ValueError(f"byte {error.start}: not {error.encoding}") from error
    except RecursionError as error:
        raise ValueError("nested too deeply") from error
    except _JSONError:
        raise
    except ValueError as error:  # Python's limit on the digits of a number
        raise ValueError("a number with too many digits") from error


def json_or_text(value: str) -> Any:
    """Parse JSON; return a value that is not JSON as it is."""
    try:
        return read_json(value)
    except ValueError:
        return value


def shown_json(value: object) -> str:
    """Return a value as JSON, cut to the length that an error shows."""
    try:
        text = json.dumps(value)
    except RecursionError:
        text = "a deeply nested value"
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}…"


class _JSONError(ValueError):
    """A fault found by one of our two hooks in ``json.loads``."""


def _object(pairs: list[tuple[str, object]]) -> dict[str, object]:
    entries = dict(pairs)
    if len(entries) != len(pairs):
        repeated, _ = Counter(name for name, _ in pairs).most_common(1)[0]
        raise _JSONError(f"the name {shown_json(repeated)} appears twice in one object")
    return entries


def _refuse_constant(name: str) -> NoReturn:
    raise _JSONError(f"{name} is not a JSON number")

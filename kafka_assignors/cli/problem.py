"""The JSON that ``plan`` reads, version 1: parsed, checked to the last field, made into values.

Pure: text in, values out.  What is wrong is named by its path, ``members[2].owned[0][1]``.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NoReturn

from kafka_assignors.errors import ProblemError
from kafka_assignors.plan import NO_GENERATION, UNKNOWN_LAG, Group, Member, TopicPartition

__all__ = ["VERSION", "Problem", "parse", "read"]

VERSION = 1

MOST_PARTITIONS = 1_000_000
"""In all topics together: ten times what the largest clusters hold, and what a plan has the memory for."""

_INT32 = 2**31
_INT64 = 2**63
_LONGEST = 60  # characters of a wrong value that are shown


@dataclass(frozen=True, slots=True)
class Problem:
    """What there is to plan.

    Attributes:
        group: members, what they own, topics, and what is left to read of them.
        strategy: the name of one; None leaves the choice to the caller.
        options: of the strategy.
        expected: records that will arrive, of what is known; None: nothing was said.
    """

    group: Group
    strategy: str | None = None
    options: Mapping[str, Any] = field(default_factory=dict)
    expected: Mapping[TopicPartition, float] | None = None


def read(data: bytes) -> Problem:
    """Read a file's content.

    Raises:
        ProblemError: it is not JSON (with line and column), or not the JSON we know (with the field).
    """
    try:
        return parse(json.loads(data, object_pairs_hook=_object, parse_constant=_no_constant))
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


def parse(value: object) -> Problem:
    """Make parsed JSON into a problem; what is missing has its default.

    Raises:
        ProblemError: an unknown field, a wrong type or value, a version we do not know; it names the field.
    """
    known = ("version", "strategy", "options", "topics", "members", "racks", "lags", "expected")
    top = _fields("", value, known)
    if (version := _whole("version", top.get("version", VERSION))) != VERSION:
        raise ProblemError(f"version: know only {VERSION}, got {version}")
    topics = {name: _whole(at, count, 0) for at, name, count in _entries("topics", top.get("topics", {}))}
    if (total := sum(topics.values())) > MOST_PARTITIONS:
        raise ProblemError(f"topics: {total} partitions in all, more than {MOST_PARTITIONS}")
    members = []
    seen: dict[str, int] = {}
    static: dict[str, int] = {}
    for i, entry in enumerate(_array("members", top.get("members", []))):
        member = _member(f"members[{i}]", entry, frozenset(topics))
        first = seen.setdefault(member.member_id, i)
        if first != i:
            raise ProblemError(f"members[{i}].id: {_show(member.member_id)} is members[{first}], too")
        if member.instance_id is not None and (first := static.setdefault(member.instance_id, i)) != i:
            raise ProblemError(
                f"members[{i}].instance_id: {_show(member.instance_id)} is members[{first}]'s, too"
            )
        members.append(member)
    racks = {
        name: _racks(at, racks, name, topics) for at, name, racks in _entries("racks", top.get("racks", {}))
    }
    lags = {name: _lags(at, lags, name, topics) for at, name, lags in _entries("lags", top.get("lags", {}))}
    return Problem(
        group=Group(tuple(members), topics, racks, lags),
        strategy=_optional(_text, "strategy", top.get("strategy")),
        options=dict(_object_at("options", top.get("options", {}))),
        expected=_expected(top["expected"], topics) if "expected" in top else None,
    )


def _member(path: str, value: object, everything: frozenset[str]) -> Member:
    known = ("id", "instance_id", "rack", "topics", "owned", "generation", "priority")
    entry = _fields(path, value, known)
    if "id" not in entry:
        raise ProblemError(f"{path}.id: missing")
    topics = everything
    if "topics" in entry:
        topics = frozenset(
            _text(f"{path}.topics[{i}]", name)
            for i, name in enumerate(_array(f"{path}.topics", entry["topics"]))
        )
    generation = entry.get("generation")
    return Member(
        member_id=_text(f"{path}.id", entry["id"]),
        topics=topics,
        owned=_owned(f"{path}.owned", entry.get("owned", [])),
        generation=_whole(
            f"{path}.generation", NO_GENERATION if generation is None else generation, NO_GENERATION
        ),
        instance_id=_optional(_text, f"{path}.instance_id", entry.get("instance_id")),
        rack=_optional(_text, f"{path}.rack", entry.get("rack")),
        priority=_optional(_whole, f"{path}.priority", entry.get("priority")),
    )


def _owned(path: str, value: object) -> dict[str, list[int]]:
    """What a member claims; it need not exist, as with a live member, whose claims are not trusted either."""
    owned: dict[str, list[int]] = {}
    for i, entry in enumerate(_array(path, value)):
        pair = _array(f"{path}[{i}]", entry)
        if len(pair) != 2:
            _wrong(f"{path}[{i}]", "a topic and a partition", entry)
        partition = _whole(f"{path}[{i}][1]", pair[1])
        owned.setdefault(_text(f"{path}[{i}][0]", pair[0]), []).append(partition)
    return owned


def _racks(path: str, value: object, topic: str, topics: Mapping[str, int]) -> tuple[frozenset[str], ...]:
    if topic not in topics:
        raise ProblemError(f"{path}: there is no such topic in topics")
    racks = _array(path, value)
    if len(racks) > topics[topic]:
        raise ProblemError(f"{path}: racks of {len(racks)} partitions, and there are {topics[topic]}")
    return tuple(
        frozenset(_text(f"{path}[{i}][{j}]", rack) for j, rack in enumerate(_array(f"{path}[{i}]", replicas)))
        for i, replicas in enumerate(racks)
    )


def _lags(path: str, value: object, topic: str, topics: Mapping[str, int]) -> tuple[int, ...]:
    if topic not in topics:
        raise ProblemError(f"{path}: there is no such topic in topics")
    lags = _array(path, value)
    if len(lags) > topics[topic]:
        raise ProblemError(f"{path}: {len(lags)} lags for {topics[topic]} partitions")
    return tuple(
        UNKNOWN_LAG if lag is None else _whole(f"{path}[{i}]", lag, 0, _INT64 - 1)
        for i, lag in enumerate(lags)
    )


def _expected(value: object, topics: Mapping[str, int]) -> dict[TopicPartition, float]:
    found: dict[TopicPartition, float] = {}
    for path, topic, told in _entries("expected", value):
        if topic not in topics:
            raise ProblemError(f"{path}: there is no such topic in topics")
        records = _array(path, told)
        if len(records) > topics[topic]:
            raise ProblemError(f"{path}: {len(records)} numbers for {topics[topic]} partitions")
        for i, one in enumerate(records):
            if one is not None:
                found[TopicPartition(topic, i)] = _amount(f"{path}[{i}]", one)
    return found


# --- one field ---------------------------------------------------------------------------------------------


def _fields(path: str, value: object, known: tuple[str, ...]) -> dict[str, object]:
    found = _object_at(path, value)
    for name in found:
        if name not in known:
            raise ProblemError(f"{_below(path, name)}: unknown, there is {', '.join(known)}")
    return found


def _entries(path: str, value: object) -> Iterator[tuple[str, str, object]]:
    """The entries of an object whose keys are topics: path, key, value."""
    for name, entry in _object_at(path, value).items():
        yield _below(path, _text(path, name)), name, entry


def _object_at(path: str, value: object) -> dict[str, object]:
    return value if isinstance(value, dict) else _wrong(path or "the file", "an object", value)


def _array(path: str, value: object) -> list[object]:
    return value if isinstance(value, list) else _wrong(path, "an array", value)


def _text(path: str, value: object) -> str:
    if not isinstance(value, str) or not value:
        _wrong(path, "a non-empty text", value)
    if any("\ud800" <= character <= "\udfff" for character in value):
        _wrong(path, "a text that can be written as UTF-8", value)
    return value


def _whole(path: str, value: object, least: int = -_INT32, most: int = _INT32 - 1) -> int:
    if not isinstance(value, int) or isinstance(value, bool):
        _wrong(path, "a whole number", value)
    if not least <= value <= most:
        _wrong(path, f"a whole number from {least} to {most}", value)
    return value


def _amount(path: str, value: object) -> float:
    if not isinstance(value, (int, float)) or isinstance(value, bool):
        _wrong(path, "a number", value)
    if not 0 <= value < _INT64 or not math.isfinite(value):
        _wrong(path, "a number from 0 to below 2^63", value)
    return float(value)


def _optional(check: Callable[[str, object], Any], path: str, value: object) -> Any:
    return None if value is None else check(path, value)


def _wrong(path: str, expected: str, value: object) -> NoReturn:
    raise ProblemError(f"{path}: expected {expected}, got {_show(value)}")


def _show(value: object) -> str:
    text = json.dumps(value)
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"


def _below(path: str, name: str) -> str:
    """The path of an entry; a name that would not read as one word is quoted."""
    shown = name if name.replace("_", "a").replace("-", "a").isalnum() else json.dumps(name)
    return f"{path}.{shown}" if path else shown


def _object(pairs: list[tuple[str, object]]) -> dict[str, object]:
    """A JSON object; Python would silently take the last of two equal names."""
    found: dict[str, object] = {}
    for name, value in pairs:
        if name in found:
            raise ProblemError(f"the name {_show(name)} is there twice in one object")
        found[name] = value
    return found


def _no_constant(name: str) -> NoReturn:
    raise ProblemError(f"{name} is no JSON number")

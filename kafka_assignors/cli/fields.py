"""Checks the JSON that ``plan`` reads, with msgspec.  Errors name a field by its path.  Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, TypeVar

import msgspec
from msgspec import Meta

from kafka_assignors.errors import ProblemError
from kafka_assignors.plan.capacity import LEAST, MOST
from kafka_assignors.strict_json import read_json, shown_json

StructT = TypeVar("StructT", bound=msgspec.Struct)

_TEXT = r"\A[^\ud800-\udfff]+\Z"
_TASK = r"\A[^\ud800-\udfff]+_(0|[1-9][0-9]{0,9})\Z"

Text = Annotated[str, Meta(pattern=_TEXT)]
TaskName = Annotated[str, Meta(pattern=_TASK)]
Int32 = Annotated[int, Meta(ge=-(2**31), le=2**31 - 1)]
Count = Annotated[int, Meta(ge=0, le=2**31 - 1)]
Generation = Annotated[int, Meta(ge=-1, le=2**31 - 1)]
Int64 = Annotated[int, Meta(ge=-(2**63), le=2**63 - 1)]
Records = Annotated[int, Meta(ge=0, le=2**63 - 1)]
Capacity = Annotated[float, Meta(ge=LEAST, le=MOST)]
Amount = Annotated[float, Meta(ge=0, lt=2**63)]

_WORDS = {
    "int": "a whole number",
    "float": "a number",
    "str": "a non-empty text",
    "bool": "true or false",
    "object": "an object",
    "array": "an array",
}
_PATTERNS = {_TEXT: "a non-empty text that UTF-8 can encode", _TASK: "a task, SUBTOPOLOGY_PARTITION"}


def parsed_json(data: bytes) -> object:
    """Parse JSON without msgspec, whose parser accepts repeated names and keeps the last one.

    Raises:
        ProblemError: the data is not JSON (a syntax error has line and column), or an object repeats a name.
    """
    try:
        return read_json(data, unique_names=True)
    except ValueError as error:
        raise ProblemError(str(error)) from error


def checked(path: str, value: object, kind: Any) -> Any:
    """Convert parsed JSON to a type; raise a ProblemError if it does not fit.

    The type must not have dicts with typed values, because msgspec's errors lack the paths of such values.
    """
    try:
        return msgspec.convert(value, kind)
    except (msgspec.ValidationError, UnicodeEncodeError) as error:  # UnicodeEncodeError: a lone surrogate
        raise ProblemError(_explained(str(error), path, value, kind)) from error


def each(path: str, values: Sequence[object], kind: type[StructT], *, unique: Sequence[str]) -> list[StructT]:
    """Convert each object of an array.  In a ``unique`` field, refuse a repeated value other than null."""
    entries: list[StructT] = [checked(f"{path}[{i}]", value, kind) for i, value in enumerate(values)]
    for field in unique:
        seen: dict[object, int] = {}
        for i, entry in enumerate(entries):
            value = getattr(entry, field)
            if value is not None and (first := seen.setdefault(value, i)) != i:
                shown = shown_json(value)
                raise ProblemError(f"{path}[{i}].{field}: {shown} repeats {path}[{first}].{field}")
    return entries


def keyed(path: str, entries: Mapping[str, object], kind: Any, key: Any = Text) -> dict[str, Any]:
    """Convert an object whose names are topics or tasks: names to the type ``key``, values to ``kind``."""
    return {
        checked(path if not name else below(path, name), name, key): checked(below(path, name), value, kind)
        for name, value in entries.items()
    }


def below(path: str, name: str) -> str:
    """Return the path of an entry; a name that is not one word is quoted."""
    shown = name if name.replace("_", "a").replace("-", "a").isalnum() else json.dumps(name)
    return f"{path}.{shown}" if path else shown


def _explained(message: str, path: str, value: object, kind: Any) -> str:
    """Rewrite an error of msgspec (Expected `int`, got `str` - at `$.owned[0][1]`) with path and value."""
    known: tuple[str, ...] = getattr(kind, "__struct_fields__", ())
    if known and isinstance(value, dict) and (unknown := [name for name in value if name not in known]):
        return f"{below(path, unknown[0])}: unknown, expected one of {', '.join(known)}"
    reason, _, subpath = message.partition(" - at `$")
    subpath = subpath.rstrip("`")
    if missing := re.fullmatch("Object missing required field `(.+)`", reason):
        return f"{below(path + subpath, missing[1])}: missing"
    wrong: Any = value
    for field, index in re.findall(r"\.(\w+)|\[(\d+)\]", subpath):
        wrong = wrong[field or int(index)]
    where = f"{path}{subpath}".removeprefix(".") or "the file"
    return f"{where}: {_reason(reason)}, got {shown_json(wrong)}"


def _reason(reason: str) -> str:
    """Return the expected value in words."""
    for pattern, words in _PATTERNS.items():
        if repr(pattern) in reason:
            return f"expected {words}"
    expected = reason.partition(", got ")[0]
    words = re.sub(
        r"`(.+)`", lambda types: " or ".join(_WORDS.get(t, t) for t in types[1].split(" | ")), expected
    )
    return words[:1].lower() + words[1:]

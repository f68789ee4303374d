"""Finds the line of a broker's log that explains why it did not start."""

from __future__ import annotations

import re
from pathlib import Path

_PORT_TAKEN = "[Aa]ddress already in use|port is already allocated"  # Java's message, and Docker's
_TAIL_BYTES = 256 * 1024  # part of the log that is searched
_LONGEST = 300  # characters of a line

# Causes a person can act on come before the exceptions that wrap them.
_PATTERNS = tuple(
    re.compile(pattern, re.MULTILINE)
    for pattern in (
        r"^.*(?:No space left on device|Disk quota exceeded|File too large|Read-only file system).*$",
        rf"^.*(?:{_PORT_TAKEN}).*$",
        r"^.*Failed to acquire lock on file.*$",
        r"^.*(?:Permission denied|AccessDeniedException).*$",
        r"^.*ConfigException: .*$",
        r"^.*(?:OutOfMemoryError|insufficient memory|Could not reserve enough space).*$",
        r"^(?:Error: |Unrecognized |Invalid ).*$",
        r"^.*(?:Cannot connect to the Docker daemon|Error response from daemon|pull access denied).*$",
        r"^Caused by: .*$",
        r"^(?:Exception in thread .*)?(?:[a-z]\w*\.)+[A-Z]\w*(?:Exception|Error): .*$",
        r"^.*(?:FATAL|ERROR).*$",
        r"^.*Exception.*$",
    )
)
_DECORATION = re.compile(
    r"^(?:\[[^]]*\] )?(?:(?:FATAL|ERROR|WARN|INFO) )?(?:Caused by: |Exception in thread \S+ )*"
)
_CLASS = re.compile(r"^(?:[a-z][\w$]*\.)+([A-Z][\w$]*): ")


def error_line(log: str | Path, begin: int = 0) -> str:
    """Return the line of ``log`` that best explains a failure, without time stamps and package names.

    Earlier runs wrote the bytes before ``begin``, which are not searched.
    """
    try:
        with Path(log).open("rb") as stream:
            stream.seek(0, 2)
            stream.seek(max(stream.tell() - _TAIL_BYTES, begin))
            text = stream.read().decode("utf-8", "replace")
    except OSError as error:
        return f"its log cannot be read ({error.strerror})"
    for pattern in _PATTERNS:
        if match := pattern.search(text):
            return _plain(match.group())
    lines = [line for line in text.splitlines() if line.strip()]
    return _plain(lines[-1]) if lines else "its log is empty"


def is_port_taken(line: str) -> bool:
    """Whether a line from :func:`error_line` means that another process listens on the port."""
    return re.search(_PORT_TAKEN, line) is not None


def _plain(line: str) -> str:
    line = _CLASS.sub(r"\1: ", _DECORATION.sub("", line.strip()))
    return line if len(line) <= _LONGEST else f"{line[: _LONGEST - 1]}…"

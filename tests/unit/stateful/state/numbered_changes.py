"""Changes of a store, by the number of their commit."""

from __future__ import annotations

from kafka_assignors.stateful import StoreOptions

MIB = 1024 * 1024
SMALL = StoreOptions(block_cache_bytes=MIB, write_buffer_bytes=MIB)


def changes(number: int) -> list[tuple[bytes, bytes | None]]:
    """The changes of commit ``number``: new keys, changed ones, and a deleted one."""
    value = f"{number:08}".encode() * 100
    return [
        (f"new-{number:08}".encode(), value),
        (f"again-{number % 100}".encode(), value),
        (f"new-{number - 50:08}".encode(), None),
    ]


def contents(number: int) -> dict[bytes, bytes]:
    """The content of a store after commits up to ``number``."""
    content: dict[bytes, bytes] = {}
    for each in range(1, number + 1):
        for key, value in changes(each):
            content.pop(key, None) if value is None else content.update({key: value})
    return content

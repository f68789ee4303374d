"""Good, bad and damaged records of ``__consumer_offsets``, with the expected results."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence

from tests.support.offsets import oracle
from tests.support.offsets.records import NOW_MS, commit_key, commit_value, text, varint

UUID = bytes(range(16))
KEY = commit_key("billing", "orders", 7)
VALUE = commit_value(42)
Record = tuple[bytes | None, bytes | None]

GOOD: dict[str, tuple[Record, tuple[int, int | None]]] = {
    **{
        f"version {version}": ((KEY, commit_value(42, version=version, metadata="m")), (42, NOW_MS))
        for version in range(5)
    },
    "the legacy type of key": ((commit_key("g", "t", 0, kind=0), commit_value(1, version=0)), (1, NOW_MS)),
    "offset 0": ((KEY, commit_value(0)), (0, NOW_MS)),
    "the largest offset": ((KEY, commit_value(2**63 - 1)), (2**63 - 1, NOW_MS)),
    "offset -1, a commit of nothing": ((KEY, commit_value(-1)), (-1, NOW_MS)),
    "the largest partition": ((commit_key("g", "t", 2**31 - 1), VALUE), (42, NOW_MS)),
    "long metadata, two bytes of length": ((KEY, commit_value(5, metadata="x" * 4096)), (5, NOW_MS)),
    "the longest metadata": ((KEY, commit_value(5, metadata="x" * 0x7FFF)), (5, NOW_MS)),
    "metadata that is not ASCII": ((KEY, commit_value(5, metadata="größe")), (5, NOW_MS)),
    "names that are not ASCII": ((commit_key("gruppe-ü", "topic-🙂", 1), VALUE), (42, NOW_MS)),
    "a topic's id": ((KEY, commit_value(5, tags=((0, UUID),))), (5, NOW_MS)),
    "tags of the future": (
        (KEY, commit_value(5, tags=((0, UUID), (1, b""), (300, b"y" * 200)))),
        (5, NOW_MS),
    ),
    "a tombstone": ((KEY, None), (-1, None)),
    "1970": ((KEY, commit_value(5, commit_ms=0)), (5, 0)),
    "the end of 9999": ((KEY, commit_value(5, commit_ms=oracle.LATEST_MS)), (5, oracle.LATEST_MS)),
}

BAD: dict[str, tuple[Record, str]] = {
    "null key": ((None, VALUE), "no-key"),
    "empty key": ((b"", VALUE), "key-cut"),
    "one byte": ((b"\0", VALUE), "key-cut"),
    "type 24": ((b"\0\x18" + KEY[2:], VALUE), "unknown-type"),
    "type 9, which was never given out": ((b"\0\x09", None), "unknown-type"),
    "type -1": ((b"\xff\xff" + KEY[2:], VALUE), "unknown-type"),
    "nothing but a type": ((KEY[:2], VALUE), "key-cut"),
    "a group that goes beyond the end": ((b"\0\1" + b"\x7f\xff" + KEY[4:], VALUE), "key-cut"),
    "a group of negative length": ((b"\0\1" + b"\xff\xff" + KEY[4:], VALUE), "key-length"),
    "a topic of negative length": ((b"\0\1" + text("g") + b"\x80\0" + KEY[-4:], VALUE), "key-length"),
    "a key without its last byte": ((KEY[:-1], VALUE), "key-cut"),
    "a key with one byte more": ((KEY + b"\0", VALUE), "key-trailing"),
    "no group": ((commit_key("", "t", 0), VALUE), "key-name"),
    "no topic": ((commit_key("g", "", 0), VALUE), "key-name"),
    "a group of other bytes": ((b"\0\1\0\1\xff" + text("t") + b"\0\0\0\0", VALUE), "key-text"),
    "half a surrogate": ((b"\0\1\0\3\xed\xa0\x80" + text("t") + b"\0\0\0\0", VALUE), "key-text"),
    "a letter in too many bytes": ((b"\0\1\0\2\xc0\x80" + text("t") + b"\0\0\0\0", VALUE), "key-text"),
    "a negative partition": ((commit_key("g", "t", -1), VALUE), "key-partition"),
    "a tombstone with a damaged key": ((KEY[:-1], None), "key-cut"),
    "empty value": ((KEY, b""), "value-cut"),
    "version 5": ((KEY, b"\0\5" + VALUE[2:]), "unknown-version"),
    "version -1": ((KEY, b"\xff\xff" + VALUE[2:]), "unknown-version"),
    "a value without its last byte": ((KEY, commit_value(1, version=3)[:-1]), "value-cut"),
    "version 1 without its expiry": ((KEY, commit_value(1, version=1)[:-1]), "value-cut"),
    "version 4 without its count of tags": ((KEY, VALUE[:-1]), "value-tags"),
    "metadata beyond the end": ((KEY, VALUE[:14] + varint(50) + VALUE[15:]), "value-cut"),
    "metadata that is null": ((KEY, VALUE[:14] + varint(0) + VALUE[15:]), "value-length"),
    "metadata of negative length": (
        (KEY, commit_value(1, version=2)[:10] + b"\xff\xff" + commit_value(1, version=2)[12:]),
        "value-length",
    ),
    "metadata too long for a string": ((KEY, commit_value(1, metadata="x" * 0x8000)), "value-length"),
    "a length without end": ((KEY, VALUE[:14] + b"\xff" * 5 + VALUE[15:]), "value-length"),
    "metadata of other bytes": ((KEY, commit_value(1, metadata="x").replace(b"x", b"\xff")), "value-text"),
    "offset -2": ((KEY, commit_value(-2)), "value-offset"),
    "before 1970": ((KEY, commit_value(1, commit_ms=-1)), "value-time"),
    "the year 10000": ((KEY, commit_value(1, commit_ms=oracle.LATEST_MS + 1)), "value-time"),
    "a time that would overflow": ((KEY, commit_value(1, commit_ms=2**63 - 1)), "value-time"),
    "a topic's id of 15 bytes": ((KEY, commit_value(1, tags=((0, UUID[1:]),))), "value-tags"),
    "a tag that goes beyond the end": ((KEY, commit_value(1, tags=((1, b"xyz"),))[:-1]), "value-tags"),
    "two million tags": ((KEY, VALUE[:-1] + b"\xff\xff\x7f"), "value-tags"),
    "one byte more": ((KEY, VALUE + b"\0"), "value-trailing"),
    "one byte more, old version": ((KEY, commit_value(1, version=2) + b"\0"), "value-trailing"),
}


def damaged(source: random.Random, good: Sequence[Record]) -> Iterator[Record]:
    """Each record cut, flipped, grown and spliced at random."""
    for key, value in good:
        for _ in range(150):
            pair = [bytearray(key or b""), bytearray(value or b"")]
            for _ in range(source.choice((1, 1, 1, 2, 5))):
                data = source.choice(pair)
                at = source.randrange(len(data) + 1)
                match source.randrange(4):
                    case 0:
                        del data[at:]
                    case 1 if at < len(data):
                        data[at] ^= 1 << source.randrange(8)
                    case 2:
                        data[at:at] = source.randbytes(source.choice((1, 2, 8)))
                    case _ if at < len(data):
                        data[at] = source.choice((0, 0x7F, 0x80, 0xFF))
            yield bytes(pair[0]), None if value is None else bytes(pair[1])

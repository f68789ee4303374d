"""The decoder of ``__consumer_offsets`` gives what the oracle gives, row for row, whatever the arrays are."""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Sequence
from datetime import datetime, timezone
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kafka_assignors.pipeline.record.offsets_decoder import KINDS, PROBLEMS, Groups, decode_batch
from kafka_assignors.pipeline.record.offsets_report import OffsetsReport
from tests.support.offsets import oracle
from tests.support.offsets.cases import BAD, GOOD, KEY, UUID, VALUE, Record, damaged
from tests.support.offsets.records import NOW_MS, commit_key, commit_value, text, varint
from tests.support.searching import times

SEEN_US = 1_795_000_000_000_000
NO_GROUPS = Groups(frozenset())
SMALL, LARGE = pa.binary(), pa.large_binary()
RECORDS = [record for record, _ in (*GOOD.values(), *BAD.values())]


def batch(rows: Sequence[Record], kind: Any = SMALL, before: int = 0) -> Any:
    """Records as Spark hands them over, at offsets 0, 1, ... of partition 3; a slice if some are before."""
    some = [(KEY, b"x" * n) if n % 2 else (None, None) for n in range(before)]
    rows = [*some, *rows, *some]
    whole = pa.RecordBatch.from_pydict(
        {
            "key": pa.array([key for key, _ in rows], kind),
            "value": pa.array([value for _, value in rows], kind),
            "partition": pa.array([3] * len(rows), pa.int32()),
            "offset": pa.array([n - before for n in range(len(rows))], pa.int64()),
            "timestamp": pa.array([SEEN_US] * len(rows), pa.timestamp("us", "UTC")),
        }
    )
    return whole.slice(before, len(rows) - 2 * before)


def decoded(rows: Sequence[Record], kind: Any = SMALL, before: int = 0) -> list[dict[str, Any]]:
    decoded_batch = decode_batch(batch(rows, kind, before), NO_GROUPS)
    decoded_batch.validate(full=True)
    decoded: list[dict[str, Any]] = decoded_batch.set_column(
        2, "time", decoded_batch.column("time").cast(pa.int64())
    ).to_pylist()
    assert [row["record_offset"] for row in decoded] == list(range(len(rows)))
    assert {row["record_partition"] for row in decoded} <= {3}
    return decoded


def expected(key: bytes | None, value: bytes | None) -> oracle.Commit | str | None:
    """What the oracle says; None: that it cannot be told."""
    try:
        return oracle.decode(key, value)
    except oracle.CorruptError:
        return None


def agree(rows: Sequence[Record], kind: Any = SMALL, before: int = 0) -> int:
    """Compare with the oracle; how many were commits."""
    commits = 0
    for (key, value), row in zip(rows, decoded(rows, kind, before), strict=True):
        wanted = expected(key, value)
        facts = tuple(row[name] for name in ("group", "topic", "partition", "committed_offset", "time"))
        if isinstance(wanted, oracle.Commit):
            commits += 1
            time = SEEN_US if wanted.commit_ms is None else wanted.commit_ms * 1000
            assert (row["problem"], row["kind"]) == (None, "tombstone" if value is None else "commit")
            assert facts == (wanted.group, wanted.topic, wanted.partition, wanted.offset, time), (key, value)
        else:
            assert facts == (None,) * 5, (key, value)
            if wanted is None:
                assert row["problem"] in PROBLEMS, (key, value)
            else:
                assert (row["kind"], row["problem"]) == (wanted, None), (key, value)
    return commits


# --- what there is, good and bad ---


@pytest.mark.parametrize("kind", [SMALL, LARGE], ids=str)
@pytest.mark.parametrize("before", [0, 1, 7, 8, 9])
def test_every_good_and_bad_record_in_whole_arrays_and_in_slices(kind: Any, before: int) -> None:
    assert agree(RECORDS, kind, before) == len(GOOD)
    problems = [row["problem"] for row in decoded(RECORDS, kind, before)]
    assert problems == [None] * len(GOOD) + [problem for _, problem in BAD.values()]


@pytest.mark.parametrize("name", [*GOOD, *BAD])
def test_record_alone_is_decoded_as_among_others(name: str) -> None:
    """Arrays in which a row reaches to the end, or has nothing at all, are others than those of many rows."""
    (record, problem) = (GOOD[name][0], None) if name in GOOD else BAD[name]
    (row,) = decoded([record])
    assert row["problem"] == problem
    agree([record], LARGE)


def test_no_rows() -> None:
    for kind in (SMALL, LARGE):
        assert decoded([], kind) == decoded([], kind, before=3) == []


def test_bytes_of_a_null_are_not_read() -> None:
    """Arrow may leave bytes where a null is."""
    hidden = pa.array([KEY, VALUE, VALUE], SMALL)
    bits = pa.py_buffer(b"\x04")  # the last one alone is there
    value = pa.Array.from_buffers(SMALL, 3, [bits, *hidden.buffers()[1:]])
    whole = batch([(KEY, None)] * 3)
    decoded_batch = decode_batch(whole.set_column(1, "value", value), NO_GROUPS)
    assert decoded_batch.column("kind").to_pylist() == ["tombstone", "tombstone", "commit"]
    decoded_batch = decode_batch(whole.set_column(0, "key", value), NO_GROUPS)
    assert decoded_batch.column("problem").to_pylist()[:2] == ["no-key", "no-key"]


def test_records_of_other_kinds_are_distinguished() -> None:
    others: list[Record] = [
        (b"\0" + bytes([kind]) + b"whatever", value)
        for kind in oracle.OTHER
        for value in (b"x", b"\0\4" + b"\x7f" * 40, None)
    ]
    groups: list[Record] = [(b"\0\2" + text("g"), b"state"), (b"\0\2" + text("g"), None)]
    assert [row["kind"] for row in decoded(groups)] == ["group"] * 2
    assert {row["kind"] for row in decoded(others)} == {"other"}
    assert agree([*groups, *others]) == 0


def test_every_type_of_key() -> None:
    assert agree([(bytes([high, low]) + KEY[2:], VALUE) for high in range(256) for low in range(64)]) == 2


def test_each_column_has_its_type() -> None:
    for kind in (SMALL, LARGE):
        schema = decode_batch(batch(RECORDS, kind), NO_GROUPS).schema
        types = dict(zip(schema.names, map(str, schema.types), strict=True))
        assert types == {
            **dict.fromkeys(("kind", "problem", "group", "topic"), "string"),
            **dict.fromkeys(("time", "record_time"), "timestamp[us, tz=UTC]"),
            **dict.fromkeys(("partition", "record_partition"), "int32"),
            **dict.fromkeys(("committed_offset", "record_offset"), "int64"),
            "landed": "bool",
            "counted": "string",
        }


def test_number_of_tags_is_limited() -> None:
    """What a group's topic has is one; what has a thousand is nothing that Kafka wrote."""

    def tagged(count: int) -> Record:
        return KEY, commit_value(1, tags=tuple((1 + n, b"") for n in range(count)))

    found = [row["problem"] for row in decoded([tagged(n) for n in (0, 1, 2, 127, 128, 1000, 1001)])]
    assert found == [None] * 6 + ["value-tags"]


# --- damage ---


@pytest.mark.parametrize("kind", [SMALL, LARGE], ids=str)
def test_damaged_record_raises_no_error_and_changes_no_other_row(kind: Any) -> None:
    good = [record for record, _ in GOOD.values() if len(record[1] or b"") < 1000]
    rows = [row for seed in range(5) for row in damaged(random.Random(seed), good)]
    assert agree(rows, kind, before=5) > 500  # else it tests nothing but noise


BYTES = st.one_of(
    st.binary(max_size=40),
    st.builds(
        b"".join,
        st.lists(
            st.sampled_from([b"\0", b"\0\0", b"\0\1", b"\0\4", b"\xff", b"\x80", b"t", b"\x7f\xff"]),
            max_size=30,
        ),
    ),
)
TEXTS = st.text(max_size=6)
TAGS = st.lists(
    st.tuples(st.sampled_from([0, 1, 2, 200, 20_000]), st.sampled_from([b"", UUID, b"y" * 130])), max_size=4
)
WHOLE_KEYS = st.builds(commit_key, TEXTS, TEXTS, st.integers(-1, 2**31 - 1), st.sampled_from([0, 1]))
WHOLE_VALUES = st.builds(
    lambda version, offset, metadata, commit_ms, tags: commit_value(
        offset, version=version, metadata=metadata, commit_ms=commit_ms, tags=tuple(tags)
    ),
    st.integers(0, 4),
    st.integers(-3, 2**63 - 1),
    TEXTS,
    st.integers(-1, oracle.LATEST_MS + 1),
    TAGS,
)
KEYS = st.one_of(st.none(), WHOLE_KEYS, BYTES, BYTES.map(lambda data: KEY[:2] + data))
VALUES = st.one_of(
    st.none(),
    WHOLE_VALUES,
    BYTES,
    st.builds(lambda value, cut, more: value[:cut] + more, WHOLE_VALUES, st.integers(0, 40), BYTES),
)


@settings(max_examples=times(4))
@given(st.lists(st.tuples(KEYS, VALUES), max_size=8), st.sampled_from([SMALL, LARGE]), st.integers(0, 3))
def test_any_bytes_are_decoded_like_the_oracle(rows: list[Record], kind: Any, before: int) -> None:
    agree(rows, kind, before)


@settings(max_examples=times(3))
@given(st.lists(st.binary(min_size=1, max_size=12), min_size=1, max_size=6))
def test_texts_are_decoded_like_python(texts: list[bytes]) -> None:
    """As a group's name, and as metadata, beside others that are none."""
    names: list[Record] = [
        (b"\0\1\0" + bytes([len(name)]) + name + text("t") + b"\0\0\0\1", VALUE) for name in texts
    ]
    metadata: list[Record] = [(KEY, VALUE[:14] + varint(len(one) + 1) + one + VALUE[15:]) for one in texts]
    agree([*names, *metadata])


# --- whose ---


def test_groups_are_selected_by_name_and_by_pattern_of_the_whole_name() -> None:
    names = ["billing", "billing-2", "x-1", "x-12", "ax-1", "größe", "x-1\n"]
    rows: list[Record] = [(commit_key(name, "t", 0), VALUE) for name in names * 2]
    rows += [
        (commit_key("x-1", "t", 0), None),
        (commit_key("x-1", "t", -1), VALUE),
        (None, None),
        (b"\0\2", b""),
    ]

    def landed(groups: Groups) -> list[bool]:
        found: list[bool] = decode_batch(batch(rows), groups).column("landed").to_pylist()
        return found

    one = [True, False, True, False, False, True, False]
    assert (
        landed(Groups(frozenset(["billing", "größe"]), re.compile("x-[0-9]")))
        == [*one, *one, True] + [False] * 3
    )
    assert not any(landed(Groups(frozenset(["none"]))))
    assert sum(landed(Groups(frozenset(), re.compile(".*", re.DOTALL)))) == 15
    # Python's regular expressions, as in the sampler; Java's have no such groups.
    assert sum(landed(Groups(frozenset(), re.compile(r"(?P<x>x)-1(?P=x)?")))) == 3


def test_counts_have_the_position_of_the_first_record_with_each_problem() -> None:
    """Also what is counted in two batches, of which the second has the earlier records."""
    rows: list[Record] = [*RECORDS, (b"\0\2", b""), (b"\0\3", None)]
    one, other = batch(rows), batch([*rows[::-1], (commit_key("x", "t", 0), VALUE)])
    time = pa.array([SEEN_US - 1_000_000] * len(other), pa.timestamp("us", "UTC"))
    other = other.set_column(4, "timestamp", time)
    groups = Groups(frozenset(["billing"]))
    decoded = [decode_batch(given, groups).column("counted").to_pylist() for given in (one, batch([]), other)]
    assert [len(texts) for texts in decoded] == [len(one), 0, len(other)]
    texts_of_all = [text for texts in decoded for text in texts if text is not None]
    report = OffsetsReport().with_batch({"counted": texts_of_all})
    bad = Counter(problem for _, problem in BAD.values())
    assert report.records == len(one) + len(other)
    assert report.problems == {problem: 2 * count for problem, count in bad.items()}
    backwards = [problem for _, problem in reversed(BAD.values())]
    assert report.first == {problem: (3, 2 + backwards.index(problem)) for problem in bad}
    tombstones = sum(value is None for (_, value), _ in GOOD.values())
    commits = len(GOOD) - tombstones
    assert report.kinds == {"commit": 2 * commits + 1, "tombstone": 2 * tombstones, "group": 2, "other": 2}
    assert report.landed == 2 * sum(key == KEY for (key, _), _ in GOOD.values())
    assert report.since == datetime(1970, 1, 1, tzinfo=timezone.utc)
    assert report.until == datetime(9999, 12, 31, 23, 59, 59, 999_000, tzinfo=timezone.utc)
    assert report.with_batch({"counted": []}) == report
    more = report.with_batch({"counted": decoded[0][:1]})
    assert more.first == report.first, "the first record of a problem stays the first"
    assert more.records == report.records + len(one)


def test_only_the_first_record_with_a_problem_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    """Who runs for months, and is killed in the end, has heard of it."""
    report = OffsetsReport()
    decoded = decode_batch(batch(RECORDS), Groups(frozenset(["billing"]))).column("counted").to_pylist()
    for _ in range(2):
        report = report.with_batch({"counted": [text for text in decoded if text is not None]})
    lines = [record.getMessage() for record in caplog.records]
    assert len(lines) == len({problem for _, problem in BAD.values()})
    assert any(f": {PROBLEMS['unknown-version']}; further" in line for line in lines)


def test_each_problem_and_each_kind_is_tested() -> None:
    assert {problem for _, problem in BAD.values()} == PROBLEMS.keys()
    kinds = {row["kind"] for row in decoded([*RECORDS, (b"\0\2", b""), (b"\0\3", b"")])}
    assert kinds == {None, *KINDS}


def test_record_truncated_at_the_end_of_the_array() -> None:
    """Each value cut at each place, as the last one of its array."""
    for version in range(5):
        whole = commit_value(
            42, version=version, metadata="größe", tags=((0, UUID), (7, b"abc")), commit_ms=NOW_MS
        )
        for cut in range(len(whole) + 1):
            assert agree([(KEY, whole[:cut])]) == (cut == len(whole))
    for cut in range(len(KEY) + 1):
        assert agree([(KEY[:cut], VALUE)]) == (cut == len(KEY))

"""Counts of a decoded batch, as a text in its first row, so that Spark needs only one aggregate.  Pure.

An aggregate for each kind and problem would cost more than all other work, because Spark plans and compiles
them again for each batch of a stream.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable
from typing import Any, TypedDict

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc


class Counts(TypedDict):
    """Counts of records.

    Attributes:
        records: number of records.
        kinds: number of records without a problem, by kind.
        problems: number of records by problem.
        first: problem -> record time (microseconds since 1970), partition and offset of its first record.
        landed: number of commits and tombstones of the wanted groups.
        times: first and last time of these, microseconds since 1970; empty if there are none.
    """

    records: int
    kinds: dict[str, int]
    problems: dict[str, int]
    first: dict[str, list[int]]
    landed: int
    times: list[int]


def counted(decoded: Any) -> str:
    """Return the `Counts` of a batch of ``offsets_decoder``, with ``landed``, as JSON."""
    problem, landed = decoded.column("problem"), decoded.column("landed")
    times = pc.min_max(decoded.column("time").filter(landed).cast(pa.int64())).as_py()
    counts = Counts(
        records=len(decoded),
        kinds=_of_each(decoded.column("kind").filter(problem.is_null())),
        problems=_of_each(problem.drop_null()),
        first=_first(decoded.filter(problem.is_valid())),
        landed=landed.true_count,
        times=[time for time in (times["min"], times["max"]) if time is not None],
    )
    return json.dumps(counts)


def _of_each(names: Any) -> dict[str, int]:
    return {entry["values"]: entry["counts"] for entry in names.value_counts().to_pylist()}


def _first(bad: Any) -> dict[str, list[int]]:
    if not len(bad):
        return {}
    positions = [
        np.asarray(bad.column(name).cast(pa.int64()))
        for name in ("record_time", "record_partition", "record_offset")
    ]
    order = np.lexsort(positions[::-1])
    coded = bad.column("problem").dictionary_encode()
    codes, firsts = np.unique(np.asarray(coded.indices)[order], return_index=True)
    return {
        coded.dictionary[int(code)].as_py(): [int(column[order[n]]) for column in positions]
        for code, n in zip(codes, firsts, strict=True)
    }


def added_up(texts: Iterable[str]) -> Counts:
    """Sum the counts of several texts of `counted`."""
    total = Counts(records=0, kinds={}, problems={}, first={}, landed=0, times=[])
    for text in texts:
        counts: Counts = json.loads(text)
        total["records"] += counts["records"]
        total["kinds"] = dict(Counter(total["kinds"]) + Counter(counts["kinds"]))
        total["problems"] = dict(Counter(total["problems"]) + Counter(counts["problems"]))
        for problem, position in counts["first"].items():
            total["first"][problem] = min(position, total["first"].get(problem, position))
        total["landed"] += counts["landed"]
        times = [*total["times"], *counts["times"]]
        total["times"] = [min(times), max(times)] if times else []
    return total

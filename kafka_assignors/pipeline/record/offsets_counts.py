"""Pure: what was decoded of a batch, counted, as a text that travels with the batch's first row.

Counting here costs Spark one aggregate.  One for each kind and problem would cost it more than all the rest:
it plans and compiles them anew with each batch of a stream.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable
from typing import Any, TypedDict

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

__all__ = ["Counts", "added_up", "counted"]


class Counts(TypedDict):
    """Of some records.

    Attributes:
        records: all of them.
        kinds: of those without a problem, how many of each kind.
        problems: how many with each.
        first: record time (us since 1970), partition and offset of the first with each problem.
        landed: commits and tombstones of the groups asked for.
        times: of these the first and the last time, us since 1970; empty: there are none.
    """

    records: int
    kinds: dict[str, int]
    problems: dict[str, int]
    first: dict[str, list[int]]
    landed: int
    times: list[int]


def counted(found: Any) -> str:
    """``Counts`` of a batch as ``offsets_decoder`` makes it, with ``landed``; in JSON."""
    problem, landed = found.column("problem"), found.column("landed")
    times = pc.min_max(found.column("time").filter(landed).cast(pa.int64())).as_py()
    counts = Counts(
        records=len(found),
        kinds=_of_each(found.column("kind").filter(problem.is_null())),
        problems=_of_each(problem.drop_null()),
        first=_first(found.filter(problem.is_valid())),
        landed=landed.true_count,
        times=[time for time in (times["min"], times["max"]) if time is not None],
    )
    return json.dumps(counts)


def _of_each(names: Any) -> dict[str, int]:
    return {one["values"]: one["counts"] for one in names.value_counts().to_pylist()}


def _first(bad: Any) -> dict[str, list[int]]:
    if not len(bad):
        return {}
    places = [
        np.asarray(bad.column(name).cast(pa.int64()))
        for name in ("record_time", "record_partition", "record_offset")
    ]
    order = np.lexsort(places[::-1])
    coded = bad.column("problem").dictionary_encode()
    codes, at = np.unique(np.asarray(coded.indices)[order], return_index=True)
    return {
        coded.dictionary[int(code)].as_py(): [int(place[order[n]]) for place in places]
        for code, n in zip(codes, at, strict=True)
    }


def added_up(texts: Iterable[str]) -> Counts:
    """All that `counted` told."""
    total = Counts(records=0, kinds={}, problems={}, first={}, landed=0, times=[])
    for text in texts:
        one: Counts = json.loads(text)
        total["records"] += one["records"]
        total["kinds"] = dict(Counter(total["kinds"]) + Counter(one["kinds"]))
        total["problems"] = dict(Counter(total["problems"]) + Counter(one["problems"]))
        for problem, place in one["first"].items():
            total["first"][problem] = min(place, total["first"].get(problem, place))
        total["landed"] += one["landed"]
        times = [*total["times"], *one["times"]]
        total["times"] = [min(times), max(times)] if times else []
    return total

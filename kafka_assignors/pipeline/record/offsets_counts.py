"""Counts of a decoded batch, as a text in its first row, so that Spark needs only one aggregate.  Pure.

An aggregate for each kind and problem would cost more than all other work, because Spark plans and compiles
the aggregates again for each batch of a stream.
"""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc


def counted(decoded: Any) -> str:
    """Return the counts of a batch of ``offsets_decoder``, as JSON for ``OffsetsTally.add``."""
    problem, landed = decoded.column("problem"), decoded.column("landed")
    times = pc.min_max(decoded.column("time").filter(landed).cast(pa.int64())).as_py()
    return json.dumps(
        {
            "records": len(decoded),
            "kinds": _of_each(decoded.column("kind").filter(problem.is_null())),
            "problems": _of_each(problem.drop_null()),
            "first": _first(decoded.filter(problem.is_valid())),
            "landed": landed.true_count,
            "since": times["min"],
            "until": times["max"],
        }
    )


def _of_each(names: Any) -> dict[str, int]:
    return {entry["values"]: entry["counts"] for entry in names.value_counts().to_pylist()}


def _first(bad: Any) -> dict[str, list[int]]:
    """Return problem -> record time (microseconds since 1970), partition and offset of its first record."""
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

"""Assignments as bytes; tests/golden compares them with Java's."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from kafka.protocol.consumer.metadata import ConsumerProtocolAssignment

from kafka_assignors.wire import assignment
from kafka_assignors.wire.primitives import string

PLANS: list[dict[str, list[int]]] = [
    {},
    {"t": [0]},
    {"t": [0, 2, 5], "übung": [7]},
    {f"topic-{i}": list(range(i + 1)) for i in range(20)},
]


@pytest.mark.parametrize("plan", PLANS, ids=len)
@pytest.mark.parametrize("user_data", [b"", b"\x00\x01"])
def test_bytes_equal_those_of_kafka_python(plan: dict[str, list[int]], user_data: bytes) -> None:
    numbers = np.array([p for numbers_of in plan.values() for p in numbers_of], np.int64)
    bounds = np.append(0, np.cumsum([*map(len, plan.values())], dtype=np.int64))
    raw, starts = assignment.encode_runs(numbers, bounds)
    arrays = [raw[start:stop] for start, stop in pairwise(starts)]
    ours = assignment.encode([string(t) for t in plan], arrays, user_data)
    assert ours == ConsumerProtocolAssignment(0, list(plan.items()), user_data).encode()

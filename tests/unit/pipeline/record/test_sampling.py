"""The options of the sampler, and the offsets of groups as rows."""

from __future__ import annotations

import re
from datetime import datetime, timezone

import pytest

from kafka_assignors.errors import OptionError
from kafka_assignors.lag import Offsets
from kafka_assignors.lag.fetch.group_offsets import GroupOffsets
from kafka_assignors.pipeline.record.sampling import ROWS, SamplerOptions, divide_groups, problem_row, rows_of
from kafka_assignors.plan import TopicPartition

NOW = datetime(2026, 11, 22, 12, 0, 5, tzinfo=timezone.utc)
SEEN = datetime(2026, 11, 22, 12, 0, 1, 250_000, tzinfo=timezone.utc)
T0, T1, T2 = (TopicPartition("t", n) for n in range(3))


def test_options_round_trip() -> None:
    wanted = SamplerOptions(("b", 'a "quoted" one'), re.compile("x-.*"), re.compile("t.*"), 2.5, 1.0, 3)
    assert SamplerOptions.from_options(wanted.as_options()) == wanted


def test_options_have_defaults_and_case_insensitive_names() -> None:
    """Spark hands them over in lower case."""
    assert SamplerOptions.from_options({"GROUPS": '["g"]'}) == SamplerOptions(
        ("g",), None, None, 10.0, 10.0, 2
    )


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({}, "groups"),
        ({"groups": "g"}, "groups"),
        ({"groups": '"g"'}, "groups"),
        ({"groups": "[1]"}, "groups"),
        ({"groups": '[""]'}, "groups"),
        ({"groups_like": "("}, "groups_like"),
        ({"groups": '["g"]', "topics_like": "["}, "topics_like"),
        ({"groups": '["g"]', "every": "0"}, "every"),
        ({"groups": '["g"]', "every": "nan"}, "every"),
        ({"groups": '["g"]', "timeout": "soon"}, "timeout"),
        ({"groups": '["g"]', "timeout": "inf"}, "timeout"),
        ({"groups": '["g"]', "num_partitions": "0"}, "num_partitions"),
        ({"groups": '["g"]', "num_partitions": "2.5"}, "num_partitions"),
        ({"groups": '["g"]', "group_like": "x"}, "group_like"),
    ],
)
def test_error_names_the_invalid_option(options: dict[str, str], named: str) -> None:
    with pytest.raises(OptionError) as caught:
        SamplerOptions.from_options(options)
    assert caught.value.option == named
    if options.get("num_partitions") == "2.5":
        assert caught.value.reason == "expected a whole number from 1, got 2.5"


@pytest.mark.parametrize("num_partitions", [1, 2, 3, 7, 50])
def test_groups_are_divided_evenly_among_tasks(num_partitions: int) -> None:
    groups = [f"g{n}" for n in range(7)]
    dealt = divide_groups([*groups, "g3"], num_partitions)
    assert sorted(group for share in dealt for group in share) == groups
    sizes = {len(share) for share in dealt}
    assert len(dealt) == min(num_partitions, 7)
    assert min(sizes) >= max(sizes) - 1 >= 0


def test_no_groups_need_no_task() -> None:
    assert divide_groups([], 4) == []


def test_rows_have_one_partition_each_and_the_time_of_its_end_offset() -> None:
    group = GroupOffsets(
        "g",
        {T0: Offsets(1, 9, 4), T1: Offsets(0, 5, None)},
        {T0: SEEN.timestamp(), T1: NOW.timestamp()},
        {T2: "no such partition"},
    )
    assert list(rows_of(group, NOW)) == [
        (SEEN, "g", "t", 0, 1, 9, 4, "sampler", None),
        (NOW, "g", "t", 1, 0, 5, -1, "sampler", None),
        (NOW, "g", "t", 2, None, None, None, "sampler", "no such partition"),
    ]


def test_group_with_a_problem_is_one_row() -> None:
    group = GroupOffsets("g", problem="no such group")
    assert list(rows_of(group, NOW)) == [problem_row(NOW, "g", "no such group")]


def test_rows_have_the_declared_columns() -> None:
    names = re.findall(r"(\w+) (?:timestamp|string|int|bigint)", ROWS)
    row = problem_row(NOW, "g", "no such group")
    assert len(names) == len(row)
    assert dict(zip(names, row, strict=True))["problem"] == "no such group"

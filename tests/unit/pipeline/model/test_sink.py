"""Which files of the load a merged file replaces."""

from __future__ import annotations

import pytest

from kafka_assignors.pipeline.model.sink import replaced_files

PARTS = [
    f"f/load/date=2026-11-0{day}/part-00000000{batch}-0.parquet" for day in (1, 2) for batch in (4, 5, 6)
]


def merged(batch: str) -> str:
    return f"f/load/date=2026-11-01/merged-{batch}.parquet"


@pytest.mark.parametrize(
    ("more", "replaced"),
    [
        ([], []),
        ([merged("000000005")], PARTS[:2]),
        ([merged("000000003"), merged("000000005")], [*PARTS[:2], merged("000000003")]),
        ([merged("by-me")], []),
        ([merged("by-me"), merged("000000009")], PARTS[:3]),
    ],
)
def test_files_of_a_day_up_to_the_batch_of_its_merged_file_are_replaced(
    more: list[str], replaced: list[str]
) -> None:
    assert replaced_files([*PARTS, *more]) == set(replaced)

"""The benchmark's group of processes is scaled by KEDA's rule and by ``size --serve`` on a broker."""

from __future__ import annotations

from pathlib import Path

from bench.lag.live.__main__ import rows_of
from bench.lag.live.day import HEAD, Lapse
from demo.data.events import Flight


def test_each_rule_scales_its_group_and_all_records_are_read(tmp_path: Path, kafka_bootstrap: str) -> None:
    """A member reads a third of the traffic, and lag lasts until there are more."""
    lapse = Lapse(day_s=15, partitions=4, busiest=3, target_s=2, look_s=1)
    due = [(number / 40, Flight(0, f"{number % 97}".encode(), b"{}")) for number in range(600)]
    rows = [
        dict(zip(HEAD, row, strict=True))
        for row in rows_of(due, lapse, kafka_bootstrap, tmp_path, rules=["10", "13", "size"])
    ]
    assert ["KEDA" in row["rule"] for row in rows] == [True, True, False]
    for row in rows:
        assert 1 < int(row["most members"]) <= lapse.partitions
        assert float(row["member-hours"]) > 24
        assert int(row["moves"]) > 0

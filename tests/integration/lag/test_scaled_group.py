"""The benchmark's group of processes is scaled by KEDA's rule and by ``size --serve`` on a broker."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench.lag.live.__main__ import day_of_flights, rows_of
from bench.lag.live.day import HEAD, Due, Lapse
from demo.data.events import Flight

LAPSE = Lapse(day_s=40, partitions=4, busiest=3, target_s=10, sync_s=0.25, look_s=1)
QUIET_HZ, BUSY_HZ, BUSY_S = 8, 40, (5, 15)


def quiet_busy_quiet() -> list[Due]:
    """Return traffic of which one member reads the quiet parts, and a third of the busy one."""
    due: list[Due] = []
    at = 0.0
    while at < LAPSE.day_s:
        due.append((at, Flight(0, f"{len(due) % 97}".encode(), b"{}")))
        at += 1 / (BUSY_HZ if BUSY_S[0] <= at < BUSY_S[1] else QUIET_HZ)
    return due


@pytest.mark.long
def test_size_follows_the_load_and_the_target_is_held(tmp_path: Path, kafka_bootstrap: str) -> None:
    """One member alone would make records wait for 20 s."""
    ((_, *cells),) = rows_of(quiet_busy_quiet(), LAPSE, kafka_bootstrap, tmp_path, ["size"])
    row = dict(zip(HEAD[1:], cells, strict=True))
    assert row["over the target"] == "0.0%"
    assert 3 <= int(row["most members"]) <= LAPSE.partitions
    assert int(row["scalings"]) >= 2
    assert int(row["moves"]) > 0
    mean = float(row["member-hours"]) / 24
    assert mean < 0.8 * int(row["most members"]), "it shrank when the load did"


@pytest.mark.long
def test_size_holds_the_target_through_a_day_of_flights_with_fewer_member_hours_than_kedas_rule(
    tmp_path: Path, kafka_bootstrap: str
) -> None:
    """The group plans by load.  ``python -m bench.lag.live`` plays a longer day."""
    lapse = Lapse(day_s=120, send_s=240, strategy="bench.lag.live.by_load:ByLoad")
    rows = rows_of(day_of_flights(31, lapse), lapse, kafka_bootstrap, tmp_path, ["10", "size"])
    keda, sized = (dict(zip(HEAD, row, strict=True)) for row in rows)
    assert float(sized["longest"].removesuffix(" s")) <= lapse.target_s
    assert float(sized["member-hours"]) < 0.8 * float(keda["member-hours"])

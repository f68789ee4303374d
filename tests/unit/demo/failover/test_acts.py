"""What the two acts are."""

from __future__ import annotations

import pytest

from demo.failover.acts import FIRST, NEWCOMER, acts, following


@pytest.mark.parametrize("flights", [100, 4_000, 50_000, 300_000])
def test_cold_any_copy_will_do_and_warm_only_one_that_lacks_little(flights: int) -> None:
    cold, warm = acts(flights)
    assert (cold.name, cold.standbys) == ("cold", 0)
    assert cold.recovery_lag > 10**9
    assert (warm.name, warm.standbys) == ("warm", 1)
    assert warm.recovery_lag == max(150, min(1_000, flights // 40))


def test_present_members_keep_their_state_and_new_members_have_none() -> None:
    cold, warm = acts(50_000)
    assert [warm.store_dir(name) for name in FIRST] == [cold.store_dir(name) for name in FIRST]
    assert warm.store_dir(NEWCOMER) != cold.store_dir(NEWCOMER)


def test_a_small_scene_waits_less_and_reads_fewer_flights() -> None:
    assert [acts(flights)[0].quiet_s for flights in (100, 20_000, 50_000)] == [1.0, 2.0, 3.0]
    assert [following(flights) for flights in (100, 60_000)] == [2_000, 20_000]

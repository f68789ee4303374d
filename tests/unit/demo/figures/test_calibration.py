"""The back-test against two real runs, recorded on a real broker: `recordings/README.md` says how.

`tests/integration/demo/test_backtest_calibration.py` does the same with new recordings, where there is time.
"""

from __future__ import annotations

from pathlib import Path
from zipfile import ZipFile

import pytest

from tests.support.simulation import calibrated
from tests.support.simulation.calibrated import REPLAYED, RUNS, Compared, compared

RECORDINGS = Path(__file__).parent / "recordings"


def unpacked(name: str, folders: pytest.TempPathFactory) -> Path:
    out = folders.mktemp(name)
    with ZipFile(RECORDINGS / f"{name}.zip") as archive:
        archive.extractall(out)
    return out


@pytest.fixture(scope="module")
def overrun(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return unpacked("overrun", tmp_path_factory)


@pytest.fixture(scope="module")
def in_time(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return unpacked("in_time", tmp_path_factory)


@pytest.fixture(scope="module")
def of_overrun(overrun: Path) -> Compared:
    return compared(overrun)


@pytest.fixture(scope="module")
def of_in_time(in_time: Path) -> Compared:
    return compared(in_time)


@pytest.mark.parametrize(("scene", "strategy"), RUNS)
def test_simulated_drains_and_moves_are_within_15_percent(
    of_overrun: Compared, scene: str, strategy: str
) -> None:
    calibrated.agrees(of_overrun, scene, strategy)


@pytest.mark.parametrize("strategy", REPLAYED)
def test_simulated_rebalance_times_are_within_15_percent(of_in_time: Compared, strategy: str) -> None:
    calibrated.agrees(of_in_time, "replay", strategy)


@pytest.mark.parametrize("strategy", REPLAYED)
def test_simulation_without_pauses_does_not_match(in_time: Path, strategy: str) -> None:
    calibrated.needs_its_pauses(in_time, strategy)


@pytest.mark.parametrize("strategy", REPLAYED)
def test_simulated_moves_match_the_run(overrun: Path, of_overrun: Compared, strategy: str) -> None:
    calibrated.moves_the_same(overrun, of_overrun, strategy)


def test_simulation_conserves_records(of_overrun: Compared) -> None:
    calibrated.has_every_record(of_overrun)

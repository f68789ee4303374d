"""The back-test against two real runs, recorded on a real broker: `recordings/README.md` says how.

`tests/integration/demo/test_backtest_calibration.py` does the same with new recordings, where there is time.
"""

from __future__ import annotations

from pathlib import Path
from zipfile import ZipFile

import pytest

from tests.support.simulation.calibrated import Calibration, Compared, compared


def unpacked(name: str, folders: pytest.TempPathFactory) -> Path:
    out = folders.mktemp(name)
    with ZipFile(Path(__file__).parent / "recordings" / f"{name}.zip") as archive:
        archive.extractall(out)
    return out


@pytest.fixture(scope="module")
def overrun(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return unpacked("overrun", tmp_path_factory)


@pytest.fixture(scope="module")
def in_time(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return unpacked("in_time", tmp_path_factory)


@pytest.fixture
def loads(overrun: Path) -> Compared:
    return compared(overrun)


class TestKeptRecordings(Calibration):
    """Of `KafkaConsumer`s."""

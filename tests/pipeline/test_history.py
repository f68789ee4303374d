"""The files and the arguments of a history; PySpark is imported, but not started."""

from __future__ import annotations

import errno
import os
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest

from kafka_assignors.errors import HistoryError, OptionError
from kafka_assignors.pipeline import history
from kafka_assignors.pipeline.history import array_file, read_history

_needs_fallocate = pytest.mark.skipif(not hasattr(os, "posix_fallocate"), reason="the system cannot do this")


@_needs_fallocate
def test_array_in_a_file_has_its_room_on_the_disk(tmp_path: Path) -> None:
    array_file(tmp_path / "arrays", 800_000)
    file = (tmp_path / "arrays").stat()
    assert file.st_blocks * 512 >= file.st_size == 800_000


def test_arrays_share_a_file(tmp_path: Path) -> None:
    make_array = array_file(tmp_path / "arrays", 8 * (6 + 4))
    counts, levels = make_array((2, 3), np.int64), make_array((1, 4), np.float64)
    counts[:], levels[:] = 7, 0.5
    assert counts.tolist() == [[7, 7, 7]] * 2
    assert levels.tolist() == [[0.5] * 4]


@_needs_fallocate
def test_array_is_made_on_a_file_system_that_cannot_reserve_room(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: int) -> None:
        raise OSError(errno.EOPNOTSUPP, "Operation not supported")

    monkeypatch.setattr(os, "posix_fallocate", refuse)
    assert array_file(tmp_path / "arrays", 48)((2, 3), np.int64).shape == (2, 3)


@_needs_fallocate
@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT])
def test_full_disk_is_an_error_before_the_array_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    def full(*_: int) -> None:
        raise OSError(number, os.strerror(number))

    def load(*_: object) -> None:
        array_file(tmp_path / "arrays", 48)

    monkeypatch.setattr(os, "posix_fallocate", full)
    monkeypatch.setattr(history, "_load_of", load)
    with pytest.raises(HistoryError, match="pipeline: the disk is full"):
        read_history(cast(Any, None), "pipeline")


@pytest.mark.parametrize("step_s", [0, -60, float("nan"), 1e-320, 1e308, 7])
def test_invalid_step_of_samples_is_an_option_error(step_s: float, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(history, "Storage", lambda *_: SimpleNamespace(folders=lambda _: ["sampler"]))
    monkeypatch.setattr(history, "has_load", lambda *_: False)
    with pytest.raises(OptionError, match=r"option 'step_s': expected .*seconds from 0\.001 to 900"):
        read_history(cast(Any, None), "pipeline", step_s=step_s)

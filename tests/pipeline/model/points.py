"""Batches of the load model: lands samples one file after the other, and finds the rows of a batch."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from pathlib import Path

from tests.pipeline.killing import done, under_way
from tests.pipeline.samples import Look, write_file

MODEL = "load"  # the name of its stream
WRITER = "import"


def moved(root: Path) -> bool:
    """Return whether the rows of a batch have landed and Spark has not recorded the batch as done."""
    return any(rows_of(root, batch) for batch in under_way(root, MODEL))


def rows_of(root: Path, batch: int) -> list[Path]:
    """Return the files of a batch that have landed."""
    return list((root / "load").glob(f"date=*/part-{batch:09d}-*.parquet"))


@contextlib.contextmanager
def landing(root: Path, files: list[list[Look]]) -> Iterator[list[int]]:
    """Land the next file whenever the model has read all earlier ones; yield the number of landed files."""
    landed, enough = [0], threading.Event()

    def go_on() -> None:
        while len(landed) < len(files) and not enough.wait(0.05):
            if len(landed) <= done(root, MODEL):
                write_file(root, WRITER, len(landed), files[len(landed)])
                landed.append(len(landed))

    writer = threading.Thread(target=go_on)
    writer.start()
    try:
        yield landed
    finally:
        enough.set()
        writer.join()

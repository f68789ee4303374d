"""Points in a batch of a stream that lands samples, found by its checkpoint and its list of files."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from pathlib import Path

from tests.pipeline.killing import numbers, under_way


@dataclass(frozen=True)
class Writer:
    """A writer of samples in a pipeline's folder; ``planned``, ``written`` and ``finished`` are points.

    Attributes:
        name: of its folders, and of its stream.
    """

    name: str

    def planned(self, root: Path) -> bool:
        """Return whether a batch has begun: the checkpoint has its range of records, or its time."""
        return bool(under_way(root, self.name))

    def written(self, root: Path) -> bool:
        """Return whether files of a batch exist that are in no list."""
        for batch in under_way(root, self.name) - self._listed(root):
            with contextlib.suppress(FileNotFoundError):
                began = (root / "checkpoints" / self.name / "offsets" / str(batch)).stat().st_mtime_ns
                return any(file.stat().st_mtime_ns > began for file in self.files(root))
        return False

    def finished(self, root: Path) -> bool:
        """Return whether a batch's files are listed and Spark has not recorded the batch as done."""
        return bool(under_way(root, self.name) & self._listed(root))

    def files(self, root: Path) -> list[Path]:
        """Return the files of batches, listed or not."""
        return list((root / "samples" / self.name).glob("date=*/part-*.parquet"))

    def in_no_list(self, root: Path) -> set[str]:
        """Return the names of files that are in no list."""
        lists = (root / "samples" / self.name / "_spark_metadata").glob("[0-9]*")
        listed = "".join(file.read_text() for file in lists)
        return {file.name for file in self.files(root) if file.name not in listed}

    def _listed(self, root: Path) -> set[int]:
        """Return the batches whose files are in the list that readers use."""
        return numbers(root / "samples" / self.name / "_spark_metadata")

"""The shape of the pipeline's part of results.json; times are seconds, rounded to milliseconds."""

from __future__ import annotations

from typing import TypedDict

from kafka_assignors.spark.backtest.results import Results as BacktestResults

__all__ = ["CalibrationResult", "PipelineResult", "RecordedResult"]


class RecordedResult(TypedDict):
    """What the pipeline knows of one run, which had a group and a topic of its own.

    ``commits`` and ``ends`` are rows of samples/: decoded from the broker's own topic of commits, and ends of
    the log, as the producer was told.  ``produced`` and ``committed`` are records, by the last of those.
    ``steps`` are rows of load/, and ``arrived`` is what arrived by them, what waited at the start included.
    """

    scene: str
    strategy: str
    group: str
    commits: int
    ends: int
    produced: int
    committed: int
    steps: int
    arrived: int


class CalibrationResult(TypedDict):
    """One run as it was measured, and as it is simulated; ``note``: why it is not."""

    scene: str
    strategy: str
    drain: float
    drain_simulated: float | None
    moved: int
    moved_simulated: int | None
    note: str


class PipelineResult(TypedDict):
    """What the pipeline made of the runs.

    ``fault`` is empty, or why it stopped; what it had by then is there.  ``seconds`` is how long each step
    took.  ``read`` is how many records of the broker's topic of commits were read, other groups' and other
    kinds included.  ``backtest`` is as in the results.json of a back-test; None: there was none.
    """

    fault: str
    notes: list[str]
    seconds: dict[str, float]
    step_s: float
    read: int
    recorded: list[RecordedResult]
    backtest: BacktestResults | None
    calibration: list[CalibrationResult]

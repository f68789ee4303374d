"""The pipeline on Spark: record groups, learn their load, feed the assignor, back-test strategies.

The names below are for notebooks.  ``import kafka_assignors.pipeline`` needs no Spark.  All names but
``LoadSettings`` and ``connector_options`` need Spark, some when they are imported, others when called.

- ``session``, ``connector``: Spark sessions, and the options of Spark's Kafka connector.
- ``record/``, ``model/``, ``feed/``: the three stages.  ``run``: all of them.
- ``restarting_query``: restarts failed streams.  ``maintenance/``: merges small files, deletes old days.
- ``tables/``: the recorded samples and the load table.  ``history``: reads them for back-tests.
- ``backtest/``: compares strategies on a recorded history.
- ``faults``: errors of Spark as errors of this package.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from kafka_assignors.errors import needs_extra
from kafka_assignors.forecast import LoadSettings

if TYPE_CHECKING:
    from kafka_assignors.pipeline.connector import connector_options
    from kafka_assignors.pipeline.feed.feed import create_feed, write_feed
    from kafka_assignors.pipeline.history import read_history
    from kafka_assignors.pipeline.maintenance.job import maintain
    from kafka_assignors.pipeline.model.backcast import forecast_errors
    from kafka_assignors.pipeline.model.job import run_load_model, start_load_model
    from kafka_assignors.pipeline.model.model import model_load
    from kafka_assignors.pipeline.model.sink import read_load
    from kafka_assignors.pipeline.record.offsets import record_offsets, record_offsets_once
    from kafka_assignors.pipeline.record.sampler import group_samples
    from kafka_assignors.pipeline.record.samples import record_samples, record_samples_once
    from kafka_assignors.pipeline.session import local_session
    from kafka_assignors.pipeline.tables.importing import import_samples
    from kafka_assignors.pipeline.tables.reading import read_samples

__all__ = [
    "LoadSettings",
    "connector_options",
    "create_feed",
    "forecast_errors",
    "group_samples",
    "import_samples",
    "local_session",
    "maintain",
    "model_load",
    "read_history",
    "read_load",
    "read_samples",
    "record_offsets",
    "record_offsets_once",
    "record_samples",
    "record_samples_once",
    "run_load_model",
    "start_load_model",
    "write_feed",
]

_NAMES_OF = {
    "connector": ("connector_options",),
    "feed.feed": ("create_feed", "write_feed"),
    "history": ("read_history",),
    "maintenance.job": ("maintain",),
    "model.backcast": ("forecast_errors",),
    "model.job": ("run_load_model", "start_load_model"),
    "model.model": ("model_load",),
    "model.sink": ("read_load",),
    "record.offsets": ("record_offsets", "record_offsets_once"),
    "record.sampler": ("group_samples",),
    "record.samples": ("record_samples", "record_samples_once"),
    "session": ("local_session",),
    "tables.importing": ("import_samples",),
    "tables.reading": ("read_samples",),
}
_MODULES = {name: module for module, names in _NAMES_OF.items() for name in names}


def __getattr__(name: str) -> Any:
    """Import a name's module when the name is first used.

    Raises:
        AttributeError: there is no such name.
        MissingExtraError: the name's module needs the extra ``spark``, which is not installed.
    """
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    with needs_extra("spark"):
        return getattr(importlib.import_module(f"{__name__}.{_MODULES[name]}"), name)

"""Records the rebalances of a coordinator; kafka-python itself measures only requests.

The wrapped methods are attributes of the coordinator, so that its class stays as it is.
"""

from __future__ import annotations

import inspect
import time
import weakref
from contextlib import suppress
from typing import Any

from kafka import KafkaConsumer
from kafka.coordinator.consumer import ConsumerCoordinator

from kafka_assignors.assignor.coordinator_access.responses import add_step
from kafka_assignors.metrics import NO_METRICS, Recorder

_RECORDER = "_kafka_assignors_recorder"
"""The attribute in which this module stores the recorder on a coordinator; all its strategies share it."""
_JOIN = "_do_join_and_sync_async"
_LISTENER = "_invoke_rebalance_listener_async"


def recorder_of(coordinator: ConsumerCoordinator | None) -> Recorder:
    """Return the recorder of a coordinator's consumer; ``NO_METRICS`` without one."""
    recorder: Recorder = getattr(coordinator, _RECORDER, NO_METRICS)
    return recorder


def consumer_recorder(consumer: KafkaConsumer) -> Recorder:
    """Return the recorder of a consumer; ``NO_METRICS`` without one."""
    return recorder_of(consumer._coordinator)


def record_metrics(coordinator: ConsumerCoordinator) -> None:
    """Make a coordinator record its rebalances, once, unless its consumer's metrics are disabled."""
    with suppress(Exception):  # an unknown version of kafka-python may lack the parts used here
        if hasattr(coordinator, _RECORDER):
            return
        recorder = Recorder(coordinator.config["metrics"], coordinator.config["metric_group_prefix"])
        setattr(coordinator, _RECORDER, recorder)

        def end_join(_current: Any, assignment: Any) -> Any:
            recorder.end_join()
            return assignment

        if recorder.is_enabled:
            _wrap_join(coordinator, recorder)
            # The SyncGroup response ends the join, whichever strategy planned.
            add_step(coordinator, "_process_sync_group_response", end_join)
            _wrap_listener(coordinator, recorder)


def _wrap_join(coordinator: ConsumerCoordinator, recorder: Recorder) -> None:
    """Record each failed attempt to join, whether the broker refused it or did not answer."""
    if not inspect.iscoroutinefunction(getattr(type(coordinator), _JOIN, None)):
        return
    reference = weakref.ref(coordinator)

    async def join_and_record(*args: Any, **kwargs: Any) -> Any:
        current: Any = reference()
        try:
            # Looked up at each call because ContinuousConsumer replaces the coordinator's class later.
            return await getattr(type(current), _JOIN)(current, *args, **kwargs)
        except Exception:
            recorder.fail_join()
            raise

    setattr(coordinator, _JOIN, join_and_record)


def _wrap_listener(coordinator: ConsumerCoordinator, recorder: Recorder) -> None:
    """Time the user's rebalance listener, if this version of kafka-python calls it in a known way."""
    method = getattr(type(coordinator), _LISTENER, None)
    if not inspect.iscoroutinefunction(method):
        return
    if list(inspect.signature(method).parameters) != ["self", "method_name", "arg"]:
        return
    reference = weakref.ref(coordinator)

    async def call_and_record(method_name: str, arg: Any) -> None:
        current: Any = reference()
        began_at = time.monotonic()
        await getattr(type(current), _LISTENER)(current, method_name, arg)
        recorder.record_listener(method_name, time.monotonic() - began_at)

    setattr(coordinator, _LISTENER, call_and_record)

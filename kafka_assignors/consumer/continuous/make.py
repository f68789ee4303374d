"""``ContinuousConsumer`` and ``make_continuous``: the coordinator's ``poll()`` does not wait for joins."""

from __future__ import annotations

import logging
import weakref
from typing import Any

import kafka
from kafka import KafkaConsumer
from kafka.coordinator.assignors.abstract import RebalanceProtocol
from kafka.coordinator.consumer import ConsumerCoordinator

from kafka_assignors.assignor.coordinator_access.consumer import drop_exhausted_batch
from kafka_assignors.assignor.coordinator_access.metrics import recorder_of

log = logging.getLogger("kafka_assignors")


class ContinuousConsumer(KafkaConsumer):
    """A ``KafkaConsumer`` whose ``poll()`` delivers records of its partitions during a rebalance.

    For cooperative strategies.  With an eager strategy, without a group, or (after one warning) with an
    unknown version of kafka-python it behaves as a ``KafkaConsumer``.

    Args:
        *topics: as for ``KafkaConsumer``.
        **configs: as for ``KafkaConsumer``.
    """

    def __init__(self, *topics: str, **configs: Any) -> None:
        super().__init__(*topics, **configs)
        make_continuous(self)


def make_continuous(consumer: KafkaConsumer) -> bool:
    """Make a consumer deliver records during cooperative rebalances, as `ContinuousConsumer` does.

    For consumers that a framework creates.  Call it before the first ``poll()``.

    Args:
        consumer: a ``KafkaConsumer``.  Unchanged if it has no group, an eager strategy or a custom
            coordinator class.  Unchanged, with a warning, if it has begun to join, or if its version of
            kafka-python is unknown.

    Returns:
        Whether the consumer delivers during rebalances.
    """
    coordinator: Any = getattr(consumer, "_coordinator", None)
    if (
        not isinstance(coordinator, ConsumerCoordinator)
        or getattr(coordinator, "_rebalance_protocol", None) != RebalanceProtocol.COOPERATIVE
        or getattr(coordinator, "group_id", None) is None
    ):
        return False
    try:  # another kafka-python may lack names that these modules import
        from kafka.structs import MemberState

        from kafka_assignors.consumer.continuous.coordinator import ContinuousCoordinator
        from kafka_assignors.consumer.continuous.known_parts import unknown_parts

        unknown = unknown_parts()
    except ImportError as error:
        unknown = (str(error),)
    if unknown:
        log.warning(
            "kafka-python %s is unknown (differs in %s): poll() waits for rebalances, as in KafkaConsumer",
            kafka.__version__,
            ", ".join(unknown),
        )
        return False
    if type(coordinator) is ContinuousCoordinator:
        return True
    if type(coordinator) is not ConsumerCoordinator or not coordinator._use_group_apis:
        return False
    if coordinator.state is not MemberState.UNJOINED:
        log.warning(
            "group %s: the consumer has polled already, so its poll() waits for rebalances; call "
            "make_continuous() before the first poll()",
            coordinator.group_id,
        )
        return False
    coordinator.__class__ = ContinuousCoordinator
    coordinator.begin()
    _wrap_poll(consumer)
    return True


def _wrap_poll(consumer: KafkaConsumer) -> None:
    """Wrap a turn of ``poll()``: mark that it runs, and count the records delivered during a join.

    Each turn first drops the current batch if it was read to its end.  While kafka-python has a current
    batch, it does not return to the unread records of a partition that was paused and resumed.
    """
    reference = weakref.ref(consumer)

    def poll_once(*args: Any, **kwargs: Any) -> Any:
        current: Any = reference()
        coordinator = current._coordinator
        drop_exhausted_batch(current)
        coordinator.is_polling = True
        try:
            records = type(current)._poll_once(current, *args, **kwargs)
        finally:
            coordinator.is_polling = False
        if records and coordinator._join.keeps_assignment:
            recorder_of(coordinator).record_delivered(sum(map(len, records.values())))
        return records

    consumer._poll_once = poll_once

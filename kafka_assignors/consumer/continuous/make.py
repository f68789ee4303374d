"""``make_continuous``: gives a consumer a coordinator whose ``poll()`` does not wait for joins."""

from __future__ import annotations

import logging
from typing import Any

import kafka
from kafka import KafkaConsumer
from kafka.coordinator.assignors.abstract import RebalanceProtocol
from kafka.coordinator.consumer import ConsumerCoordinator
from kafka.structs import MemberState

from kafka_assignors.consumer.continuous.coordinator import ContinuousCoordinator
from kafka_assignors.consumer.continuous.known_parts import unknown_parts

log = logging.getLogger("kafka_assignors")


def make_continuous(consumer: KafkaConsumer) -> bool:
    """Make a consumer deliver records during cooperative rebalances, as `ContinuousConsumer` does.

    For consumers that a framework creates.  Call it before the first ``poll()``.

    Args:
        consumer: a ``KafkaConsumer``.  Unchanged if it has no group, an eager strategy or a custom
            coordinator class.  Unchanged, with a warning, if it has polled, or if its version of
            kafka-python is unknown.

    Returns:
        Whether the consumer delivers during rebalances.
    """
    coordinator: Any = getattr(consumer, "_coordinator", None)
    if type(coordinator) is ContinuousCoordinator:
        return True
    if (
        type(coordinator) is not ConsumerCoordinator
        or getattr(coordinator, "_rebalance_protocol", None) != RebalanceProtocol.COOPERATIVE
        or coordinator.group_id is None
        or not coordinator._use_group_apis
    ):
        return False
    if unknown := unknown_parts():
        log.warning(
            "kafka-python %s is unknown (differs in %s): poll() waits for rebalances, as in KafkaConsumer",
            kafka.__version__,
            ", ".join(unknown),
        )
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
    return True

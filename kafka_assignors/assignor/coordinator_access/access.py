"""`CoordinatorAccess`: an assignor's access to the coordinator that calls it."""

from __future__ import annotations

import sys
import weakref
from collections.abc import Callable, Coroutine, Iterator
from contextlib import suppress
from types import FrameType
from typing import Any, TypeVar

from kafka.coordinator.consumer import ConsumerCoordinator
from kafka.errors import CoordinatorNotAvailableError, for_code
from kafka.future import Future
from kafka.protocol.admin import DescribeGroupsRequest

from kafka_assignors.assignor.coordinator_access.facts import CoordinatorFacts
from kafka_assignors.assignor.coordinator_access.metrics import record_metrics, recorder_of
from kafka_assignors.assignor.coordinator_access.responses import remember_rounds, unfold_assignments
from kafka_assignors.metrics import Recorder
from kafka_assignors.plan.cause import Cause

T = TypeVar("T")

_MAX_FRAMES = 8  # the coordinator calls its assignors directly, or through a user's wrapper
_SHARED = "_kafka_assignors_"
"""Prefix of the attributes that this module stores on a coordinator."""


class CoordinatorAccess(CoordinatorFacts):
    """An assignor's access to the coordinator of its consumer; without a consumer its requests do nothing.

    Attributes:
        rejoin_causes: why this member requested a rebalance since its last assignment; shared by its
            strategies.
    """

    def __init__(self) -> None:
        super().__init__()
        self.rejoin_causes: set[Cause] = set()

    def attach(self) -> bool:
        """Find the coordinator that calls; return False if another one called before."""
        caller = _calling_coordinator()
        attached = self._live()
        if caller is not None and attached is None:
            self._coordinator = weakref.ref(caller)
            self._client_rack = _client_rack_of(caller)
            remember_rounds(caller)
            record_metrics(caller)
            self.rejoin_causes = self.shared("rejoin_causes", self.rejoin_causes)
        return caller is None or attached is None or caller is attached

    def shared(self, name: str, own: T) -> T:
        """Return the value shared by the consumer's strategies.  The first call sets it to ``own``."""
        coordinator = self._live()
        value: T = own if coordinator is None else vars(coordinator).setdefault(_SHARED + name, own)
        return value

    @property
    def recorder(self) -> Recorder:
        """The recorder of the consumer's metrics."""
        return recorder_of(self._live())

    def unfold_assignments(self) -> bool:
        """Make the consumer read folded assignments (`wire.budget`); return whether it can."""
        coordinator = self._live()
        return coordinator is None or unfold_assignments(coordinator)

    def remember_planned_metadata(self) -> None:
        """Compare later metadata with that of this plan, and repeat an update that is under way."""
        if (coordinator := self._known()) is not None:
            _remember_planned_metadata(coordinator)
            _repeat_update_under_way(coordinator)

    def on_metadata_update(self, do: Callable[[], None]) -> None:
        """Call ``do`` on the I/O thread after each metadata update."""
        if (coordinator := self._live()) is not None:
            coordinator._cluster.add_listener(lambda _cluster: do())

    def run(self, job: Callable[[], Coroutine[Any, Any, None]]) -> None:
        """Run a coroutine on the I/O thread; it ends with the consumer at the latest."""
        if (coordinator := self._live()) is not None:
            coordinator._manager.call_soon(job)

    async def sleep(self, seconds: float) -> None:
        """Wait on the I/O thread without blocking it."""
        if (coordinator := self._live()) is not None:
            await coordinator._net.sleep(seconds)

    async def describe_group(self) -> Any:
        """Describe the group (one group of a DescribeGroups response).

        Raises:
            KafkaError: the coordinator is unknown, or answered with an error.
        """
        coordinator = self._live()
        if coordinator is None or coordinator.coordinator_unknown():
            raise CoordinatorNotAvailableError
        request = DescribeGroupsRequest(groups=[coordinator.group_id])
        response = await coordinator._manager.send(request, node_id=coordinator.coordinator_id)
        (described,) = response.groups
        if described.error_code:
            raise for_code(described.error_code)(coordinator.group_id)
        return described

    def handle_loss_while_joining(self) -> bool:
        """Return whether the consumer lost its membership during a join and must join again from the start.

        kafka-python checks this only when a join begins, not when it retries.  A retry would claim partitions
        that others may have owned since.  After True the caller must raise `UnknownMemberIdError`; the
        consumer then starts the join again and reports the loss to its listener.

        False for an eager consumer, whose listener already revoked its partitions.  kafka-python still keeps
        them as the consumer's assignment.  After a lost membership this method clears that assignment, so
        that the consumer resumes from the committed offsets, not from old positions.
        """
        coordinator = self._known()
        if coordinator is None or not getattr(coordinator, "rejoining", False):
            return False
        if not coordinator._generation.is_lost() or not self.owned():
            return False
        if self.cooperative():
            coordinator.rejoining = False
            return True
        coordinator._subscription.assign_from_subscribed([])
        return False

    def request_rejoin(self, cause: Cause | None = None) -> None:
        """Request a rebalance: at the next poll, or with a `ContinuousConsumer` also at the next heartbeat.

        The broker always starts one for the leader, but for another member only if its subscription (with
        the user data) has changed since its last join.
        """
        if (coordinator := self._known()) is not None:
            if cause is not None:
                self.rejoin_causes.add(cause)
            coordinator.request_rejoin()

    def request_rejoin_threadsafe(self, cause: Cause, generation: int | None) -> None:
        """As ``request_rejoin``, from any thread, if the consumer is still settled in this generation.

        Does nothing if another rebalance begins first, or after the consumer's event loop has ended.
        """

        def request() -> None:
            if self.settled_generation() == generation:
                self.request_rejoin(cause)

        if (coordinator := self._live()) is not None:
            with suppress(Exception):  # a crashed loop raises the cause of its crash
                coordinator._net.call_soon_threadsafe(request)

    def on_close(self, do: Callable[[], None]) -> bool:
        """Call ``do`` when the consumer closes, before its ``close()`` returns.

        kafka-python does not notify assignors.  But the consumer's event loop ends, and cancels coroutines
        that still wait.

        Returns:
            False if the consumer may close without calling ``do``: its loop has ended, or its private parts
            are unknown.  True without a consumer, although nothing calls ``do`` then.
        """
        coordinator = self._live()
        if coordinator is None:
            return True
        if self.is_unknown_version():
            return False

        async def wait_for_end() -> None:
            try:
                await Future()
            finally:
                do()

        try:
            coordinator._net.call_soon_threadsafe(wait_for_end)
        except Exception:  # a crashed loop raises the cause of its crash
            return False
        return True

    def request_rejoin_after(self, seconds: float) -> None:
        """Request a rebalance after ``seconds`` unless another one begins first.  On the I/O thread only."""
        if (coordinator := self._known()) is not None:
            coordinator._net.call_later(seconds, self._rejoin_unless_begun())

    def request_rejoin_with_metadata(self) -> None:
        """When the next metadata update ends or fails, request a rebalance unless one has begun by then."""
        if (coordinator := self._known()) is not None:
            request = self._rejoin_unless_begun()
            coordinator._cluster.request_update().add_both(lambda _outcome: request())

    def _rejoin_unless_begun(self) -> Callable[[], None]:
        """Return a function that requests a rebalance if the generation is still the same."""
        generation, reference = self.generation(), weakref.ref(self._live())

        def request() -> None:
            coordinator = reference()
            if coordinator is not None and coordinator._generation.generation_id == generation:
                coordinator.request_rejoin()

        return request


def _calling_coordinator() -> ConsumerCoordinator | None:
    """Find the coordinator that is nearest on the stack; None without one."""
    for frame in _callers():
        if isinstance(caller := frame.f_locals.get("self"), ConsumerCoordinator):
            return caller
    return None


def _client_rack_of(coordinator: ConsumerCoordinator) -> str | None:
    """Find ``client_rack`` among the arguments of the coordinator's constructor, which drops it.

    None if the setting is empty, or if the constructor is not on the stack.
    """
    for frame in _callers():
        if frame.f_locals.get("self") is coordinator and frame.f_code.co_name == "__init__":
            rack = frame.f_locals.get("configs", {}).get("client_rack")
            return rack if isinstance(rack, str) and rack else None
    return None


def _callers() -> Iterator[FrameType]:
    """Yield the frames of ``attach`` and of its callers, the nearest first."""
    frame: FrameType | None = sys._getframe(2)
    for _ in range(_MAX_FRAMES):
        if frame is None:
            return
        yield frame
        frame = frame.f_back


def _remember_planned_metadata(coordinator: ConsumerCoordinator) -> None:
    """Make the planned topics the snapshot that later metadata is compared with.

    When a join begins, kafka-python drops the other members' topics.  A metadata update during the join then
    makes a snapshot without them.  So the next update looks like a change, and the leader joins again: for
    ever, if each join takes longer than ``metadata_max_age_ms``.
    """
    planned = coordinator._build_metadata_snapshot(coordinator._subscription, coordinator._cluster)
    coordinator._metadata_snapshot = coordinator._assignment_snapshot = planned


def _repeat_update_under_way(coordinator: ConsumerCoordinator) -> None:
    """Request another metadata update if one is under way.

    The leader has just requested an update with the topics of all members.  The response to an earlier
    request lists fewer topics, but kafka-python counts it as the response to both.  Without another request,
    topics that only other members read would have no owner for ``metadata_max_age_ms``.
    """
    cluster = coordinator._cluster
    if cluster.metadata_refresh_in_progress:
        cluster.request_update().add_callback(lambda _updated: cluster.request_update())

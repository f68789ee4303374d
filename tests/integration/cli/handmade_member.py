"""Members that join by hand, with any bytes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from kafka import KafkaAdminClient
from kafka.errors import for_code
from kafka.protocol.consumer.group import JoinGroupRequest, SyncGroupRequest

from tests.support.waiting import until

SOUND = b"\x00\x00" + b"\x00\x00\x00\x01\x00\x01t" + b"\xff\xff\xff\xff"
"""A subscription to topic ``t``."""


def retried(ask: Callable[[], Any]) -> Any:
    """Return the first answer without a retriable error; a new broker's coordinator may still be loading."""
    answers: list[Any] = []

    def is_settled() -> bool:
        answers.append(ask())
        return not for_code(answers[-1].error_code).retriable

    until(is_settled, "the coordinator", pause_s=0.2)
    assert answers[-1].error_code == 0, for_code(answers[-1].error_code).__name__
    return answers[-1]


@contextmanager
def raw_member(
    bootstrap: str, group_id: str, kind: str, message: bytes, given: bytes | None
) -> Iterator[None]:
    """A member that joins by hand."""
    with KafkaAdminClient(bootstrap_servers=bootstrap) as admin:
        protocol = JoinGroupRequest.JoinGroupRequestProtocol(name="theirs", metadata=message)
        join = JoinGroupRequest(
            group_id=group_id,
            session_timeout_ms=30_000,
            rebalance_timeout_ms=30_000,
            member_id="",
            group_instance_id=None,
            protocol_type=kind,
            protocols=[protocol],
            max_version=3,
        )
        joined = retried(lambda: admin._manager.run(admin._manager.send, join))
        if given is not None:
            mine = SyncGroupRequest.SyncGroupRequestAssignment(member_id=joined.member_id, assignment=given)
            sync = SyncGroupRequest(
                group_id=group_id,
                generation_id=joined.generation_id,
                member_id=joined.member_id,
                assignments=[mine],
                max_version=2,
            )
            retried(lambda: admin._manager.run(admin._manager.send, sync))
        yield

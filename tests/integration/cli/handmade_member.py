"""Members that join by hand, with any bytes."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from kafka import KafkaAdminClient
from kafka.errors import for_code
from kafka.protocol.consumer.group import JoinGroupRequest, SyncGroupRequest

SETTLE_S = 30.0
SOUND = b"\x00\x00" + b"\x00\x00\x00\x01\x00\x01t" + b"\xff\xff\xff\xff"
"""A subscription to topic ``t``."""


def retried(ask: Callable[[], Any]) -> Any:
    """Return the first answer without a retriable error; a new broker's coordinator may still be loading."""
    deadline = time.monotonic() + SETTLE_S
    while (error := for_code((answer := ask()).error_code)).retriable and time.monotonic() < deadline:
        time.sleep(0.2)
    assert answer.error_code == 0, error.__name__
    return answer


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

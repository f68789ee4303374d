"""Version probing of the strategy ``stateful``: members of different releases in one group.

The first bytes of both its formats are the same in every version, for ever: what the sender wrote, and what
it could write.  So a leader that meets a newer member knows how far it has to come down, and says so in its
assignments, which it writes in a version that all can read; the member then joins again in that version.
Kafka Streams does the same (KIP-268).

=======  ==========================================================================================
version  brings
=======  ==========================================================================================
1        claims, task lags, the probe counter; active, standby and warm-up tasks, the next probe
2        endpoint and rack of a member; who has which task active, by endpoint
=======  ==========================================================================================
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Protocol
from uuid import UUID

from kafka_assignors.errors import CodecError

__all__ = ["LATEST_VERSION", "Newer", "Supports", "checked", "common_version"]

LATEST_VERSION = 2


@dataclass(frozen=True, slots=True)
class Newer:
    """What can be read of bytes that a newer release wrote.

    Attributes:
        version: they are written in.
        latest_supported: what the sender can write; of an assignment, what the leader asks members to write.
        process_id: the sender's; None of an assignment.
    """

    version: int
    latest_supported: int
    process_id: UUID | None = None


class Supports(Protocol):
    """A `Subscription`, or a `Newer`."""

    @property
    def latest_supported(self) -> int:
        """The newest version the member can write and read."""


def common_version(members: Iterable[Supports], latest: int = LATEST_VERSION) -> int:
    """Tell the newest version that all members and this leader can read: what it writes and asks for.

    Members whose bytes do not parse are left out by the caller.  ``latest`` is what the leader supports.
    """
    return min([latest, *(member.latest_supported for member in members)])


def checked(version: int, latest_supported: int) -> None:
    """Refuse headers that no release writes.

    Raises:
        CodecError: a version below 1, or beyond what the sender supports.
    """
    if not 1 <= version <= latest_supported:
        raise CodecError(f"version {version} of a sender that supports up to {latest_supported}")

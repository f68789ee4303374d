"""Version probing of the strategy ``stateful``: members of different releases in one group.

In every version, subscriptions and assignments begin with two numbers.  The first is the version of the
bytes.  The second is the latest version that the member supports; in an assignment, it is the version to join
with.  So a leader can read the header of a newer member.

The leader writes all assignments in the newest version that all members can read, with a request to use it.
The newer member then rejoins in that version, as in Kafka Streams (KIP-268).

=======  ================================================  ===================================================
version  a subscription adds                               an assignment adds
=======  ================================================  ===================================================
1        claims, task lags, counter of probing rebalances  active, standby and warm-up tasks, time of the next
                                                           probing rebalance
2        endpoint and rack of the member                   active tasks by endpoint
=======  ================================================  ===================================================
"""

from __future__ import annotations

from dataclasses import dataclass
from uuid import UUID

from kafka_assignors.errors import CodecError

LATEST_VERSION = 2


@dataclass(frozen=True, slots=True)
class NewerHeader:
    """The header of bytes that a newer release wrote."""

    version: int  # of the bytes
    latest_supported: int  # the latest version of the sender; in an assignment, the version to join with
    process_id: UUID | None = None  # the sender's process id; None in an assignment


def check_header(version: int, latest_supported: int) -> None:
    """Refuse a header that no release writes."""
    if not 1 <= version <= latest_supported:
        raise CodecError(f"version {version}, but the header allows 1 to {latest_supported}")

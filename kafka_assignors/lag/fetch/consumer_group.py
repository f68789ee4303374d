"""Describes groups of the new protocol (KIP-848), for which kafka-python has no request.

The two JSON files beside this module are schemas.  kafka-python makes classes of them, as of its own schemas.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kafka.protocol.api_message import ApiMessage


class ConsumerGroupDescribeRequest(ApiMessage, load_json=__package__):  # type: ignore[call-arg]  # its base is Any
    """Requests the members of groups."""


class ConsumerGroupDescribeResponse(ApiMessage, load_json=__package__):  # type: ignore[call-arg]  # its base is Any
    """Returns the members of groups, with their current and target assignments."""


def describe_request(group_ids: Sequence[str]) -> Any:
    """Request the members of groups."""
    return ConsumerGroupDescribeRequest(group_ids=list(group_ids), include_authorized_operations=False)

"""Assignments in kafka-python's description of a group, which has user data as text."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from kafka_assignors.assignor.convert import ownership
from kafka_assignors.plan import Ownership
from kafka_assignors.wire import budget


def assigned_in(assignment: Mapping[str, Any]) -> Ownership:
    """The partitions of an assignment; those in its user data, if any, replace the others."""
    received = budget.decode(_as_bytes(assignment.get("user_data") or ""))
    if received is not None and received.owned is not None:
        return received.owned
    entries = assignment.get("assigned_partitions") or ()
    return ownership((entry["topic"], p) for entry in entries for p in entry["partitions"] or ())


def _as_bytes(text: str) -> bytes:
    r"""The bytes that kafka-python describes as text: UTF-8, with ``\x99`` for other bytes."""
    return re.sub(rb"\\x([89a-f][0-9a-f])", lambda escape: bytes.fromhex(escape[1].decode()), text.encode())

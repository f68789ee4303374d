"""Partition-assignment strategies for kafka-python: fair, sticky, cooperative, and able to say why."""

from __future__ import annotations

__version__ = "0.1.0"

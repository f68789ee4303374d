"""Consumers with local state (KIP-441): the state on disk, and what describes it.

==============  ====================================================  ==================================
file            purpose                                               key names
==============  ====================================================  ==================================
``topology``    what a user writes: which topics, which state         ``Topology``, ``Subtopology``
``state_dir``   the directory: locked, listed, cleaned                ``StateDir``, ``TaskDir``
``checkpoint``  up to where of the changelog a copy is on disk        ``Checkpoint``, ``Damaged``
``stores``      opens stores, within bounds of memory                 ``Stores``, ``StoreOptions``
``store``       one task's keys and values                            ``Store``
``faults``      what systems and libraries raise, as our errors       ``state_error``
``files``       files that are there whole or not at all              ``write_whole``
==============  ====================================================  ==================================

What the extra ``stateful`` brings is imported where it is used: RocksDB by ``stores`` and ``store``, the
lock by ``state_dir``.
"""

from __future__ import annotations

from kafka_assignors.stateful.checkpoint import Checkpoint, Damaged, Position
from kafka_assignors.stateful.state_dir import StateDir, TaskDir
from kafka_assignors.stateful.store import Store
from kafka_assignors.stateful.stores import StoreOptions, Stores
from kafka_assignors.stateful.topology import Subtopology, Topology

__all__ = [
    "Checkpoint",
    "Damaged",
    "Position",
    "StateDir",
    "Store",
    "StoreOptions",
    "Stores",
    "Subtopology",
    "TaskDir",
    "Topology",
]

"""Consumers with local state (KIP-441): the runtime, its assignor, and the state on disk.

- ``consumer`` and ``topology`` are what a user writes against.  ``settings`` has the options, ``metrics``
  the measures of a member.
- ``state/``: stores and checkpoints on disk.
- ``changelog/``: changelog topics, written and restored.
- ``runtime/``: a member's tasks between and during rebalances.
- ``group/``: the assignor, which plans the tasks of the group.

Each folder lists its own files.  Modules import the packages of the extra ``stateful`` where they use them:
``state.stores`` and ``state.store`` import rocksdict, ``state.state_dir`` imports filelock.
"""

from __future__ import annotations

from kafka_assignors.stateful.consumer import StatefulConsumer
from kafka_assignors.stateful.duties import Duties, Holdings
from kafka_assignors.stateful.group.assignor import StatefulAssignor
from kafka_assignors.stateful.group.options import StatefulOptions
from kafka_assignors.stateful.settings import RuntimeOptions
from kafka_assignors.stateful.state.checkpoint import Checkpoint, Damaged, Position
from kafka_assignors.stateful.state.state_dir import StateDir
from kafka_assignors.stateful.state.store import Store
from kafka_assignors.stateful.state.stores import StoreOptions, Stores
from kafka_assignors.stateful.state.task_dir import TaskDir
from kafka_assignors.stateful.topology import Subtopology, Topology

__all__ = [
    "Checkpoint",
    "Damaged",
    "Duties",
    "Holdings",
    "Position",
    "RuntimeOptions",
    "StateDir",
    "StatefulAssignor",
    "StatefulConsumer",
    "StatefulOptions",
    "Store",
    "StoreOptions",
    "Stores",
    "Subtopology",
    "TaskDir",
    "Topology",
]

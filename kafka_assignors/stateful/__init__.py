"""Consumers with local state (KIP-441): the runtime, its assignor, and the state on disk.

====================  ====================================================  =============================
file                  purpose                                               key names
====================  ====================================================  =============================
``topology``          what a user writes: which topics, which state         ``Topology``, ``Subtopology``
``consumer``          a member: polls, processes, commits, heeds the group  ``StatefulConsumer``
``settings``          its options                                           ``RuntimeOptions``
``assignor``          plans tasks, moves partitions, tells what to keep     ``StatefulAssignor``
``assignor_options``  its options                                           ``StatefulOptions``
``duties``            what a member has, and is told to do                  ``Duties``, ``Holdings``
``events``            what a rebalance does, from the I/O thread            ``TaskListener``, ``Events``
``tasks``             active tasks, and the order of their commits          ``ActiveTask``, ``Work``
``processing``        records to the callback, within bounds of memory      ``Processing``
``commits``           output, changelogs, stores, offsets; members only     ``Commits``
``copies``            which copy is in whose hands                          ``Copies``
``on_disk``           copies in nobody's hands                              ``OnDisk``
``aside``             a question whose answer takes long                    ``Aside``
``copy``              one task's state, opened and checked                  ``Copy``, ``Changelog``
``changelog_topics``  the changelogs' topics, made and checked              ``changelogs_of``
``changelog_writer``  changes to changelogs, acknowledged                   ``ChangelogWriter``
``changelog_reader``  a thread that brings copies up to date                ``ChangelogReader``
``tailing``           what that thread does                                 ``Tailing``
``tailed``            a copy that is being brought up to date               ``Tailed``
``ends``              where changelogs end, of those that can be asked      ``Ends``, ``AllEnds``
``pace``              how much may be read in how long a time               ``Pace``
``state_dir``         the directory: locked, listed, cleaned                ``StateDir``
``task_dir``          one task's directory                                  ``TaskDir``
``removal``           deletes directories in a thread of its own            ``Removal``
``checkpoint``        up to where of the changelog a copy is on disk        ``Checkpoint``, ``Damaged``
``stores``            opens stores, within bounds of memory                 ``Stores``, ``StoreOptions``
``store``             one task's keys and values                            ``Store``
``faults``            what systems and libraries raise, as our errors       ``state_error``
``files``             files that are there whole or not at all              ``write_whole``
====================  ====================================================  =============================

What the extra ``stateful`` brings is imported where it is used: RocksDB by ``stores`` and ``store``, the
lock by ``state_dir``.
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

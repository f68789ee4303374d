"""Converts partitions to counts, and counts back to partitions."""

from __future__ import annotations

import numpy as np

from kafka_assignors.plan.arrays import Mask, Matrix, Vector, count_pairs
from kafka_assignors.plan.assignment import Owners
from kafka_assignors.plan.model import NO_MEMBER, Group
from kafka_assignors.plan.sticky.goals import TransportProblem


class Lots:
    """The rows of the matrix of shares.  Each is a lot: partitions that differ only in their owner.

    A lot is a topic, or with racks the partitions of a topic that are equally near for each subscriber.  With
    three racks a topic has up to eight lots, with thirty nearly one for each partition (too many racks are
    ignored).  Members without a subscription have no column, so that they do not change the plan of the
    others, not even in a tie.

    Args:
        group: members and topics.
        owner: by partition, its owner before; None for a plan without history.

    Attributes:
        group: members and topics.
        topics: the topics that have partitions and a subscriber.
        members: by column, its member.
        topic_of_lot: by lot, its topic.
        partitions: all partitions to deal, lot by lot.
        lot_of: the lot of each of these partitions.
        owner: the previous owner of each of these partitions, as a column or ``NO_MEMBER``.
        away: whether a member is in no rack of a lot's replicas while another subscriber is, shape (lots,
            columns); None without racks.
    """

    def __init__(self, group: Group, owner: Owners | None = None) -> None:
        self.group = group
        self.topics = np.flatnonzero(group.assignable_topics)
        self.members = np.flatnonzero(group.subscribed[self.topics].any(axis=0))
        row = np.full(len(group.names), NO_MEMBER)
        row[self.topics] = np.arange(len(self.topics))
        lot = row[group.topic_of]
        self.partitions = np.flatnonzero(lot != NO_MEMBER)
        self.lot_of = lot[self.partitions]
        self.topic_of_lot = self.topics
        self.away: Mask | None = None
        if group.in_racks is not None:
            self._split_by_rack(group.in_racks)
        column = np.full(len(group.members) + 1, NO_MEMBER)  # the last entry is for NO_MEMBER
        column[self.members] = np.arange(len(self.members))
        self.owner = column[(np.full(group.size, NO_MEMBER) if owner is None else owner)[self.partitions]]

    def problem(self, *, keep_all: bool) -> TransportProblem:
        """Return the problem of the counts; with ``keep_all`` every partition must stay with its owner."""
        shape = len(self.topic_of_lot), len(self.members)
        is_owned = self.owner != NO_MEMBER
        owned = count_pairs(self.lot_of[is_owned], self.owner[is_owned], shape)
        return TransportProblem(
            supply=np.bincount(self.lot_of, minlength=shape[0]),
            subscribed=self.group.subscribed[np.ix_(self.topic_of_lot, self.members)],
            owned=owned,
            floor=owned if keep_all else np.zeros_like(owned),
            away=None if self.away is None else self.away.astype(np.int64),
        )

    def _split_by_rack(self, in_racks: Mask) -> None:
        """Cut each topic into lots with the same row of ``away``, in the order of their first partitions."""
        set_of, sets = self.group.rack_sets
        keys = self.lot_of * len(sets) + set_of[self.partitions]
        pairs, first, pair = np.unique(keys, return_index=True, return_inverse=True)
        row, racks = np.divmod(pairs, len(sets))
        may = self.group.subscribed[np.ix_(self.topics, self.members)][row]
        near = in_racks[np.ix_(racks, self.members)] & may
        # Where no subscriber is near, all are equally far, so none counts as away.
        away = may & ~near & near.any(axis=1, keepdims=True)
        lots: dict[tuple[int, bytes], int] = {}
        lot = np.empty(len(pairs), np.int64)
        firsts: list[int] = []  # the first pair of each lot
        for i in np.argsort(first).tolist():
            lot[i] = lots.setdefault((int(row[i]), away[i].tobytes()), len(lots))
            if lot[i] == len(firsts):
                firsts.append(i)
        self.topic_of_lot, self.away = self.topics[row[firsts]], away[firsts]
        by_lot = np.argsort(lot[pair], kind="stable")
        self.partitions, self.lot_of = self.partitions[by_lot], lot[pair][by_lot]


def deal(lots: Lots, shares: Matrix) -> Owners:
    """Choose the partitions of each share.

    A member keeps the lowest of the partitions it owned.  The others are dealt in turn.  Each lot goes on
    after the last member of the lot before, so that a first plan with equal subscriptions is the round-robin
    plan.  Cost: two sorts.
    """
    owners = np.full(lots.group.size, NO_MEMBER, np.int32)
    keeps = _keeps(lots, shares)
    kept = np.flatnonzero(keeps)
    owners[lots.partitions[kept]] = lots.members[lots.owner[kept]]
    members = len(lots.members)
    kept_shares = count_pairs(lots.lot_of[kept], lots.owner[kept], (len(shares), members))
    missing = (shares - kept_shares).reshape(-1)
    cells = np.flatnonzero(missing)
    if len(cells):
        owners[lots.partitions[~keeps]] = lots.members[turns(cells, missing[cells], members)]
    return owners


def _keeps(lots: Lots, shares: Matrix) -> Mask:
    """Whether each partition stays: the owner keeps its first partitions of each lot, up to its share."""
    keeps = np.zeros(len(lots.partitions), np.bool_)
    owned = np.flatnonzero(lots.owner != NO_MEMBER)
    cell = lots.lot_of[owned] * shares.shape[1] + lots.owner[owned]
    order = np.argsort(cell, kind="stable")
    cell = cell[order]
    if not len(cell):
        return keeps
    starts = np.flatnonzero(np.concatenate([[True], cell[1:] != cell[:-1]]))
    rank = np.arange(len(cell)) - np.repeat(starts, np.diff(np.append(starts, len(cell))))
    keeps[owned[order[rank < shares.reshape(-1)[cell]]]] = True
    return keeps


def turns(cells: Vector, units: Vector, members: int) -> Vector:
    """Deal the free partitions, lot by lot, in rounds among the members whose share is not full yet.

    Args:
        cells: ``lot * members + member`` of each share that is not full, ascending.
        units: partitions that each of these shares misses.
        members: number of members.

    Returns:
        A member for each free partition, in the order of lots.
    """
    row, column = np.divmod(cells, members)
    bounds = np.append(np.flatnonzero(np.concatenate([[True], row[1:] != row[:-1]])), len(row))
    offset = np.empty(len(cells), np.int64)
    turn = 0
    for start, end in zip(bounds[:-1].tolist(), bounds[1:].tolist(), strict=True):
        from_turn = (column[start:end] - turn) % members
        offset[start:end] = from_turn
        rounds = units[start:end]
        turn = (turn + int(from_turn[rounds == rounds.max()].max()) + 1) % members
    most = int(units.max())
    cell_of = np.repeat(np.arange(len(cells)), units)  # of each free partition
    round_of = np.arange(len(cell_of)) - np.repeat(np.cumsum(units) - units, units)
    keys = (row[cell_of] * most + round_of) * members + offset[cell_of]
    return column[cell_of[np.argsort(keys, kind="stable")]]

"""What the members counted, read from their stores; the members have left."""

from __future__ import annotations

from collections import Counter as Tallied
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from demo.failover.acts import TASKS
from demo.failover.counting import CARRIER, DESTINATION, Counter
from kafka_assignors.stateful import StateDir, Store, Stores

Counters = dict[bytes, Counter]


@dataclass(slots=True)
class Stored:
    """What is in the stores.

    Attributes:
        carriers: carrier -> times counted and doubles, over all tasks.
        destinations: the same.
        copies: how many copies are at the end of their changelog.
        wrong: what must not be, in words.
    """

    carriers: dict[str, tuple[int, int]] = field(default_factory=dict)
    destinations: dict[str, tuple[int, int]] = field(default_factory=dict)
    copies: int = 0
    wrong: list[str] = field(default_factory=list)


def read_stores(store_dirs: Iterable[Path], group: str, ends: Mapping[int, int]) -> Stored:
    """Read each copy that is at the end of its changelog; those of one task must have the same in them.

    Args:
        store_dirs: of all members; one that is not there is passed over.
        group: whose state.
        ends: task -> the end of its changelog.

    Raises:
        StateError: a store cannot be read.
    """
    found: dict[int, Counters] = {}
    result, stores = Stored(), Stores()
    for store_dir in store_dirs:
        if not store_dir.is_dir():
            continue
        with StateDir(store_dir, group) as there:
            for task, checkpoint in sorted(there.tasks().items()):
                if not isinstance(checkpoint, dict) or not checkpoint:
                    continue
                [position] = checkpoint.values()
                if position.offset != ends[task[1]]:
                    continue
                with there.claim(task) as mine, stores.open(mine.store_path) as store:
                    counters = _counters(store)
                result.copies += 1
                if found.setdefault(task[1], counters) != counters:
                    result.wrong.append(f"two copies of task {task[1]} differ")
    if missing := [task for task in range(TASKS) if task not in found]:
        said = ", ".join(map(str, missing))
        result.wrong.append(f"no copy is at the end of its changelog, of task {said}")
    result.carriers = _summed(found.values(), CARRIER)
    result.destinations = _summed(found.values(), DESTINATION)
    return result


def _counters(store: Store) -> Counters:
    return {
        key: Counter.unpacked(value)
        for prefix in (CARRIER, DESTINATION)
        for key, value in store.prefix(prefix)
    }


def _summed(tasks: Iterable[Counters], prefix: bytes) -> dict[str, tuple[int, int]]:
    counts: Tallied[str] = Tallied()
    doubles: Tallied[str] = Tallied()
    for counters in tasks:
        for key, counter in counters.items():
            if key.startswith(prefix):
                name = key[len(prefix) :].decode()
                counts[name] += counter.times
                doubles[name] += counter.doubles
    return {name: (counts[name], doubles[name]) for name in sorted(counts)}

"""Options of a stateful consumer, and what it takes over from the consumer's own configuration."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from kafka.codec import has_gzip, has_lz4, has_snappy, has_zstd

from kafka_assignors.errors import OptionError
from kafka_assignors.stateful.group.options import StatefulOptions
from kafka_assignors.stateful.runtime.commits import BeforeCommit
from kafka_assignors.stateful.state.stores import StoreOptions

__all__ = ["RuntimeOptions", "checked_config"]

_OURS = {
    "enable_auto_commit": "offsets are committed when the state is safe",
    "partition_assignment_strategy": "a stateful consumer brings its own",
    "consumer_timeout_ms": "it runs until it is closed",
}

_INTEGERS = {
    "commit_interval_ms": 1,
    "max_uncommitted_bytes": 1024,
    "restore_fetch_bytes": 1024,
    "changelog_max_request_size": 1024,
}
_COMPRESSIONS: dict[str, Callable[[], bool]] = {
    "gzip": has_gzip,
    "snappy": has_snappy,
    "lz4": has_lz4,
    "zstd": has_zstd,
}
_MOST_REPLICAS = 2**15 - 1


@dataclass(frozen=True, slots=True)
class RuntimeOptions:
    """How a stateful consumer runs.

    The first five have to be the same in all members of a group, for any of them may come to lead it.

    Attributes:
        acceptable_recovery_lag: records; a copy that lacks no more counts as caught up.
        num_standby_replicas: copies of each task's state beside the active one.
        max_warmup_replicas: further copies, in the whole group, that are built at a time so that tasks can
            move.
        balance_factor: by how many tasks two members may differ.
        probing_rebalance_interval_ms: how long a better plan waits before it is looked at again.
        rack: standbys go to others.
        endpoint: ``host:port`` where others can ask this member for its state.
        commit_interval_ms: how often what was processed is made safe: changelog, store, offsets.
        before_commit: ``before_commit(offsets, timeout_s)``, called before each commit, with the offsets it
            is for, by partition, and the seconds it may take.  Flush here what ``process`` sent with a
            producer of its own (docs/stateful.md, "Output of your own").  If it raises, nothing is committed:
            a retriable `KafkaError` is logged, and the commit tried again; anything else ends the member.
        max_uncommitted_bytes: sooner than that if so much has changed; bounds the memory changes take.
        standby_bytes_per_s: how fast standbys and warm-ups are brought up to date; None: as fast as it comes.
        restore_fetch_bytes: of one fetch from changelogs, of each broker that leads some; a record that is
            larger comes all the same.
        cleanup_delay_s: how long state of tasks that went elsewhere is kept on disk.
        close_timeout_s: how long the end may take once `close` was called, beside what ``process`` is doing
            at that moment.  ``before_commit`` is given its part of it, and has to keep to that.
        changelog_replication_factor: of changelogs that are made; -1: the cluster's default.
        changelog_max_request_size: bytes; how large a change may be.  What the changelog's topic takes is its
            ``max.message.bytes``.
        changelog_compression: gzip, snappy, lz4 or zstd; None: changes are not compressed.
        store: how much the stores may take.

    Raises:
        OptionError: a value that makes no sense.
    """

    acceptable_recovery_lag: int = 10_000
    num_standby_replicas: int = 0
    max_warmup_replicas: int = 2
    balance_factor: int = 1
    probing_rebalance_interval_ms: int = 600_000
    rack: str | None = None
    endpoint: str = ""
    commit_interval_ms: int = 1_000
    before_commit: BeforeCommit | None = None
    max_uncommitted_bytes: int = 32 * 1024 * 1024
    standby_bytes_per_s: int | None = None
    restore_fetch_bytes: int = 8 * 1024 * 1024
    cleanup_delay_s: float = 600.0
    close_timeout_s: float = 20.0
    changelog_replication_factor: int = -1
    changelog_max_request_size: int = 1024 * 1024
    changelog_compression: str | None = None
    store: StoreOptions = field(default_factory=StoreOptions)

    def __post_init__(self) -> None:
        StatefulOptions(**self.planning).check_values()
        for name, least in _INTEGERS.items():
            value: Any = getattr(self, name)
            if type(value) is not int or value < least:
                raise OptionError(name, f"{value!r} is no whole number from {least} on")
        for name, some_s in (("cleanup_delay_s", 0), ("close_timeout_s", 1)):
            delay: Any = getattr(self, name)
            if type(delay) not in (int, float) or not math.isfinite(delay) or delay < some_s:
                raise OptionError(name, f"{delay!r} is no number of seconds from {some_s} on")
        rate: Any = self.standby_bytes_per_s
        if rate is not None and (type(rate) is not int or rate < 1024):
            raise OptionError("standby_bytes_per_s", f"{rate!r} is no number from 1024 on")
        replicas: Any = self.changelog_replication_factor
        if type(replicas) is not int or (replicas != -1 and not 1 <= replicas <= _MOST_REPLICAS):
            raise OptionError(
                "changelog_replication_factor", f"{replicas!r} is no number of replicas, nor -1"
            )
        store: Any = self.store
        if not isinstance(store, StoreOptions):
            raise OptionError("store", f"expected StoreOptions, got {store!r}")
        hook: Any = self.before_commit
        if hook is not None and not callable(hook):
            raise OptionError("before_commit", f"expected a function, got {hook!r}")
        self._check_compression()

    def _check_compression(self) -> None:
        given: Any = self.changelog_compression
        if given is None:
            return
        if not isinstance(given, str) or given not in _COMPRESSIONS:
            raise OptionError("changelog_compression", f"{given!r} is none of {', '.join(_COMPRESSIONS)}")
        if not _COMPRESSIONS[given]():
            raise OptionError("changelog_compression", f"its library is missing: kafka-python[{given}]")

    @property
    def planning(self) -> dict[str, Any]:
        """What the assignor is configured with."""
        return {
            "acceptable_recovery_lag": self.acceptable_recovery_lag,
            "num_standby_replicas": self.num_standby_replicas,
            "max_warmup_replicas": self.max_warmup_replicas,
            "balance_factor": self.balance_factor,
            "probing_rebalance_interval_ms": self.probing_rebalance_interval_ms,
            "rack": self.rack,
            "endpoint": self.endpoint,
        }


def checked_config(config: Mapping[str, Any]) -> dict[str, Any]:
    """The consumer's configuration, without anything that would take from it what it has to do itself.

    Raises:
        OptionError: a setting that a stateful consumer makes itself, or no group.
    """
    for name, why in _OURS.items():
        if name in config:
            raise OptionError(name, f"leave it out: {why}")
    if not config.get("group_id"):
        raise OptionError("group_id", "missing: the group is the application")
    return {"auto_offset_reset": "earliest", **config, "enable_auto_commit": False}

"""Options of a stateful consumer, and checks of the ``KafkaConsumer`` settings beside them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from kafka.codec import has_gzip, has_lz4, has_snappy, has_zstd

from kafka_assignors.errors import OptionError
from kafka_assignors.stateful.group.options import StatefulOptions
from kafka_assignors.stateful.runtime.commits import BeforeCommit
from kafka_assignors.stateful.state.stores import StoreOptions
from kafka_assignors.validators import function, instance, one_of, seconds, whole, wrong

_RESERVED = {
    "enable_auto_commit": "offsets are committed after the state is written",
    "partition_assignment_strategy": "a stateful consumer brings its own",
    "kafka_client": "a stateful consumer brings its own, which creates no topics",
    "consumer_timeout_ms": "a stateful consumer runs until `close`",
}

_INT32 = 2**31 - 1  # limit of a size in Kafka's protocol
_LIMITS = {
    "commit_interval_ms": (1, None),
    "max_uncommitted_bytes": (1024, None),
    "restore_fetch_bytes": (1024, _INT32),
    "changelog_max_request_size": (1024, _INT32),
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
    """Options of a stateful consumer.

    The first five must be the same in all members of a group, because any member may become leader.

    Attributes:
        acceptable_recovery_lag: a copy at most this many records behind its changelog counts as caught up.
        num_standby_replicas: standbys of each task.
        max_warmup_replicas: warm-ups built at a time in the whole group.  While members have different
            topologies, the limit applies to each set of subtopologies that the same members can run.
        balance_factor: number of active tasks by which two members may differ, in total and in each
            subtopology.
        probing_rebalance_interval_ms: time until the leader requests a probing rebalance, if a better plan
            waits for copies to catch up.
        rack: this member's rack; standbys go to other racks where possible.
        endpoint: ``host:port`` where others can query this member's state.  ``duties.owners`` has the
            endpoints of all members, while they fit into the group's record.
        commit_interval_ms: time between commits of changelog, store and offsets.  The time is longer while
            the member must repair a changelog and the cluster does not answer.
        before_commit: ``before_commit(offsets, timeout_s)``, called before each commit with the offsets to be
            committed, by partition, and the seconds the call may take.  Flush here the records that
            ``process`` sent with your own producer (docs/guides/state-output.md).  If it raises, nothing is
            committed: a retriable `KafkaError` is logged, and the commit is tried again; any other exception
            ends the member.
        max_uncommitted_bytes: uncommitted changes that take more memory than this are committed earlier.
        standby_bytes_per_s: rate limit for standbys and warm-ups; None: no limit.
        restore_fetch_bytes: size of one fetch of changelogs from one broker; a larger record is still
            fetched.  A member needs memory for two to three fetches from each broker that leads changelogs.
        cleanup_delay_s: how long state of a task that moved away stays on disk without use.  After that, the
            next check removes the state from the member's report, and the check after it deletes the state.
            Checks come once a minute, or every ``cleanup_delay_s`` if that is shorter, but at most once a
            second.
        close_timeout_s: seconds the shutdown may take after `close`.  A running call of ``process`` uses up
            this time, but is not interrupted.  ``before_commit`` gets a part of this time, as its
            ``timeout_s``, and must keep to it.
        changelog_replication_factor: of changelogs the consumer creates; -1: the cluster's default.
        changelog_max_request_size: bytes of the largest change.  The topic has its own limit,
            ``max.message.bytes``.
        changelog_compression: gzip, snappy, lz4 or zstd; None: no compression.  All members need the codec's
            library.
        store: memory and files of the stores.

    Raises:
        OptionError: a value is invalid.
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
        StatefulOptions(**self.assignor_options).check_values()
        for name, (least, most) in _LIMITS.items():
            whole(name, getattr(self, name), least, most)
        seconds("cleanup_delay_s", self.cleanup_delay_s)
        seconds("close_timeout_s", self.close_timeout_s, 1)
        if self.standby_bytes_per_s is not None:
            whole("standby_bytes_per_s", self.standby_bytes_per_s, 1024)
        if whole("changelog_replication_factor", self.changelog_replication_factor, -1, _MOST_REPLICAS) == 0:
            raise wrong("changelog_replication_factor", "a number of replicas, or -1", 0)
        instance("store", self.store, StoreOptions, "StoreOptions")
        if self.before_commit is not None:
            function("before_commit", self.before_commit)
        if (compression := self.changelog_compression) is None:
            return
        if not _COMPRESSIONS[one_of("changelog_compression", compression, _COMPRESSIONS)]():
            raise OptionError(
                "changelog_compression",
                f"the {compression} library is missing: pip install 'kafka-python[{compression}]'",
            )

    @property
    def assignor_options(self) -> dict[str, Any]:
        """The options that are also options of the assignor."""
        of_assignor = {option.name for option in fields(StatefulOptions)}
        return {name: getattr(self, name) for option in fields(self) if (name := option.name) in of_assignor}


def checked_config(config: Mapping[str, Any]) -> dict[str, Any]:
    """Refuse settings that the stateful consumer sets itself; return the others, with auto-commit off.

    ``auto_offset_reset`` defaults to ``earliest``.

    Raises:
        OptionError: the stateful consumer sets a given setting itself, or ``group_id`` is missing.
    """
    for name, why in _RESERVED.items():
        if name in config:
            raise OptionError(name, f"leave it out: {why}")
    if not config.get("group_id"):
        raise OptionError("group_id", "missing: it names the application")
    return {"auto_offset_reset": "earliest", **config, "enable_auto_commit": False}

"""Options of a stateful consumer, and what it takes over from the consumer's own configuration."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from kafka_assignors.errors import OptionError
from kafka_assignors.stateful.stores import StoreOptions

__all__ = ["RuntimeOptions", "checked_config"]

_OURS = {
    "enable_auto_commit": "offsets are committed when the state is safe",
    "partition_assignment_strategy": "a stateful consumer brings its own",
    "consumer_timeout_ms": "it runs until it is closed",
}


@dataclass(frozen=True, slots=True)
class RuntimeOptions:
    """How a stateful consumer runs.  The first six are for planning: the same in all members of a group.

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
        max_uncommitted_bytes: sooner than that if so much has changed; bounds the memory changes take.
        standby_bytes_per_s: how fast standbys and warm-ups are brought up to date; None: as fast as it comes.
        restore_fetch_bytes: of one fetch from changelogs; bounds the memory that takes.
        cleanup_delay_s: how long state of tasks that went elsewhere is kept on disk.
        changelog_replication_factor: of changelogs that are made; -1: the cluster's default.
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
    max_uncommitted_bytes: int = 32 * 1024 * 1024
    standby_bytes_per_s: int | None = None
    restore_fetch_bytes: int = 8 * 1024 * 1024
    cleanup_delay_s: float = 600.0
    changelog_replication_factor: int = -1
    store: StoreOptions = field(default_factory=StoreOptions)

    def __post_init__(self) -> None:
        for name, least in (
            ("commit_interval_ms", 1),
            ("max_uncommitted_bytes", 1024),
            ("restore_fetch_bytes", 1024),
            ("cleanup_delay_s", 0),
        ):
            value: Any = getattr(self, name)
            if not isinstance(value, (int, float)) or isinstance(value, bool) or value < least:
                raise OptionError(name, f"{value!r} is no number from {least} on")
        rate: Any = self.standby_bytes_per_s
        if rate is not None and (type(rate) is not int or rate < 1024):
            raise OptionError("standby_bytes_per_s", f"{rate!r} is no number from 1024 on")

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

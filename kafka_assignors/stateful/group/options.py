"""Options of ``stateful``."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from kafka_assignors.assignor.options import PLANS, ConfigurationError, Options
from kafka_assignors.errors import OptionError
from kafka_assignors.plan import stateful as planner
from kafka_assignors.stateful.duties import Duties, Holdings
from kafka_assignors.stateful.topology import Topology
from kafka_assignors.wire.owners_section import LONGEST_ENDPOINT

__all__ = ["StatefulOptions"]


def _nothing() -> Holdings:
    return Holdings()


@dataclass(frozen=True, slots=True)
class StatefulOptions(Options):
    """Options of ``stateful``; all members should have the same, for any of them may come to lead.

    Attributes:
        topology: which topics are processed together, and which of that has state.
        acceptable_recovery_lag: records; a copy that lacks no more counts as caught up.
        num_standby_replicas: copies of each task's state beside the active one.
        max_warmup_replicas: further copies, in the whole group, that are built at a time so that tasks can
            move.
        balance_factor: by how many tasks two members may differ.
        probing_rebalance_interval_ms: how long a better plan waits before it is looked at again.
        process_id: of the directory with this member's state, which is no other member's; None: a new one, so
            that nothing is known of its disk.
        endpoint: ``host:port`` where others can ask this member for its state.
        holdings: called when this member joins, on the consumer's I/O thread; must not wait.
        on_duties: called with what this member is told, on the same thread; must not wait.
        time: seconds since 1970.
    """

    topology: Topology | None = field(default=None, metadata=PLANS)
    acceptable_recovery_lag: int = field(default=10_000, metadata=PLANS)
    num_standby_replicas: int = field(default=0, metadata=PLANS)
    max_warmup_replicas: int = field(default=2, metadata=PLANS)
    balance_factor: int = field(default=1, metadata=PLANS)
    probing_rebalance_interval_ms: int = 600_000
    process_id: UUID | None = None
    endpoint: str = ""
    holdings: Callable[[], Holdings] = _nothing
    on_duties: Callable[[Duties], object] | None = None
    time: Callable[[], float] = time.time

    def check(self) -> None:
        """Refuse values that make no sense.

        Raises:
            ConfigurationError: naming the option.
        """
        self.check_values()
        self.given_topology()

    def check_values(self) -> None:
        """Refuse values that make no sense, whatever the topology.

        Raises:
            ConfigurationError: naming the option.
        """
        Options.check(self)  # slots make a new class, which super() without arguments does not know
        interval: Any = self.probing_rebalance_interval_ms
        if not isinstance(interval, int) or isinstance(interval, bool) or interval < 1:
            raise ConfigurationError("probing_rebalance_interval_ms", f"{interval!r} is no time")
        endpoint: Any = self.endpoint
        if not isinstance(endpoint, str) or len(endpoint.encode()) > LONGEST_ENDPOINT:
            raise ConfigurationError("endpoint", f"expected host:port, got {endpoint!r}")
        try:
            self.for_planning()
        except OptionError as error:
            raise ConfigurationError(error.option, error.reason) from error

    def given_topology(self) -> Topology:
        """The topology, without which there is nothing to plan.

        Raises:
            ConfigurationError: there is none.
        """
        if not isinstance(self.topology, Topology):
            raise ConfigurationError("topology", f"expected a Topology, got {self.topology!r}")
        return self.topology

    def for_planning(self) -> planner.StatefulOptions:
        """Those that decide what a plan looks like."""
        return planner.StatefulOptions(
            acceptable_recovery_lag=self.acceptable_recovery_lag,
            num_standby_replicas=self.num_standby_replicas,
            max_warmup_replicas=self.max_warmup_replicas,
            balance_factor=self.balance_factor,
        )

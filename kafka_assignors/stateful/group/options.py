"""Options of ``stateful``."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field, fields
from typing import Any
from uuid import UUID

from kafka_assignors.assignor.options import PLANS, Options, can_be_sent
from kafka_assignors.plan import stateful as planner
from kafka_assignors.stateful.duties import Duties, Holdings
from kafka_assignors.stateful.topology import Topology
from kafka_assignors.validators import function, instance, whole, wrong
from kafka_assignors.wire.stateful.owners_section import LONGEST_ENDPOINT
from kafka_assignors.wire.stateful.subscription import LONGEST_RACK

LATEST_MS = 2**63 - 1  # the largest time in an assignment


@dataclass(frozen=True, slots=True)
class StatefulOptions(Options):
    """Options of ``stateful``.

    Any member may become leader, so all members of a group must have the same options, up to and including
    ``probing_rebalance_interval_ms``.  Only ``topology`` may differ, during a rolling deploy.

    Attributes:
        topology: the subtopologies of the application.
        acceptable_recovery_lag: a copy at most this many records behind its changelog counts as caught up.
        num_standby_replicas: standbys of each task.
        max_warmup_replicas: warm-ups built at a time in the whole group.  While members have different
            topologies, subtopologies that the same members can run have this limit together.
        balance_factor: number of active tasks by which two members may differ, in total and in each
            subtopology.
        probing_rebalance_interval_ms: time until the leader requests a probing rebalance, if a better plan
            waits for copies to catch up.
        process_id: id of the directory with this member's state, different for each member; None: a new id.
        endpoint: ``host:port`` where others can query this member's state.
        holdings: returns the member's state on disk; called on the consumer's I/O thread for joins and
            plans, so it must not block.
        on_duties: called with this member's duties after each assignment, on the same thread; must not block.
        time: returns the time, in seconds since 1970.
    """

    topology: Topology | None = field(default=None, metadata=PLANS)
    acceptable_recovery_lag: int = field(default=10_000, metadata=PLANS)
    num_standby_replicas: int = field(default=0, metadata=PLANS)
    max_warmup_replicas: int = field(default=2, metadata=PLANS)
    balance_factor: int = field(default=1, metadata=PLANS)
    probing_rebalance_interval_ms: int = 600_000
    process_id: UUID | None = None
    endpoint: str = ""
    holdings: Callable[[], Holdings] = Holdings
    on_duties: Callable[[Duties], object] | None = None
    time: Callable[[], float] = time.time

    def check(self) -> None:
        """Refuse invalid values, and a missing topology.

        Raises:
            OptionError: a value is invalid; the error names the option.
        """
        self.check_values()
        instance("topology", self.topology, Topology, "a Topology")

    def check_values(self) -> None:
        """Refuse invalid values; does not look at the topology."""
        Options.check(self)  # slots make a new class, which super() without arguments does not know
        whole("probing_rebalance_interval_ms", self.probing_rebalance_interval_ms, 1, LATEST_MS)
        endpoint: Any = self.endpoint
        if not isinstance(endpoint, str) or not can_be_sent(endpoint, LONGEST_ENDPOINT):
            raise wrong("endpoint", f"at most {LONGEST_ENDPOINT} bytes of UTF-8", endpoint)
        if self.rack is not None and not can_be_sent(self.rack, LONGEST_RACK):
            raise wrong("rack", f"at most {LONGEST_RACK} bytes of UTF-8", self.rack)
        if self.process_id is not None:
            instance("process_id", self.process_id, UUID, "a UUID")
        function("time", self.time)
        for name in ("holdings", "on_duties"):
            if (given := getattr(self, name)) is not None:
                function(name, given)
        self.for_planning()

    def for_planning(self) -> planner.TaskPlanOptions:
        """Return the options that the planner takes."""
        names = [option.name for option in fields(planner.TaskPlanOptions)]
        return planner.TaskPlanOptions(**{name: getattr(self, name) for name in names})

"""Options of a strategy: fields of a frozen dataclass, checked at construction."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Mapping
from dataclasses import Field, dataclass, fields
from typing import Any, TypeVar

from kafka.errors import KafkaConfigurationError

from kafka_assignors.errors import OptionError
from kafka_assignors.plan import Assignment, Metrics, Why
from kafka_assignors.plan.cause import RebalanceCause
from kafka_assignors.validators import from_text, function, known_names, one_of, text, wrong

OptionsT = TypeVar("OptionsT", bound="Options")


class ConfigurationError(OptionError, KafkaConfigurationError):
    """An invalid option.  Also a ``KafkaConfigurationError``, as kafka-python raises for its own options."""


PLANS = {"plans": True}
"""``field(metadata=PLANS)`` marks an option that changes the plan; see ``plan_options``."""

_POLICIES = ("upgrade", "disabled")

_LONGEST = 2**15 - 1
"""Maximum bytes of a string in Kafka's protocol."""


@dataclass(frozen=True, slots=True)
class PlanReport:
    """The leader's plan of one rebalance; argument of the ``on_plan`` option.

    Attributes:
        strategy: its name on the wire.
        target: the planned owner of every partition.
        assignment: this round's assignment: ``target``, except for partitions that others still hold.  These
            have no owner in this round, or stay with a member that claims them.
        metrics: of ``target``.
        milliseconds: time to read the members' user data and to plan, including the wait for lag.
        why: returns a reason for each partition, by topic and number.  Takes longer than the plan.
        forecasts: number of partitions with a forecast; None for a strategy without forecasts.  If there are
            any, the lags in ``target`` and ``metrics`` are loads: lag plus forecast.
        causes: why the group rebalanced, in a fixed order; ``str`` and ``label`` of each are for logs and
            metrics.
    """

    strategy: str
    target: Assignment
    assignment: Assignment
    metrics: Metrics
    milliseconds: float
    why: Callable[[], list[Why]]
    forecasts: int | None = None
    causes: tuple[RebalanceCause, ...] = ()

    def facts(self) -> dict[str, Any]:
        """Return the fields of the rebalance log line.

        ``members`` counts members, other counts are of partitions.  Loads are in records.
        """
        metrics, forecasts = self.metrics, self.forecasts
        optional = {
            "near": metrics.near,
            "max_load": metrics.max_load,
            "load": None if forecasts is None else "lag+forecast" if forecasts else "lag",
            "forecasts": forecasts,
        }
        return {
            "strategy": self.strategy,
            "members": metrics.members,
            "partitions": metrics.partitions,
            "kept": metrics.kept,
            "moved": metrics.moved,
            "spread": metrics.spread,
            **{name: value for name, value in optional.items() if value is not None},
            "milliseconds": round(self.milliseconds, 3),
            "cause": "; ".join(map(str, self.causes)),
        }

    def line(self) -> str:
        """Return the text of the rebalance log line."""
        *facts, (_, cause) = self.facts().items()
        quoted = str(cause).replace('"', "'")
        return " ".join([*(f"{name}={value}" for name, value in facts), f'cause="{quoted}"'])


@dataclass(frozen=True, slots=True)
class Options:
    """Options of every strategy.

    Attributes:
        rack: rack (availability zone) of this consumer, sent with its subscription (KIP-881).  By default the
            consumer's ``client_rack``.
        on_plan: called on the leader with a ``PlanReport`` after each plan.  Exceptions are logged.
        clock: returns seconds; measures how long a plan takes.
    """

    rack: str | None = None
    on_plan: Callable[[PlanReport], object] | None = None
    clock: Callable[[], float] = time.perf_counter

    @property
    def is_classic_only(self) -> bool:
        """Whether these options keep the broker from converting the group (KIP-848)."""
        return False

    def check(self) -> None:
        """Check the values.

        Raises:
            OptionError: a value is invalid; the error names the option.
        """
        if self.rack is not None and not can_be_sent(text("rack", self.rack), _LONGEST):
            raise wrong("rack", f"at most {_LONGEST} bytes of UTF-8", self.rack)
        if self.on_plan is not None:
            function("on_plan", self.on_plan)
        function("clock", self.clock)


@dataclass(frozen=True, slots=True)
class StickyOptions(Options):
    """Options of ``sticky`` and ``cooperative-sticky``.

    Attributes:
        migration_policy: whether the broker may convert the group when a member of the new protocol joins
            (KIP-848): ``upgrade`` or ``disabled``, as in the broker's ``group.consumer.migration.policy``.
            The leader's value applies.  Set the same value on all members.
    """

    migration_policy: str = "upgrade"

    @property
    def is_classic_only(self) -> bool:
        """Whether the broker must not convert the group."""
        return self.migration_policy == "disabled"

    def check(self) -> None:
        """Check the values, as in ``Options``."""
        Options.check(self)  # with slots, dataclass makes a new class that super() does not know
        one_of("migration_policy", self.migration_policy, _POLICIES)


def can_be_sent(value: str, most: int) -> bool:
    """Whether a string takes at most ``most`` bytes of UTF-8; half a surrogate pair cannot be encoded."""
    try:
        return len(value.encode()) <= most
    except UnicodeEncodeError:
        return False


def _is_number(field: Field[Any]) -> bool:
    """Whether the type of an option names int, float or bool, and not str."""
    words = set(re.findall(r"\w+", str(field.type)))
    return bool(words & {"bool", "float", "int"}) and "str" not in words


def plan_options(kind: type[Options]) -> list[str]:
    """Return the names of the options marked with ``PLANS``, the settings of the planner itself."""
    return [option.name for option in fields(kind) if option.metadata.get("plans")]


def parse_options(kind: type[OptionsT], given: Mapping[str, Any]) -> OptionsT:
    """Build options from keyword arguments.

    A number or boolean may be a text, as in an environment variable: ``"10"``, ``"true"``.

    Raises:
        ConfigurationError: an unknown name, or a value ``check`` refuses.
    """
    try:
        known = {field.name: field for field in fields(kind)}
        known_names(given, list(known))
        options = kind(
            **{name: from_text(value) if _is_number(known[name]) else value for name, value in given.items()}
        )
        options.check()
    except ConfigurationError:
        raise
    except OptionError as error:
        raise ConfigurationError(error.option, error.reason) from error
    return options

"""A strategy's options: declared as fields of a frozen dataclass, checked at construction."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from typing import Any, TypeVar

from kafka.errors import KafkaConfigurationError

from kafka_assignors.errors import OptionError
from kafka_assignors.plan import Assignment, Metrics, Why

__all__ = ["PLANS", "ConfigurationError", "Options", "PlanReport", "StickyOptions", "parse"]

OptionsT = TypeVar("OptionsT", bound="Options")


class ConfigurationError(OptionError, KafkaConfigurationError):
    """A wrong option; also a ``KafkaConfigurationError``, as for kafka-python's own configuration."""


PLANS = {"plans": True}
"""``field(metadata=PLANS)``: the option decides what a plan looks like, and is not about one consumer."""

_POLICIES = ("upgrade", "disabled")

_LONGEST = 2**15 - 1
"""Bytes of a string in Kafka's protocol."""


@dataclass(frozen=True, slots=True)
class PlanReport:
    """What the leader planned in one rebalance; handed to the ``on_plan`` option.

    Attributes:
        strategy: its name on the wire.
        target: where every partition shall be.
        assignment: what is given out in this round; less than ``target`` while members still hold something.
        metrics: of ``target``.
        milliseconds: from the members' subscriptions to the plan.
        why: makes a reason for each partition, by topic and number; only made when called, as it takes
            longer than the plan.
        forecasts: of how many partitions there was a forecast in the load, which then stands for lag in
            ``target`` and ``metrics``; None where the strategy takes none.
    """

    strategy: str
    target: Assignment
    assignment: Assignment
    metrics: Metrics
    milliseconds: float
    why: Callable[[], list[Why]]
    forecasts: int | None = None

    def facts(self) -> dict[str, Any]:
        """What is logged of a rebalance; counts are of partitions, what does not apply is left out."""
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
        }


@dataclass(frozen=True, slots=True)
class Options:
    """Options of every strategy.

    Attributes:
        rack: the rack (availability zone) this consumer runs in, sent with its subscription (KIP-881);
            ``sticky`` and its relatives plan by it.
        on_plan: called on the leader with a ``PlanReport`` after each plan; what it raises is logged.
        clock: seconds, for measuring how long a plan took.
    """

    rack: str | None = None
    on_plan: Callable[[PlanReport], object] | None = None
    clock: Callable[[], float] = time.perf_counter

    @property
    def is_classic_only(self) -> bool:
        """Whether these options ask for what the broker's own assignors do not keep (KIP-848)."""
        return False

    def check(self) -> None:
        """Refuse values that make no sense.

        Raises:
            ConfigurationError: naming the option.
        """
        given: Any = self.rack
        if given is not None and not (isinstance(given, str) and given):
            raise ConfigurationError("rack", f"expected a non-empty string, got {given!r}")
        if given is not None and not _can_be_sent(given):
            raise ConfigurationError(
                "rack", f"expected at most {_LONGEST} bytes of UTF-8, got {given[:20]!r}"
            )
        if self.on_plan is not None and not callable(self.on_plan):
            raise ConfigurationError("on_plan", f"expected a callable, got a {type(self.on_plan).__name__}")
        if not callable(self.clock):
            raise ConfigurationError("clock", f"expected a callable, got a {type(self.clock).__name__}")


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
        """Refuse values that make no sense.

        Raises:
            ConfigurationError: naming the option.
        """
        Options.check(self)  # slots make a new class, which super() without arguments does not know
        if self.migration_policy not in _POLICIES:
            raise ConfigurationError(
                "migration_policy", f"expected {' or '.join(_POLICIES)}, got {self.migration_policy!r}"
            )


def _can_be_sent(value: str) -> bool:
    """Whether Kafka's protocol has room for a string; half a surrogate pair cannot be encoded at all."""
    try:
        return len(value.encode()) <= _LONGEST
    except UnicodeEncodeError:
        return False


def parse(kind: type[OptionsT], given: Mapping[str, Any]) -> OptionsT:
    """Make options out of keyword arguments.

    Raises:
        ConfigurationError: an unknown name, or a value ``check`` refuses.
    """
    known = [field.name for field in fields(kind)]
    for name in given:
        if name not in known:
            raise ConfigurationError(name, f"unknown, there is {', '.join(known)}")
    options = kind(**given)
    options.check()
    return options

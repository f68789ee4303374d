"""The strategies that users pass to a consumer, one file each, and their names.

``assignor`` has their common code.  A user's own strategy is named ``module:Class``.
"""

from __future__ import annotations

import importlib
import sys
from contextlib import suppress
from inspect import isabstract
from pathlib import Path

from kafka_assignors.assignor.base import Assignor
from kafka_assignors.assignor.options import ConfigurationError
from kafka_assignors.strategies.cooperative_lag_aware import CooperativeLagAwareAssignor
from kafka_assignors.strategies.cooperative_sticky import CooperativeStickyAssignor
from kafka_assignors.strategies.failover import FailoverAssignor
from kafka_assignors.strategies.fair import FairAssignor
from kafka_assignors.strategies.fairest_sticky import FairestStickyAssignor
from kafka_assignors.strategies.lag_aware import LagAwareAssignor
from kafka_assignors.strategies.range import RangeAssignor
from kafka_assignors.strategies.roundrobin import RoundRobinAssignor
from kafka_assignors.strategies.sticky import StickyAssignor

__all__ = [
    "STRATEGIES",
    "CooperativeLagAwareAssignor",
    "CooperativeStickyAssignor",
    "FailoverAssignor",
    "FairAssignor",
    "FairestStickyAssignor",
    "LagAwareAssignor",
    "RangeAssignor",
    "RoundRobinAssignor",
    "StickyAssignor",
    "load_strategy",
    "strategy",
]

STRATEGIES: dict[str, type[Assignor]] = {
    kind.name: kind
    for kind in (
        RangeAssignor,
        RoundRobinAssignor,
        StickyAssignor,
        FairAssignor,
        FairestStickyAssignor,
        CooperativeStickyAssignor,
        LagAwareAssignor,
        CooperativeLagAwareAssignor,
        FailoverAssignor,
    )
}
"""Name on the wire -> class."""


def strategy(name: str) -> type[Assignor]:
    """Return the strategy with this name on the wire.

    Raises:
        ConfigurationError: no strategy has this name.
    """
    if name not in STRATEGIES:
        raise ConfigurationError("strategy", f"unknown {name!r}; choose one of {', '.join(STRATEGIES)}")
    return STRATEGIES[name]


def load_strategy(name: str) -> type[Assignor]:
    """Return the strategy with this name on the wire, or import a strategy named ``module:Class``.

    The current folder is searched for modules, too, as with ``python -m``.

    Raises:
        ConfigurationError: no strategy has this name, the module cannot be imported, it has no such class,
            or the class is no strategy or an abstract one.
    """
    module_name, colon, class_name = name.partition(":")
    if not colon:
        return strategy(name)
    with suppress(OSError):  # the current folder may be deleted
        if not {"", here := str(Path.cwd())} & {*sys.path}:
            sys.path.insert(0, here)
    try:
        module = importlib.import_module(module_name)
    except (Exception, SystemExit) as error:  # the module may do anything
        if isinstance(error, ModuleNotFoundError) and f"{module_name}.".startswith(f"{error.name}."):
            raise ConfigurationError("strategy", f"no module {module_name!r}") from None
        reason = " ".join(f"{type(error).__name__}: {error}".split())
        raise ConfigurationError("strategy", f"cannot import module {module_name!r}: {reason}") from error
    if (kind := getattr(module, class_name, None)) is None:
        raise ConfigurationError("strategy", f"module {module_name!r} has no class {class_name!r}")
    if not (isinstance(kind, type) and issubclass(kind, Assignor)):
        raise ConfigurationError("strategy", f"{name!r} is no subclass of kafka_assignors.Assignor")
    if isabstract(kind):
        missing = ", ".join(sorted(kind.__abstractmethods__))
        raise ConfigurationError("strategy", f"{name!r} does not define {missing}")
    return kind

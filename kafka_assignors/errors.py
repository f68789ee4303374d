"""The errors of this package; a few subclasses are beside their code.

Each class stands for one reaction of the caller.
"""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any


class KafkaAssignorsError(Exception):
    """Base of all errors of this package.  The message is one line that the reader can act on."""


class CodecError(KafkaAssignorsError, ValueError):
    """Invalid bytes.  A leader ignores them and goes on planning; a load model stops."""


class ProblemError(KafkaAssignorsError, ValueError):
    """An invalid planning problem (such as a duplicate member, or a negative partition count)."""


class PlanError(KafkaAssignorsError, ValueError):
    """An invalid plan of a strategy.  A leader logs it and uses the fallback plan."""


class OptionError(KafkaAssignorsError, ValueError):
    """An unknown or invalid option.

    Args:
        option: the option's name, also an attribute.
        reason: why it is invalid, also an attribute.
    """

    def __init__(self, option: str, reason: str) -> None:
        super().__init__(f"option {option!r}: {reason}")
        self.option = option
        self.reason = reason

    def __reduce__(self) -> tuple[Any, ...]:
        """Rebuild from the constructor arguments when unpickled; the message alone is not enough."""
        return type(self), (self.option, self.reason), self.__dict__


class MissingExtraError(KafkaAssignorsError, ImportError):
    """A part of this package needs an extra that is not installed.

    Args:
        extra: the extra of this package, also an attribute.
        missing: the name of the missing module or package for the message, also an attribute.
    """

    def __init__(self, extra: str, missing: str) -> None:
        super().__init__(f"{missing} is not installed: pip install 'kafka-assignors[{extra}]'")
        self.extra = extra
        self.missing = missing

    def __reduce__(self) -> tuple[Any, ...]:
        """Rebuild as `OptionError` does."""
        return type(self), (self.extra, self.missing), self.__dict__


@contextmanager
def needs_extra(extra: str) -> Iterator[None]:
    """Raise a `MissingExtraError` if an import in the block fails because a package is not installed.

    Other failures pass unchanged, such as a missing module of this package, of kafka-python or of Python.
    """
    try:
        yield
    except ModuleNotFoundError as error:
        missing = (error.name or "").partition(".")[0]
        if missing in {"", "kafka_assignors", "kafka", *sys.stdlib_module_names}:
            raise
        raise MissingExtraError(extra, str(error.name) if sys.modules.get(missing) else missing) from error


def require_modules(extra: str, names: Mapping[str, str]) -> None:
    """Raise a `MissingExtraError` if a module is not installed; none is imported.

    Args:
        extra: the extra that installs the modules.
        names: module -> its name in the error.
    """
    for module, name in names.items():
        if importlib.util.find_spec(module) is None:
            raise MissingExtraError(extra, name)


class ToolMissingError(KafkaAssignorsError):
    """A tool outside Python is missing (Java, Docker, a browser).  The message says how to install it."""


class BrokerError(KafkaAssignorsError):
    """A broker refuses or does not answer, or the development broker failed."""


class GroupError(KafkaAssignorsError):
    """A live group cannot be read, planned or sized as it is; the message says why."""


class HistoryError(KafkaAssignorsError):
    """A recorded history is missing, incomplete, or not in the pipeline's format."""


class LagError(KafkaAssignorsError):
    """The lag could not be fetched at all.  Unless a subclass applies, a retry will hardly help."""


class LagTimeoutError(LagError):
    """The cluster did not answer in time.  Retry, perhaps with a longer timeout."""


class LagUnreachableError(LagError):
    """No broker answers at the given addresses, or the connection was lost.  Retry later."""


class LagDeniedError(LagError):
    """The cluster denies access, or access to the group.  Credentials, TLS or ACLs must change."""


class LagClosedError(LagError):
    """The fetcher was closed before or during the call."""


class PipelineError(KafkaAssignorsError):
    """A step of the Spark pipeline cannot continue.  The message says where it is stuck."""


class TopologyError(KafkaAssignorsError, ValueError):
    """An invalid topology: a duplicate topic, an invalid name, or topics that do not match."""


class StateError(KafkaAssignorsError):
    """Local state cannot be used.  Unless a subclass applies, a retry will hardly help."""


class StateLockedError(StateError):
    """The state is in use by another process, or by another part of this one."""


class StateFullError(StateError):
    """The disk or a quota is full, or a file has reached its size limit.  State that was flushed is safe."""


class StateDeniedError(StateError):
    """Permissions deny access to the state, or its file system is read-only."""


class StateDamagedError(StateError):
    """The state is damaged.  With a changelog, wipe the state to restore it.  Without one, it is lost."""


class StateClosedError(StateError):
    """The store, its directory or the `StatefulConsumer` was closed before or during the call."""


class ChangelogError(KafkaAssignorsError):
    """A changelog cannot be written, read or created.  Unacknowledged changes are not committed."""


class ChangelogUnreachableError(ChangelogError):
    """A changelog cannot be written now.

    No broker answers, too few replicas do, or this member may have lost its membership.  The write is
    retried.
    """

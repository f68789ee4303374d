"""Every error this package raises, split by what the caller can do about it."""

from __future__ import annotations

from typing import Any

__all__ = [
    "BrokerError",
    "ChangelogError",
    "ChangelogUnreachableError",
    "CodecError",
    "GroupError",
    "HistoryError",
    "KafkaAssignorsError",
    "LagClosedError",
    "LagDeniedError",
    "LagError",
    "LagTimeoutError",
    "LagUnreachableError",
    "MissingExtraError",
    "OptionError",
    "PipelineError",
    "ProblemError",
    "StateClosedError",
    "StateDamagedError",
    "StateDeniedError",
    "StateError",
    "StateFullError",
    "StateLockedError",
    "ToolMissingError",
    "TopologyError",
]


class KafkaAssignorsError(Exception):
    """Base of all errors of this package; its text is one line a person can act on."""


class CodecError(KafkaAssignorsError, ValueError):
    """Bytes that are not what they should be: the sender's history is ignored, the plan goes on."""


class ProblemError(KafkaAssignorsError, ValueError):
    """A planning problem that makes no sense (a member twice, a negative partition count)."""


class OptionError(KafkaAssignorsError, ValueError):
    """A strategy's option has a name or a value it cannot have.  Raised at construction.

    Args:
        option: the option's name, also kept as ``.option``.
        reason: what is wrong with it, also kept as ``.reason``.
    """

    def __init__(self, option: str, reason: str) -> None:
        super().__init__(f"option {option!r}: {reason}")
        self.option = option
        self.reason = reason

    def __reduce__(self) -> tuple[Any, ...]:
        """Made again of what it was made of, in whatever process: its text is not that."""
        return type(self), (self.option, self.reason), self.__dict__


class MissingExtraError(KafkaAssignorsError, ImportError):
    """A part of this package was used whose extra is not installed.

    Args:
        extra: of this package, also kept as ``.extra``.
        missing: the package that is not there, also kept as ``.missing``.
    """

    def __init__(self, extra: str, missing: str) -> None:
        super().__init__(f"{missing} is not installed: pip install 'kafka-assignors[{extra}]'")
        self.extra = extra
        self.missing = missing

    def __reduce__(self) -> tuple[Any, ...]:
        """As of `OptionError`."""
        return type(self), (self.extra, self.missing), self.__dict__


class ToolMissingError(KafkaAssignorsError):
    """Something outside Python is missing (Java, Docker, a browser); the text says how to get it."""


class BrokerError(KafkaAssignorsError):
    """The development broker could not be started, reached or stopped."""


class GroupError(KafkaAssignorsError):
    """A live group that cannot be planned for: unknown, without members, or not of consumers."""


class HistoryError(KafkaAssignorsError):
    """A recorded history that is not there, is not whole, or is not what the pipeline writes."""


class LagError(KafkaAssignorsError):
    """No lag at all could be had.  What has no class of its own below will hardly go away by itself."""


class LagTimeoutError(LagError):
    """The cluster did not answer in time: ask again, perhaps with more time."""


class LagUnreachableError(LagError):
    """No broker answers at the addresses given, or the connection was lost: ask again later."""


class LagDeniedError(LagError):
    """The cluster does not let us in, or not see the group: credentials, TLS or its rules have to change."""


class LagClosedError(LagError):
    """The fetcher was closed, before or while it was asked."""


class PipelineError(KafkaAssignorsError):
    """A step of the pipeline on Spark cannot go on; the text says where it is stuck."""


class TopologyError(KafkaAssignorsError, ValueError):
    """A topology that makes no sense: a topic twice, a name that cannot be, topics that do not fit."""


class StateError(KafkaAssignorsError):
    """Local state cannot be used.  What has no class of its own below will hardly go away by itself."""


class StateLockedError(StateError):
    """Somebody else uses it: another process, or another part of this one."""


class StateFullError(StateError):
    """There is no room for more: the disk, a quota, or a limit on files.  What was flushed before is safe."""


class StateDeniedError(StateError):
    """We are not allowed to: permissions, or a file system that cannot be written."""


class StateDamagedError(StateError):
    """It is not what was written.  Nothing is lost: wiped, it is restored from its changelog."""


class StateClosedError(StateError):
    """The store, or its directory, was closed before or while it was used."""


class ChangelogError(KafkaAssignorsError):
    """A changelog cannot be written, read or made; what was not acknowledged is not committed either."""


class ChangelogUnreachableError(ChangelogError):
    """A changelog cannot be written now: nobody answers, or not enough replicas.  It is tried again."""

"""The load feed as an option: its topic and cluster."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from kafka_assignors.errors import OptionError
from kafka_assignors.lag.feed.consumer import FeedConsumer
from kafka_assignors.lag.feed.reader import FeedReader
from kafka_assignors.lag.settings import fetch_settings

_NAME = re.compile(r"[a-zA-Z0-9._-]{1,249}")


@dataclass(frozen=True, slots=True)
class LoadFeed:
    """A topic with forecasts.

    Attributes:
        topic: its name.
        max_age_ms: forecasts whose event time is further away are ignored; None: the option
            ``load_max_age_ms`` applies.
        consumer_config: keyword arguments of ``KafkaConsumer`` for the connection, if the feed is in another
            cluster or needs another user.  Other settings are the consumer's own.

    Raises:
        OptionError: an invalid value.
    """

    topic: str = "kafka-assignors-load"
    max_age_ms: float | None = None
    # It may hold passwords.
    consumer_config: Mapping[str, Any] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        topic: Any = self.topic
        if not isinstance(topic, str):
            raise OptionError("load_source", f"expected the name of a topic, got a {type(topic).__name__}")
        if not _NAME.fullmatch(topic) or topic in {".", ".."}:
            raise OptionError("load_source", f"{topic[:60]!r} cannot be the name of a topic")
        if self.max_age_ms is not None and not is_milliseconds(self.max_age_ms):
            raise OptionError(
                "load_source",
                f"max_age_ms: expected a number of milliseconds above 0, got {self.max_age_ms!r}",
            )
        given: Any = self.consumer_config
        if not isinstance(given, Mapping):
            raise OptionError(
                "load_source", f"consumer_config: expected a mapping, got a {type(given).__name__}"
            )
        try:
            fetch_settings({"group_id": "group", **given}, None, None)
        except OptionError as error:
            raise OptionError("load_source", f"consumer_config: {error.option}: {error.reason}") from error

    def reader(self, config: Mapping[str, Any], max_age_ms: float) -> FeedReader:
        """Make a reader.  It connects when it begins.

        Args:
            config: the consumer's configuration, with its group.
            max_age_ms: applies if the feed has no limit of its own.

        Raises:
            OptionError: invalid configuration.
        """
        group = {name: config[name] for name in ("group_id",) if name in config}
        settings = fetch_settings({**config, **self.consumer_config, **group}, None, None)
        return FeedReader(
            lambda: FeedConsumer(settings.client, self.topic),
            self.topic,
            settings.group_id,
            max_age_ms if self.max_age_ms is None else self.max_age_ms,
        )


def is_milliseconds(value: object) -> bool:
    """Whether a value is a number above 0 and below infinity."""
    return isinstance(value, (int, float)) and not isinstance(value, bool) and 0 < value < float("inf")

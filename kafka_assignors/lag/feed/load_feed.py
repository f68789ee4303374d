"""The load feed as an option: its topic and cluster."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from kafka_assignors.errors import OptionError
from kafka_assignors.lag.feed.consumer import FeedConsumer
from kafka_assignors.lag.feed.reader import FeedReader
from kafka_assignors.lag.settings import fetch_settings
from kafka_assignors.validators import error_of_part, instance, is_topic, positive, wrong

_FROM_CONSUMER = {
    "group_id": "own",
    "sasl_mechanism": "PLAIN",
    "sasl_plain_username": "own",
    "sasl_plain_password": "own",
    "sasl_oauth_token_provider": "own",
}
"""Placeholders for settings that the consumer's own configuration may add to a ``consumer_config``."""


@dataclass(frozen=True, slots=True)
class LoadFeed:
    """A topic with forecasts.

    Attributes:
        topic: its name.
        max_age_ms: forecasts whose event time is further from now than this are ignored; None: the option
            ``load_max_age_ms`` applies.
        consumer_config: keyword arguments of ``KafkaConsumer`` for the connection, if the feed is in another
            cluster or needs another user.  The other settings are the consumer's own.

    Raises:
        OptionError: an invalid value.
    """

    topic: str = "kafka-assignors-load"
    max_age_ms: float | None = None
    # Not in the repr, because it may hold passwords.
    consumer_config: Mapping[str, Any] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        instance("load_source", self.topic, str, "the name of a topic")
        if not is_topic(self.topic):
            raise wrong("load_source", "the name of a topic", self.topic)
        try:
            if self.max_age_ms is not None:
                positive("max_age_ms", self.max_age_ms, "milliseconds")
            check_config(self.consumer_config)
        except OptionError as error:
            raise error_of_part("load_source", error) from error

    def reader(self, config: Mapping[str, Any], max_age_ms: float) -> FeedReader:
        """Make a reader.  It connects after ``begin``.

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


def check_config(config: Mapping[str, Any]) -> None:
    """Check the option ``consumer_config``; the consumer's own configuration may complete it."""
    instance("consumer_config", config, Mapping, "a mapping")
    try:
        fetch_settings({**_FROM_CONSUMER, **config}, None, None)
    except OptionError as error:
        raise error_of_part("consumer_config", error) from error

"""Options are checked at construction, and the error names the option."""

from __future__ import annotations

import pytest
from kafka.errors import KafkaConfigurationError

from kafka_assignors import (
    ConfigurationError,
    CooperativeStickyAssignor,
    OptionError,
    RangeAssignor,
    StickyAssignor,
    strategy,
)
from tests.unit.conftest import MakeConsumer


def test_configured_returns_a_class_for_kafka_python(consumer: MakeConsumer) -> None:
    """Its options reach the subscription; the original class keeps its own."""
    kind = CooperativeStickyAssignor.configured(rack="zone-a")
    assert issubclass(kind, CooperativeStickyAssignor)
    made = consumer(kind)
    (assignor,) = made._coordinator._assignors.values()
    assert assignor.metadata({"t"}).rack_id == "zone-a"
    assert CooperativeStickyAssignor().metadata({"t"}).rack_id is None


def test_configured_twice_adds_up() -> None:
    """Earlier options stay set."""
    kind = StickyAssignor.configured(rack="a").configured(on_plan=print)
    assert (kind().options.rack, kind().options.on_plan) == ("a", print)


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"rak": "a"}, "rak"),
        ({"rack": ""}, "rack"),
        ({"rack": 5}, "rack"),
        ({"on_plan": 1}, "on_plan"),
        ({"clock": 0}, "clock"),
    ],
)
def test_wrong_options_are_refused_by_name(options: dict[str, object], named: str) -> None:
    """At ``configured`` and at construction alike."""
    with pytest.raises(ConfigurationError, match=f"option '{named}'"):
        StickyAssignor.configured(**options)
    with pytest.raises(ConfigurationError) as error:
        StickyAssignor(**options)
    assert error.value.option == named


def test_configuration_error_is_also_kafka_pythons() -> None:
    """Code that catches kafka-python's configuration errors catches ours."""
    assert issubclass(ConfigurationError, KafkaConfigurationError)
    assert issubclass(ConfigurationError, OptionError)


def test_strategy_by_name() -> None:
    assert strategy("range") is RangeAssignor
    with pytest.raises(ConfigurationError, match="unknown 'rang', there is range, roundrobin"):
        strategy("rang")

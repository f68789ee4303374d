"""Options are checked at construction, and the error names the option."""

from __future__ import annotations

import pytest
from kafka.errors import KafkaConfigurationError

from kafka_assignors import (
    Assignor,
    ConfigurationError,
    CooperativeLagAwareAssignor,
    CooperativeStickyAssignor,
    FailoverAssignor,
    LagAwareAssignor,
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
    with pytest.raises(ConfigurationError, match="unknown 'rang'; choose one of range, roundrobin"):
        strategy("rang")


# --- options as text, as in an environment variable ---------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "options", "read"),
    [
        (FailoverAssignor, {"priority": "10", "preempt": "false"}, {"priority": 10, "preempt": False}),
        (FailoverAssignor, {"priority": "-3"}, {"priority": -3}),
        (FailoverAssignor, {"priority": "null"}, {"priority": None}),
        (LagAwareAssignor, {"lag_timeout_ms": "1500"}, {"lag_timeout_ms": 1500}),
        (LagAwareAssignor, {"lag_timeout_ms": "1.5e3"}, {"lag_timeout_ms": 1500.0}),
        (LagAwareAssignor, {"capacity": "2.5"}, {"capacity": 2.5}),
        (LagAwareAssignor, {"rebalance_on_skew": "true"}, {"rebalance_on_skew": True}),
        (CooperativeLagAwareAssignor, {"min_improvement": "0.2"}, {"min_improvement": 0.2}),
        (CooperativeLagAwareAssignor, {"max_partition_skew": "null"}, {"max_partition_skew": None}),
        (CooperativeLagAwareAssignor, {"load_source": "10"}, {"load_source": "10"}),
        (StickyAssignor, {"rack": "1"}, {"rack": "1"}),
    ],
)
def test_number_or_boolean_may_be_a_text(
    kind: type[Assignor], options: dict[str, str], read: dict[str, object]
) -> None:
    made = kind.configured(**options)().options
    for name, value in read.items():
        assert (getattr(made, name), type(getattr(made, name))) == (value, type(value))


PRIORITY = "expected a whole number from -2147483648 to 2147483647, got "
MILLISECONDS = "expected a number of milliseconds above 0, got "


@pytest.mark.parametrize(
    ("kind", "option", "text", "reason"),
    [
        (FailoverAssignor, "priority", "ten", f"{PRIORITY}'ten'"),
        (FailoverAssignor, "priority", "", f"{PRIORITY}''"),
        (FailoverAssignor, "priority", " 10", f"{PRIORITY}' 10'"),
        (FailoverAssignor, "priority", "1.5", f"{PRIORITY}1.5"),
        (FailoverAssignor, "priority", "true", f"{PRIORITY}True"),
        (FailoverAssignor, "preempt", "True", "expected true or false, got 'True'"),
        (FailoverAssignor, "preempt", "1", "expected true or false, got 1"),
        (FailoverAssignor, "preempt", "yes", "expected true or false, got 'yes'"),
        (LagAwareAssignor, "lag_timeout_ms", "NaN", f"{MILLISECONDS}'NaN'"),
        (LagAwareAssignor, "lag_timeout_ms", "2s", f"{MILLISECONDS}'2s'"),
        (LagAwareAssignor, "lag_timeout_ms", '"5"', f"{MILLISECONDS}'\"5\"'"),
        (LagAwareAssignor, "lag_timeout_ms", "[5]", f"{MILLISECONDS}'[5]'"),
    ],
)
def test_wrong_text_is_one_clear_error(kind: type[Assignor], option: str, text: str, reason: str) -> None:
    with pytest.raises(ConfigurationError) as error:
        kind.configured(**{option: text})
    assert (error.value.option, error.value.reason) == (option, reason)

"""Exports the metrics of consumers to OpenTelemetry, by its API (extra ``otel``).

Names, attributes and values are those of OpenTelemetry's instrumentation of Kafka's Java client
(``kafka.consumer.records_lag_max``, ``client-id``, milliseconds), so its dashboards fit.
"""

from __future__ import annotations

import logging
import re
import threading
import weakref
from collections.abc import Iterable
from functools import lru_cache, partial

from kafka_assignors.errors import MissingExtraError
from kafka_assignors.metrics.exported import ExportedConsumers, Family, HasMetrics, unit_of

try:
    from opentelemetry.metrics import (
        CallbackOptions,
        Meter,
        MeterProvider,
        Observation,
        get_meter,
        get_meter_provider,
    )
except ImportError as error:
    raise MissingExtraError("otel", "opentelemetry-api") from error

log = logging.getLogger("kafka_assignors")

_SCOPE = "kafka_assignors"
_exporters: weakref.WeakKeyDictionary[MeterProvider, weakref.ref[ConsumerInstruments]]
_exporters = weakref.WeakKeyDictionary()
_global: ConsumerInstruments | None = None  # of the global provider, which may be set later
_lock = threading.Lock()


def register(consumer: HasMetrics, meter_provider: MeterProvider | None = None) -> None:
    """Observe a consumer's metrics with OpenTelemetry, until the consumer is closed or deleted.

    Args:
        consumer: a ``KafkaConsumer``, `ContinuousConsumer` or `StatefulConsumer`.  Give each a ``client_id``,
            which becomes an attribute.
        meter_provider: of OpenTelemetry; None: the global one, which may be set later.
    """
    global _global  # noqa: PLW0603  # as OpenTelemetry's provider
    with _lock:
        if meter_provider is None or meter_provider is get_meter_provider():
            exporter = _global = _global or ConsumerInstruments(get_meter(_SCOPE))
        else:
            # The provider keeps the instruments and they the exporter, so weak references are enough.
            reference = _exporters.get(meter_provider)
            exporter = (reference and reference()) or ConsumerInstruments(meter_provider.get_meter(_SCOPE))
            _exporters[meter_provider] = weakref.ref(exporter)
    exporter.consumers.add(consumer)
    exporter.create()


class ConsumerInstruments:
    """One observable instrument for each name, with the values of all registered consumers.

    Attributes:
        consumers: the registered consumers.
    """

    def __init__(self, meter: Meter) -> None:
        self.consumers = ExportedConsumers(_family)
        self._meter = meter
        self._names: set[str] = set()  # of instruments
        self._creating = threading.Lock()  # not held in `_observe`, which the SDK calls under its own lock
        self._unread: dict[str, list[Observation]] = {}  # of the last reading, by instrument
        self._reading = threading.Lock()
        self._is_creating = False  # whether a thread is creating instruments

    def create(self) -> None:
        """Create the instruments of names that have none."""
        with self._creating:
            for exported in self.consumers.read():
                family = exported.family
                if family.name not in self._names:
                    self._names.add(family.name)
                    make = (
                        self._meter.create_observable_counter
                        if family.is_total
                        else self._meter.create_observable_gauge
                    )
                    observe = partial(self._observe, family.name)
                    make(family.name, [observe], family.unit, exported.description)

    def _observe(self, name: str, _: CallbackOptions) -> Iterable[Observation]:
        """Return an instrument's part of a reading.  Its second call begins the next collection."""
        with self._reading:
            if name not in self._unread:
                self._unread = self._read()
            return self._unread.pop(name, [])

    def _read(self) -> dict[str, list[Observation]]:
        observations: dict[str, list[Observation]] = {name: [] for name in self._names.copy()}
        has_new = False
        for exported in self.consumers.read():
            known = observations.get(exported.family.name)
            if known is None:
                has_new = True
            elif exported.value is not None:
                known.append(Observation(exported.value, exported.tags))
        if has_new and not self._is_creating:
            self._create_later()
        return observations

    def _create_later(self) -> None:
        """Create instruments in another thread, because the SDK's lock is held here."""
        self._is_creating = True
        try:
            threading.Thread(target=self._create_safely, name="kafka-assignors-otel", daemon=True).start()
        except RuntimeError:  # the process exits, and this is the last collection
            self._is_creating = False

    def _create_safely(self) -> None:
        try:
            self.create()
        except Exception:
            log.warning("some metrics are not exported", exc_info=True)
        finally:
            self._is_creating = False


@lru_cache(maxsize=4096)
def _family(group: str, name: str) -> Family:
    """Return a family with the name that OpenTelemetry gives to the metric of the Java client."""
    client = next((client for client in ("consumer", "producer") if client in group), None)
    prefix = client or group.removeprefix("kafka-").removesuffix("-count").replace("-", ".")
    instrument = f"kafka.{prefix}.{name.replace('-', '_')}"
    return Family(re.sub(r"[^A-Za-z0-9_.]", "_", instrument), unit_of(name), name.endswith("-total"))

"""Exports the metrics of consumers to OpenTelemetry, by its API (extra ``otel``).

Names and attributes are those of OpenTelemetry's instrumentation of Kafka's Java client
(``kafka.consumer.records_lag_max``, ``client-id``), without units of time in names.  Units follow
OpenTelemetry's conventions (``s``, ``By``), so that a translation to Prometheus appends a unit of time once.
"""

from __future__ import annotations

import logging
import re
import threading
import time
import weakref
from collections.abc import Callable, Iterable
from functools import lru_cache, partial

from kafka_assignors.errors import needs_extra
from kafka_assignors.metrics.exported import ExportedConsumers, Family, HasMetrics, unit_of, words_of

with needs_extra("otel"):
    from opentelemetry.metrics import (
        CallbackOptions,
        Meter,
        MeterProvider,
        Observation,
        get_meter,
        get_meter_provider,
    )

log = logging.getLogger("kafka_assignors")

_SCOPE = "kafka_assignors"
_FRESH_S = 1.0
"""Largest age of the values that a collection exports."""
_instruments: weakref.WeakKeyDictionary[MeterProvider, weakref.ref[ConsumerInstruments]]
_instruments = weakref.WeakKeyDictionary()
_global: ConsumerInstruments | None = None  # of the global provider, which may be set later
_lock = threading.Lock()


def register(consumer: HasMetrics, meter_provider: MeterProvider | None = None) -> None:
    """Observe a consumer's metrics with OpenTelemetry, until the consumer is closed or deleted.

    Args:
        consumer: a ``KafkaConsumer``, `ContinuousConsumer` or `StatefulConsumer`.  Give each a ``client_id``,
            which becomes an attribute.
        meter_provider: of OpenTelemetry; None: the global one, which may be set later.
    """
    global _global  # noqa: PLW0603  # OpenTelemetry's provider is global, too
    with _lock:
        provider = meter_provider or get_meter_provider()
        instruments = _instruments_of(provider)
        meter = partial(get_meter, _SCOPE, meter_provider=provider)
        if instruments is None and provider is get_meter_provider():
            instruments = _global = _global or ConsumerInstruments(meter())
        elif instruments is None:
            instruments = ConsumerInstruments(meter())
            # A weak reference is enough: the provider keeps the callbacks, and these keep the instruments.
            _instruments[provider] = weakref.ref(instruments)
        instruments.consumers.add(consumer)  # under the lock: `_unite` may move the consumers
    instruments.create()


def _instruments_of(provider: MeterProvider) -> ConsumerInstruments | None:
    reference = _instruments.get(provider)
    return None if reference is None else reference()


def _unite() -> None:
    """Merge the global instruments into those of a provider that was used before it became the global one.

    The SDK keeps one callback for each name, so it would export the consumers of only one of the two.
    """
    global _global  # noqa: PLW0603
    with _lock:
        if _global is not None and (own := _instruments_of(get_meter_provider())) is not None:
            _global.move_to(own)
            _global = None


class ConsumerInstruments:
    """One observable instrument for each name, with the values of all registered consumers.

    Attributes:
        consumers: the registered consumers.
    """

    def __init__(self, meter: Meter, clock: Callable[[], float] = time.monotonic) -> None:
        self.consumers = ExportedConsumers(_family)
        self._meter = meter
        self._clock = clock
        self._successor: ConsumerInstruments | None = None  # with the consumers, if they moved
        self._names: set[str] = set()  # of instruments
        # Not held in `_observe`, which the SDK calls under a lock of its own.
        self._creation_lock = threading.Lock()
        self._unread: dict[str, list[Observation]] = {}  # read, but not returned by `_observe` yet
        self._read_at = 0.0
        self._reading_lock = threading.Lock()
        self._is_creating = False  # whether a thread of `_create_later` runs

    def create(self) -> None:
        """Create the instruments of names that have none."""
        with self._creation_lock:
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
                    make(family.name, [observe], family.unit.symbol, exported.description)

    def move_to(self, other: ConsumerInstruments) -> None:
        """Move the consumers.  From then on these instruments observe the values of ``other``."""
        self._successor = other
        self.consumers.move_to(other.consumers)

    def _observe(self, name: str, _: CallbackOptions) -> Iterable[Observation]:
        """Return an instrument's part of a reading.

        One reading serves a collection.  A second call for an instrument, or a call when the reading is older
        than ``_FRESH_S``, starts a new one.
        """
        _unite()
        return (self._successor or self)._part(name)

    def _part(self, name: str) -> list[Observation]:
        with self._reading_lock:
            if name not in self._unread or self._clock() - self._read_at > _FRESH_S:
                self._read_at, self._unread = self._clock(), self._read()
            return self._unread.pop(name, [])

    def _read(self) -> dict[str, list[Observation]]:
        observations: dict[str, list[Observation]] = {name: [] for name in self._names.copy()}
        has_new = False
        for exported in self.consumers.read():
            of_family = observations.get(exported.family.name)
            if of_family is None:
                has_new = True
            elif exported.value is not None:
                of_family.append(Observation(exported.value, exported.tags))
        if has_new and not self._is_creating:
            self._create_later()
        return observations

    def _create_later(self) -> None:
        """Create instruments in another thread, because the SDK's lock is held here."""
        self._is_creating = True
        try:
            threading.Thread(target=self._create_safely, name="kafka-assignors-otel", daemon=True).start()
        except RuntimeError:  # the process exits, or has no more threads; the next collection tries again
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
    instrument = f"kafka.{prefix}.{'_'.join(words_of(name))}"
    return Family(re.sub(r"[^A-Za-z0-9_.]", "_", instrument), unit_of(name), name.endswith("-total"))

"""The record of the load feed; its bytes are a contract with other writers."""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import replace

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from kafka_assignors.errors import CodecError
from kafka_assignors.plan import TopicPartition
from kafka_assignors.wire import load_feed
from kafka_assignors.wire.load_feed import Forecast, ForecastKey

KEY = b'["billing","orders",7]'
VALUE = (
    b'{"version":1,"time_ms":1760000000000,"horizon_ms":3600000,"arrivals":1234.5,"error":56.25,'
    b'"arrival_rate":0.5,"service_rate":2.0,"lag":17.0}'
)
FORECAST = Forecast(
    time_ms=1_760_000_000_000,
    horizon_ms=3_600_000,
    arrivals=1234.5,
    error=56.25,
    arrival_rate=0.5,
    service_rate=2.0,
    lag=17.0,
)
FIELDS = json.loads(VALUE)

names = st.text(st.characters(codec="utf-8"), min_size=1, max_size=249)
amounts = st.floats(0, 2**53)
forecasts = st.builds(
    Forecast,
    time_ms=st.integers(0, 10**14),
    horizon_ms=st.integers(1, 10**12),
    arrivals=amounts,
    error=st.none() | amounts,
    arrival_rate=amounts,
    service_rate=st.none() | amounts,
    lag=st.none() | amounts,
)
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=5,
)


def with_field(name: str, value: object) -> bytes:
    return json.dumps({**FIELDS, name: value}).encode()


# --- records that are written, and read ---------------------------------------------------------------------


def test_bytes_of_version_1() -> None:
    partition = TopicPartition("orders", 7)
    assert (load_feed.encode_key("billing", partition), load_feed.encode(FORECAST)) == (KEY, VALUE)
    assert load_feed.decode_key(KEY) == ForecastKey("billing", partition)
    assert load_feed.decode(VALUE) == FORECAST


@given(names, names, st.integers(0, 2**31 - 1), forecasts)
def test_decode_reverses_encode(group: str, topic: str, partition: int, forecast: Forecast) -> None:
    at = TopicPartition(topic, partition)
    assert load_feed.decode_key(load_feed.encode_key(group, at)) == (group, at)
    assert load_feed.decode(load_feed.encode(forecast)) == forecast


@pytest.mark.parametrize(
    "key",
    [b' [ "billing" ,\n\t"orders", 7 ] ', b'["\\u0062illing","orders",7]'],
    ids=["spaces", "escaped"],
)
def test_a_key_may_have_other_spaces_and_escapes(key: bytes) -> None:
    assert load_feed.decode_key(key) == ("billing", ("orders", 7))


@pytest.mark.parametrize(
    ("value", "read"),
    [
        (with_field("arrivals", 1234), replace(FORECAST, arrivals=1234.0)),
        (with_field("arrivals", 0), replace(FORECAST, arrivals=0.0)),
        (with_field("model", {"any": ["thing"]}), FORECAST),
        (with_field("error", None), replace(FORECAST, error=None)),
        (json.dumps(FIELDS, indent=2).encode(), FORECAST),
        (
            b'{"version":1,"time_ms":1760000000000,"horizon_ms":3600000,"arrivals":1.2345e3,"arrival_rate":5e-1}',
            replace(FORECAST, error=None, service_rate=None, lag=None),
        ),
    ],
    ids=["whole", "nothing", "unknown field", "null", "spaces", "nullable fields left out"],
)
def test_a_value_may_have_other_forms(value: bytes, read: Forecast) -> None:
    assert load_feed.decode(value) == read


# --- records that are refused -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "key",
    [
        *[b"", b"orders", b"{}", b"[]", b'["g","t"]', b'["g","t",0,1]', b'["g","t","0"]', b'["g","t",0.0]'],
        *[b'["g","t",-1]', b'["g","t",2147483648]', b'["g","t",true]', b'["g",7,0]', b'[null,"t",0]'],
        *[b'["","t",0]', b'["g","",0]', b'["\\ud800","t",0]', b'["g","\\ud800",0]', b'"g,t,0"'],
        *[
            b'["g","' + b"t" * 250 + b'",0]',
            b'["g","\xff",0]',
            b'["' + b"g" * load_feed.MAX_BYTES + b'","t",0]',
        ],
    ],
)
def test_an_invalid_key_is_refused(key: bytes) -> None:
    with pytest.raises(CodecError, match=r"^key: "):
        load_feed.decode_key(key)


@pytest.mark.parametrize("name", sorted(FIELDS.keys() - {"version"}))
@pytest.mark.parametrize(
    "wrong", ["5", True, -1, [], {}, 1e300, 10**40, float("nan"), float("inf"), -0.5], ids=repr
)
def test_an_invalid_field_is_refused_by_name(name: str, wrong: object) -> None:
    with pytest.raises(CodecError, match=rf"^value: ({name} is|(NaN|Infinity) is not a JSON number$)"):
        load_feed.decode(with_field(name, wrong))


@pytest.mark.parametrize("name", ["time_ms", "horizon_ms", "arrivals", "arrival_rate"])
def test_a_missing_field_is_refused_by_name(name: str) -> None:
    with pytest.raises(CodecError, match=rf"^value: {name} is None"):
        load_feed.decode(with_field(name, None))
    with pytest.raises(CodecError, match=rf"^value: {name} is None"):
        load_feed.decode(json.dumps({k: v for k, v in FIELDS.items() if k != name}).encode())


@pytest.mark.parametrize(
    ("name", "wrong"),
    [("time_ms", 1.5), ("horizon_ms", 1.5), ("horizon_ms", 0), ("time_ms", 1_760_000_000_000_000)],
    ids=["fraction", "fraction of a horizon", "horizon of 0", "microseconds"],
)
def test_a_time_out_of_range_is_refused_with_the_range(name: str, wrong: float) -> None:
    with pytest.raises(
        CodecError, match=rf"{name} is .*, expected whole milliseconds from [01] to 253402300799999"
    ):
        load_feed.decode(with_field(name, wrong))


@pytest.mark.parametrize("version", [0, 2, 1.0, True, "1", None, [1]])
def test_another_version_is_refused(version: object) -> None:
    with pytest.raises(CodecError, match=r"^value: version "):
        load_feed.decode(with_field("version", version))


@pytest.mark.parametrize("value", [b"", b"1", b"[]", b"null", b"{", b"\xff\xfe", VALUE[:-1], VALUE + b"}"])
def test_a_value_that_is_no_object_is_refused(value: bytes) -> None:
    with pytest.raises(CodecError, match=r"^value: "):
        load_feed.decode(value)


def test_more_than_max_bytes_are_refused_unread() -> None:
    with pytest.raises(CodecError, match="16385 bytes, more than 16384"):
        load_feed.decode(b" " * (load_feed.MAX_BYTES + 1))
    padded = VALUE + b" " * (load_feed.MAX_BYTES - len(VALUE))
    assert load_feed.decode(padded) == FORECAST


def test_an_error_message_is_short() -> None:
    """It is logged."""
    with pytest.raises(CodecError) as refused:
        load_feed.decode(with_field("arrivals", "x" * 10_000))
    assert len(str(refused.value)) < 120


@given(st.binary(max_size=200))
@example(b"[" * load_feed.MAX_BYTES)
@example(b'{"a":' * 3000)
@example(b"1" * 10_000)
@example(b"1e999")
def test_random_bytes_are_read_or_refused(data: bytes) -> None:
    for read in (load_feed.decode_key, load_feed.decode):
        with suppress(CodecError):
            read(data)


# Many values are large, so a busy machine is slow.
@settings(suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(values, max_size=4), st.sampled_from(sorted(FIELDS)), values)
def test_random_json_is_read_or_refused(key: list[object], name: str, value: object) -> None:
    with suppress(CodecError):
        load_feed.decode_key(json.dumps(key).encode())
    with suppress(CodecError):
        load_feed.decode(with_field(name, value))


@given(st.integers(0, len(VALUE) - 1), st.integers(0, 255))
def test_a_value_with_a_changed_byte_is_read_or_refused(index: int, byte: int) -> None:
    with suppress(CodecError):
        load_feed.decode(VALUE[:index] + bytes([byte]) + VALUE[index + 1 :])

from __future__ import annotations

import re

import pytest

from kafka_assignors.broker.settings import SETTINGS, environment, java_properties, listeners, new_cluster_id


@pytest.mark.parametrize(
    ("name", "value", "line"),
    [
        ("a.b", "1", "a.b=1\n"),
        ("path", "C:\\dir", "path=C:\\\\dir\n"),
        ("two", "one\ntwo\r\t", "two=one\\ntwo\\r\\t\n"),
        ("lead", "  x ", "lead=\\  x \n"),
        ("key with:=#!", "a=b:c#d", "key\\ with\\:\\=\\#\\!=a=b:c#d\n"),
        ("umlaut", "ä€", "umlaut=\\u00e4\\u20ac\n"),
        ("astral", "😀", "astral=\\ud83d\\ude00\n"),
        ("backspace", "x\by", "backspace=x\\u0008y\n"),
        ("empty", "", "empty=\n"),
    ],
)
def test_java_reads_properties_back(name: str, value: str, line: str) -> None:
    assert java_properties({name: value}) == line


def test_image_settings_are_variables() -> None:
    assert environment({"log.dirs": "x", "a-b_c.d": "y"}) == {"KAFKA_LOG_DIRS": "x", "KAFKA_A___B__C_D": "y"}


def test_broker_advertises_the_address_it_listens_on() -> None:
    names = listeners("127.0.0.1", 1234, 5678)
    assert names["advertised.listeners"] in names["listeners"].split(",")
    assert names["controller.quorum.voters"] == "1@127.0.0.1:5678"


def test_internal_topics_have_one_replica() -> None:
    assert {SETTINGS[name] for name in SETTINGS if "replication.factor" in name or "min.isr" in name} == {"1"}


def test_cluster_id_is_22_base64_characters_without_a_leading_dash() -> None:
    ids = {new_cluster_id() for _ in range(300)}
    assert len(ids) == 300
    assert all(re.fullmatch(r"[\w][\w-]{21}", each) for each in ids)

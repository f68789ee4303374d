from __future__ import annotations

import pytest

from kafka_assignors.broker.jars.lock import Jar, digest, kafka_version, locked, parse_lock
from kafka_assignors.errors import BrokerError

ROW = "broker org.example:thing_2.13:1.0-rc1 " + "ab" * 32


def test_rows_become_jars_by_configuration_sorted_by_name() -> None:
    text = f"# why\n\n{ROW}\nbroker com.example:other:2 {'00' * 32}\nspark org.example:thing:3 {'11' * 32}\n"
    assert parse_lock(text) == {
        "broker": (
            Jar("com.example", "other", "2", "00" * 32),
            Jar("org.example", "thing_2.13", "1.0-rc1", "ab" * 32),
        ),
        "spark": (Jar("org.example", "thing", "3", "11" * 32),),
    }


@pytest.mark.parametrize(
    "row",
    [
        "broker",
        ROW[:-1],
        ROW.upper(),
        ROW.replace("org.example:", ""),
        ROW.replace("thing", "../thing"),
        ROW + " more",
    ],
)
def test_malformed_row_is_refused_with_its_number(row: str) -> None:
    with pytest.raises(BrokerError, match=r"^jars\.lock line 2: not 'configuration"):
        parse_lock(f"# first\n{row}")


def test_two_rows_for_one_file_are_refused() -> None:
    with pytest.raises(BrokerError, match=r"line 2: thing_2\.13-1\.0-rc1\.jar appears twice"):
        parse_lock(f"{ROW}\n{ROW.replace('org.', 'com.')}")


def test_the_digest_changes_with_any_sum_or_name() -> None:
    jar = parse_lock(ROW)["broker"][0]
    other = Jar(jar.group, jar.artifact, jar.version, "cd" * 32)
    assert len({digest(()), digest((jar,)), digest((other,)), digest((jar, other))}) == 4


def test_unknown_configuration_is_refused_with_the_known_ones() -> None:
    with pytest.raises(BrokerError, match=r"'flink', only broker, spark40, spark41, spark42$"):
        locked("flink")


def test_all_kafka_jars_have_one_version() -> None:
    versions = {jar.version for jar in locked("broker") if jar.group == "org.apache.kafka"}
    assert versions == {kafka_version()}

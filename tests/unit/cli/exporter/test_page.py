"""The exporter's page: names and labels of kafka-lag-exporter, and the figures of a reading."""

from __future__ import annotations

from dataclasses import replace

import pytest
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.parser import text_string_to_metric_families

from kafka_assignors.cli.exporter.page import METRICS, LagPage
from kafka_assignors.cli.exporter.server import KEPT_INTERVALS
from tests.unit.cli.exporter.cluster_reading import a_reading

# Metrics.scala of kafka-lag-exporter 0.8.2: name, help, labels.
_LOG, _GROUP = ("cluster_name", "topic", "partition"), ("cluster_name", "group")
_PARTITION = ("cluster_name", "group", "topic", "partition", "member_host", "consumer_id", "client_id")
KAFKA_LAG_EXPORTER = {
    "kafka_partition_latest_offset": ("Latest offset of a partition", _LOG),
    "kafka_partition_earliest_offset": ("Earliest offset of a partition", _LOG),
    "kafka_consumergroup_group_max_lag": ("Max group offset lag", _GROUP),
    "kafka_consumergroup_group_max_lag_seconds": ("Max group time lag", _GROUP),
    "kafka_consumergroup_group_sum_lag": ("Sum of group offset lag", _GROUP),
    "kafka_consumergroup_group_offset": ("Last group consumed offset of a partition", _PARTITION),
    "kafka_consumergroup_group_lag": ("Group offset lag of a partition", _PARTITION),
    "kafka_consumergroup_group_lag_seconds": ("Group time lag of a partition", _PARTITION),
    "kafka_consumergroup_group_topic_sum_lag": (
        "Sum of group offset lag across topic partitions",
        (*_GROUP, "topic"),
    ),
    "kafka_consumergroup_poll_time_ms": ("Group time poll time", ("cluster_name",)),
}
GOLDEN = """\
kafka_assignors_exporter_up{cluster_name="prod"} 1.0
kafka_assignors_exporter_reading_age_seconds{cluster_name="prod"} 5.25
kafka_partition_latest_offset{cluster_name="prod",partition="0",topic="orders"} 120400.0
kafka_partition_latest_offset{cluster_name="prod",partition="1",topic="orders"} 98000.0
kafka_partition_latest_offset{cluster_name="prod",partition="2",topic="orders"} 700.0
kafka_partition_latest_offset{cluster_name="prod",partition="0",topic="returns"} 100.0
kafka_partition_earliest_offset{cluster_name="prod",partition="0",topic="orders"} 0.0
kafka_partition_earliest_offset{cluster_name="prod",partition="1",topic="orders"} 40000.0
kafka_partition_earliest_offset{cluster_name="prod",partition="2",topic="orders"} 0.0
kafka_partition_earliest_offset{cluster_name="prod",partition="0",topic="returns"} 0.0
kafka_consumergroup_group_offset{client_id="unknown",cluster_name="prod",consumer_id="unknown",group="audit",\
member_host="unknown",partition="0",topic="orders"} 120399.0
kafka_consumergroup_group_offset{client_id="billing-1",cluster_name="prod",consumer_id="billing-1-1f0c2d34",\
group="billing",member_host="/10.0.0.7",partition="0",topic="orders"} 118900.0
kafka_consumergroup_group_offset{client_id="billing-1",cluster_name="prod",consumer_id="billing-1-1f0c2d34",\
group="billing",member_host="/10.0.0.7",partition="1",topic="orders"} 98000.0
kafka_consumergroup_group_offset{client_id="billing-1",cluster_name="prod",consumer_id="billing-1-1f0c2d34",\
group="billing",member_host="/10.0.0.7",partition="0",topic="returns"} 90.0
kafka_consumergroup_group_lag{client_id="unknown",cluster_name="prod",consumer_id="unknown",group="audit",\
member_host="unknown",partition="0",topic="orders"} 1.0
kafka_consumergroup_group_lag{client_id="billing-1",cluster_name="prod",consumer_id="billing-1-1f0c2d34",\
group="billing",member_host="/10.0.0.7",partition="0",topic="orders"} 1500.0
kafka_consumergroup_group_lag{client_id="billing-1",cluster_name="prod",consumer_id="billing-1-1f0c2d34",\
group="billing",member_host="/10.0.0.7",partition="1",topic="orders"} 0.0
kafka_consumergroup_group_lag{client_id="billing-1",cluster_name="prod",consumer_id="billing-1-1f0c2d34",\
group="billing",member_host="/10.0.0.7",partition="0",topic="returns"} 10.0
kafka_consumergroup_group_lag_seconds{client_id="unknown",cluster_name="prod",consumer_id="unknown",\
group="audit",member_host="unknown",partition="0",topic="orders"} 3.25
kafka_consumergroup_group_lag_seconds{client_id="billing-1",cluster_name="prod",\
consumer_id="billing-1-1f0c2d34",group="billing",member_host="/10.0.0.7",partition="0",topic="orders"} 12.5
kafka_consumergroup_group_lag_seconds{client_id="billing-1",cluster_name="prod",\
consumer_id="billing-1-1f0c2d34",group="billing",member_host="/10.0.0.7",partition="1",topic="orders"} 0.0
kafka_consumergroup_group_lag_seconds{client_id="billing-1",cluster_name="prod",\
consumer_id="billing-1-1f0c2d34",group="billing",member_host="/10.0.0.7",partition="0",topic="returns"} 4.0
kafka_consumergroup_group_max_lag{cluster_name="prod",group="audit"} 1.0
kafka_consumergroup_group_max_lag{cluster_name="prod",group="billing"} 1500.0
kafka_consumergroup_group_max_lag_seconds{cluster_name="prod",group="audit"} 3.25
kafka_consumergroup_group_max_lag_seconds{cluster_name="prod",group="billing"} 12.5
kafka_consumergroup_group_sum_lag{cluster_name="prod",group="audit"} 1.0
kafka_consumergroup_group_sum_lag{cluster_name="prod",group="billing"} 1510.0
kafka_consumergroup_group_topic_sum_lag{cluster_name="prod",group="audit",topic="orders"} 1.0
kafka_consumergroup_group_topic_sum_lag{cluster_name="prod",group="billing",topic="orders"} 1500.0
kafka_consumergroup_group_topic_sum_lag{cluster_name="prod",group="billing",topic="returns"} 10.0
kafka_consumergroup_poll_time_ms{cluster_name="prod"} 250.0
kafka_assignors_exporter_groups_left_out{cluster_name="prod"} 1.0
"""


class ScrapedPage:
    """A page with a clock of its own, as Prometheus scrapes it; readings are 10 s apart."""

    def __init__(self) -> None:
        self.now = 1000.0
        self.page = LagPage("prod", 10, lambda: self.now)
        self.registry = CollectorRegistry()
        self.registry.register(self.page)

    def text(self) -> str:
        """Return the page as text."""
        return generate_latest(self.registry).decode()

    def samples(self, name: str) -> dict[str, float]:
        """Return the samples of a metric by group."""
        return {
            sample.labels.get("group", ""): sample.value
            for family in text_string_to_metric_families(self.text())
            for sample in family.samples
            if sample.name == name
        }

    def up(self) -> float:
        """Return the exporter's own up."""
        return self.samples("kafka_assignors_exporter_up")[""]

    def sums(self) -> dict[str, float]:
        """Return the sum of lag of each group."""
        return self.samples("kafka_consumergroup_group_sum_lag")


@pytest.fixture
def scraped() -> ScrapedPage:
    """A page without a reading."""
    return ScrapedPage()


def test_names_helps_and_labels_are_those_of_kafka_lag_exporter() -> None:
    theirs = {
        name: (metric.help, ("cluster_name", *metric.labels))
        for name, metric in METRICS.items()
        if not name.startswith("kafka_assignors_")
    }
    assert theirs == KAFKA_LAG_EXPORTER


def test_page_of_a_reading(scraped: ScrapedPage) -> None:
    scraped.page.publish(a_reading())
    scraped.now += 5
    text = scraped.text()
    assert [line for line in text.splitlines() if not line.startswith("#")] == GOLDEN.splitlines()
    families = {family.name: family for family in text_string_to_metric_families(text)}
    assert families.keys() == METRICS.keys()
    for name, family in families.items():
        assert (family.type, family.documentation) == ("gauge", METRICS[name].help)
        assert family.samples
        assert {tuple(sorted(sample.labels)) for sample in family.samples} == {
            tuple(sorted(("cluster_name", *METRICS[name].labels)))
        }


def test_scrape_can_choose_metrics(scraped: ScrapedPage) -> None:
    """kafka-lag-exporter's users may scrape ``/metrics?name[]=NAME``."""
    scraped.page.publish(a_reading())
    name = "kafka_consumergroup_group_max_lag"
    text = generate_latest(scraped.registry.restricted_registry([name])).decode()
    assert [family.name for family in text_string_to_metric_families(text)] == [name]


def test_page_without_a_reading_shows_up_0(scraped: ScrapedPage) -> None:
    assert scraped.up() == 0
    assert scraped.sums() == {}


def test_figures_stay_for_three_intervals_without_a_reading(scraped: ScrapedPage) -> None:
    scraped.page.publish(a_reading(took_s=0))
    scraped.page.fail()
    assert (scraped.up(), len(scraped.sums())) == (0, 2)
    scraped.now += KEPT_INTERVALS * 10
    assert len(scraped.sums()) == 2
    scraped.now += 0.1
    assert (scraped.up(), scraped.sums()) == (0, {})
    age = scraped.samples("kafka_assignors_exporter_reading_age_seconds")[""]
    assert age == pytest.approx(KEPT_INTERVALS * 10 + 0.1)
    scraped.page.publish(a_reading())
    assert (scraped.up(), len(scraped.sums())) == (1, 2)


def test_group_that_disappears_leaves_the_page(scraped: ScrapedPage) -> None:
    reading = a_reading()
    scraped.page.publish(reading)
    scraped.page.publish(replace(reading, groups={"audit": reading.groups["audit"]}))
    assert scraped.sums() == {"audit": 1}
    assert "billing" not in scraped.text()


def test_incomplete_reading_replaces_only_old_figures(scraped: ScrapedPage) -> None:
    whole = a_reading(took_s=0)
    half = replace(whole, groups={"audit": whole.groups["audit"]}, is_complete=False)
    scraped.page.publish(whole)
    scraped.now += 10
    scraped.page.publish(half)
    assert (scraped.up(), len(scraped.sums())) == (0, 2)
    for _ in range(KEPT_INTERVALS):
        scraped.now += 10
        scraped.page.publish(half)
    assert (scraped.up(), scraped.sums()) == (0, {"audit": 1})
    scraped.now += 10
    scraped.page.publish(half)
    assert scraped.samples("kafka_assignors_exporter_reading_age_seconds")[""] == 0
    scraped.page.publish(whole)
    assert (scraped.up(), len(scraped.sums())) == (1, 2)


def test_unknown_seconds_of_one_partition_leave_out_those_of_its_group(scraped: ScrapedPage) -> None:
    """The longest age would fall below the truth, and an alert would end."""
    reading = a_reading()
    late, *others = reading.groups["billing"]
    partial = {**reading.groups, "billing": (replace(late, seconds=None), *others)}
    scraped.page.publish(replace(reading, groups=partial))
    assert scraped.samples("kafka_consumergroup_group_max_lag_seconds") == {"audit": 3.25}
    assert scraped.sums() == {"audit": 1, "billing": 1510}


def test_names_of_groups_are_escaped(scraped: ScrapedPage) -> None:
    reading = a_reading()
    name = 'a"b\\c\nd-é'
    scraped.page.publish(replace(reading, groups={name: reading.groups["audit"]}))
    assert scraped.sums() == {name: 1}

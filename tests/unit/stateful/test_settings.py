"""Options of a stateful consumer."""

from __future__ import annotations

import socket
import threading
from pathlib import Path
from typing import Any

import pytest
from kafka.errors import KafkaTimeoutError

from kafka_assignors.errors import OptionError
from kafka_assignors.stateful import (
    RuntimeOptions,
    StatefulAssignor,
    StatefulConsumer,
    Subtopology,
    Topology,
    settings,
)
from kafka_assignors.stateful.runtime import assembly
from kafka_assignors.stateful.settings import checked_config
from tests.support.waiting import until

TOPOLOGY = Topology((Subtopology("a", ("t",)), Subtopology("b", ("u",))))


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"commit_interval_ms": 0}, "commit_interval_ms"),
        ({"max_uncommitted_bytes": 1}, "max_uncommitted_bytes"),
        ({"restore_fetch_bytes": None}, "restore_fetch_bytes"),
        ({"cleanup_delay_s": -1}, "cleanup_delay_s"),
        ({"standby_bytes_per_s": 0}, "standby_bytes_per_s"),
        ({"restore_fetch_bytes": 2**31}, "restore_fetch_bytes"),
        ({"cleanup_delay_s": float("inf")}, "cleanup_delay_s"),
        ({"close_timeout_s": 0}, "close_timeout_s"),
        ({"close_timeout_s": float("inf")}, "close_timeout_s"),
        ({"changelog_replication_factor": "x"}, "changelog_replication_factor"),
        ({"changelog_replication_factor": 0}, "changelog_replication_factor"),
        ({"changelog_max_request_size": 0}, "changelog_max_request_size"),
        ({"changelog_max_request_size": 2**31}, "changelog_max_request_size"),
        ({"changelog_compression": "lzma"}, "changelog_compression"),
        ({"acceptable_recovery_lag": -1}, "acceptable_recovery_lag"),
        ({"balance_factor": 1.5}, "balance_factor"),
        ({"rack": 5}, "rack"),
        ({"endpoint": 7}, "endpoint"),
        ({"store": {"max_open_files": 100}}, "store"),
        ({"changelog_compression": 1}, "changelog_compression"),
        ({"before_commit": "flush"}, "before_commit"),
    ],
)
def test_invalid_options_are_named(options: dict[str, Any], named: str) -> None:
    with pytest.raises(OptionError) as caught:
        RuntimeOptions(**options)
    assert caught.value.option == named


def test_valid_options_are_accepted() -> None:
    options = RuntimeOptions(
        cleanup_delay_s=0,
        changelog_replication_factor=3,
        changelog_max_request_size=2**24,
        changelog_compression="gzip",
    )
    assert (options.cleanup_delay_s, options.changelog_compression) == (0, "gzip")


def test_compression_without_its_library_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """At the start, not at the first write."""
    monkeypatch.setitem(settings._COMPRESSIONS, "zstd", lambda: False)
    with pytest.raises(OptionError, match="library is missing") as caught:
        RuntimeOptions(changelog_compression="zstd")
    assert caught.value.option == "changelog_compression"


def test_planning_options_and_defaults_equal_the_assignors() -> None:
    """Both classes declare them, so they could differ."""
    ours = RuntimeOptions().assignor_options
    theirs = StatefulAssignor(topology=TOPOLOGY).options
    assert ours == {name: getattr(theirs, name) for name in ours}


@pytest.mark.parametrize(
    ("config", "named", "message"),
    [
        ({"group_id": "g", "enable_auto_commit": 1}, "enable_auto_commit", "leave it out"),
        ({"group_id": "g", "partition_assignment_strategy": 1}, "partition_assignment_strategy", "leave it"),
        ({"group_id": "g", "consumer_timeout_ms": 1}, "consumer_timeout_ms", "leave it out"),
        ({"group_id": "g", "kafka_client": 1}, "kafka_client", "leave it out"),
        ({"bootstrap_servers": "localhost:1"}, "group_id", "application"),
    ],
)
def test_reserved_settings_and_a_missing_group_are_refused(
    config: dict[str, Any], named: str, message: str
) -> None:
    with pytest.raises(OptionError, match=message) as caught:
        checked_config(config)
    assert caught.value.option == named


def test_default_offset_reset_is_earliest() -> None:
    assert checked_config({"group_id": "g"})["auto_offset_reset"] == "earliest"
    assert checked_config({"group_id": "g", "auto_offset_reset": "latest"})["auto_offset_reset"] == "latest"
    assert checked_config({"group_id": "g"})["enable_auto_commit"] is False


@pytest.mark.parametrize(
    "process",
    [None, "count", [print], {}, {"a": print}, {"a": print, "b": 1}, {"a": print, "b": print, "c": print}],
)
def test_each_subtopology_needs_a_function(process: Any, tmp_path: Any) -> None:
    with pytest.raises(OptionError, match="one for each of a, b"):
        StatefulConsumer(TOPOLOGY, process, tmp_path, group_id="g")
    assert not list(tmp_path.iterdir()), "it made files before it looked at its arguments"


async def _process_later(record: Any, store: Any) -> None: ...


@pytest.mark.parametrize("process", [_process_later, {"a": print, "b": _process_later}])
def test_coroutine_function_is_refused(process: Any, tmp_path: Any) -> None:
    """Nothing would await it, so its records would be committed unprocessed."""
    with pytest.raises(OptionError, match="with async or yield") as caught:
        StatefulConsumer(TOPOLOGY, process, tmp_path, group_id="g")
    assert caught.value.option == "process"


def test_cluster_that_is_gone_after_the_check_of_changelogs_leaves_no_thread(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(assembly, "changelogs_of", lambda *_, **__: {})
    before = threading.active_count()
    with socket.create_server(("127.0.0.1", 0)) as silent:
        nowhere: Any = {
            "bootstrap_servers": f"127.0.0.1:{silent.getsockname()[1]}",
            "bootstrap_timeout_ms": 100,
        }
        for _ in range(2):  # the directory is unlocked, too
            with pytest.raises(KafkaTimeoutError):
                StatefulConsumer(TOPOLOGY, dict.fromkeys("ab", print), tmp_path, group_id="g", **nowhere)
    until(lambda: threading.active_count() <= before, "the threads to end")


@pytest.mark.parametrize("topology", [None, "t", Subtopology("a", ("t",))])
def test_invalid_topology_is_refused(topology: Any, tmp_path: Any) -> None:
    with pytest.raises(OptionError, match="expected a Topology") as caught:
        StatefulConsumer(topology, print, tmp_path, group_id="g")
    assert caught.value.option == "topology"
    assert not list(tmp_path.iterdir())

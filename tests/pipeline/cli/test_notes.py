"""``kafka-assignors pipeline run`` checks the feed, and prints notes on its settings, before it starts."""

from __future__ import annotations

import pytest
from click.testing import CliRunner

from kafka_assignors.assignor.lag.options import CooperativeLagOptions
from kafka_assignors.cli import cli
from kafka_assignors.cli.pipeline.command import notes_on_feed
from kafka_assignors.cli.pipeline.recording import RecordingOptions
from kafka_assignors.cli.plan.forecasts import MAX_AGE_MS
from kafka_assignors.forecast import LoadSettings
from kafka_assignors.lag.feed.load_feed import LoadFeed


def call(*arguments: str) -> list[str]:
    done = CliRunner().invoke(cli, ["pipeline", "run", "g", "--bootstrap", "h:1", *arguments])
    assert done.exit_code == 0, done.output
    return done.stderr.splitlines()


@pytest.fixture(autouse=True)
def _without_spark(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(RecordingOptions, "run", lambda *_: None)


def test_feed_that_is_too_old_for_consumers_is_noted_with_a_remedy() -> None:
    [note] = call("--step", "900", "--delay", "300", "--every", "10")
    assert note == (
        "note: forecasts get 1,260 s old before newer ones arrive (--step, --delay, --every), "
        "but consumers ignore forecasts older than 900 s: set load_max_age_ms=1260000 or more"
    )


def test_feed_whose_forecasts_end_before_newer_ones_is_noted() -> None:
    [note] = call("--step", "60", "--horizon", "60")
    assert note.startswith("note: forecasts get 180 s old")
    assert note.endswith("but end after a --horizon of 60 s: make it longer")


@pytest.mark.parametrize(
    "arguments",
    [
        (),
        ("--step", "300", "--delay", "589", "--every", "10"),
        ("--step", "900", "--delay", "300", "--no-feed"),
    ],
)
def test_settings_without_a_problem_print_no_note(arguments: tuple[str, ...]) -> None:
    assert call(*arguments) == []


def test_feed_one_batch_older_than_the_limit_of_consumers_is_noted() -> None:
    assert list(notes_on_feed(LoadSettings(step_s=300, delay_s=589), 10)) == []
    assert len(list(notes_on_feed(LoadSettings(step_s=300, delay_s=590), 10))) == 1


def test_note_has_the_default_of_consumers() -> None:
    assert CooperativeLagOptions().load_max_age_ms == MAX_AGE_MS
    assert LoadFeed("t").max_age_ms is None


@pytest.mark.parametrize("name", ["", "my feed", "a,b"])
def test_name_that_no_topic_can_have_is_refused(name: str) -> None:
    """The pipeline would try to write to it for ever."""
    done = CliRunner().invoke(cli, ["pipeline", "run", "g", "--bootstrap", "h:1", "--feed", name])
    assert done.exit_code == 2
    assert done.stderr.endswith(f"Error: --feed: expected the name of a topic, got {name!r}\n")
    assert call("--feed", name, "--no-feed") == []

"""Two demos for real, each run once, when a test first asks for it."""

from __future__ import annotations

import json
import subprocess

import pytest

from tests.integration.demo.small_demo import FLIGHTS, SMALL, Demo, command


@pytest.fixture(scope="session")
def demo(kafka_bootstrap: str, tmp_path_factory: pytest.TempPathFactory) -> Demo:
    """The replay and the backlog, without the pipeline."""
    return ran(kafka_bootstrap, tmp_path_factory)


@pytest.fixture(scope="session")
def whole(kafka_bootstrap: str, tmp_path_factory: pytest.TempPathFactory) -> Demo:
    """All scenes and the pipeline; takes minutes, so only long tests use it."""
    scenes = ["--pipeline", "--scene", "replay", "--scene", "backlog", "--scene", "failover", "--flights"]
    return ran(kafka_bootstrap, tmp_path_factory, *scenes, str(FLIGHTS))


def ran(bootstrap: str, folders: pytest.TempPathFactory, *more: str) -> Demo:
    """Run a demo to its end, which must be good."""
    out = folders.mktemp("demo") / "out"
    ended = subprocess.run(
        command(out, "--bootstrap", bootstrap, "--output", "json", *SMALL, *more),
        capture_output=True,
        text=True,
        timeout=1800,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr
    return Demo(ended, out, json.loads((out / "results.json").read_text()))

"""The broker that tests start for themselves is the one that its environment variable names."""

from __future__ import annotations

import pytest

from kafka_assignors.broker import development_broker, docker
from kafka_assignors.errors import BrokerError, ToolMissingError
from tests.support.broker.backend import WANTED, own_backend


@pytest.mark.parametrize(
    ("wanted", "backend"),
    [(None, "auto"), ("auto", "auto"), ("jars", "jars"), ("docker", "docker"), ("127.0.0.1:9092", "auto")],
)
def test_tests_start_the_wanted_backend(
    monkeypatch: pytest.MonkeyPatch, wanted: str | None, backend: str
) -> None:
    monkeypatch.delenv(WANTED, raising=False)
    if wanted is not None:
        monkeypatch.setenv(WANTED, wanted)
    assert own_backend() == backend


@pytest.mark.parametrize(("wanted", "error"), [("docker", ToolMissingError), ("dokcer", BrokerError)])
def test_without_the_wanted_backend_no_other_one_starts(
    monkeypatch: pytest.MonkeyPatch, wanted: str, error: type[Exception]
) -> None:
    monkeypatch.setenv(WANTED, wanted)
    monkeypatch.setattr(docker, "compose_command", lambda: None)
    with pytest.raises(error, match=r"docker|Docker"), development_broker(own_backend()):
        pass

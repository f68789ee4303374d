"""The configuration of a member that waits for its broker."""

from __future__ import annotations

from pathlib import Path

from demo.member.start import WorkerConfig


def config(folder: Path) -> WorkerConfig:
    """A member whose broker is not there: it waits for one."""
    return WorkerConfig(
        bootstrap="127.0.0.1:1",
        topic="t",
        client_id="c",
        strategy="range",
        log=str(folder / "m1.jsonl"),
        work_ms=0,
        warm_up_ms=0,
        session_timeout_ms=6000,
        heartbeat_ms=500,
        batch=10,
    )

"""The hardware and software of the measurement, without the machine's name."""

from __future__ import annotations

import os
import platform
import time
from importlib.metadata import version
from pathlib import Path


def machine() -> dict[str, str]:
    """Return the facts by name, as text for a person."""
    return {
        "date": time.strftime("%Y-%m-%d"),
        "cores": str(os.cpu_count()),
        "memory": _memory(),
        "processor": _processor(),
        "load before": f"{os.getloadavg()[0]:.1f}",
        "Python": platform.python_version(),
        "kafka-python": version("kafka-python"),
        "numpy": version("numpy"),
    }


def _memory() -> str:
    return f"{os.sysconf('SC_PAGE_SIZE') * os.sysconf('SC_PHYS_PAGES') / 2**30:.0f} GiB"


def _processor() -> str:
    """Return the processor's model; only Linux has a file with it."""
    try:
        text = Path("/proc/cpuinfo").read_text(encoding="utf-8")
    except OSError:
        return platform.processor() or platform.machine()
    models = [line.partition(":")[2].strip() for line in text.splitlines() if line.startswith("model name")]
    return models[0] if models else platform.machine()

"""A device that is always full, for tests of a full disk."""

from __future__ import annotations

from pathlib import Path

import pytest

FULL = Path("/dev/full")

needs_full_device = pytest.mark.skipif(not FULL.exists(), reason="only Linux has this device")

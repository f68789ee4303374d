"""The backend of brokers that tests start for themselves, from ``KAFKA_ASSIGNORS_TEST_BROKER``."""

from __future__ import annotations

import os
from typing import cast

from kafka_assignors.broker import Backend

WANTED = "KAFKA_ASSIGNORS_TEST_BROKER"


def own_backend() -> Backend:
    """Return the backend for `development_broker`, which refuses unknown ones.

    The variable may name a running broker by ``host:port``; a broker of the test's own is then ``auto``.
    """
    wanted = os.environ.get(WANTED, "auto")
    return "auto" if ":" in wanted else cast("Backend", wanted)

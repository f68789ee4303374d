"""The jars of the broker and of Spark: locked, downloaded once, checked.

- ``fetch``: `fetch_jars`, the cache.  ``download``: one jar from a Maven repository.
- ``lock``: the list of jars, and their checksums.
"""

from __future__ import annotations

from kafka_assignors.broker.jars.fetch import fetch_jars

__all__ = ["fetch_jars"]

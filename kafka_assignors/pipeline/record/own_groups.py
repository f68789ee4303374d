"""Excludes Spark's own consumer groups from a group pattern.  Pure."""

from __future__ import annotations

import re
from re import Pattern

_OF_SPARK = re.compile(r"spark-kafka-(source|relation|streaming)-.*")
"""Groups of Spark's connector, with a new name at each start."""


def selects(like: Pattern[str], group: str) -> bool:
    """Return whether a pattern selects a group: it matches the whole name, and the group is not Spark's own.

    The recording itself uses Spark's groups, so each start would add a group without commits.
    """
    return like.fullmatch(group) is not None and _OF_SPARK.fullmatch(group) is None

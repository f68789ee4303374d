"""Pure: groups that a pattern does not mean, though it matches them."""

from __future__ import annotations

import re
from re import Pattern

__all__ = ["means"]

_SPARK_S = re.compile(r"spark-kafka-(source|relation|streaming)-.*")
"""What Spark's connector calls its consumers, a new name each time one starts; they commit nothing."""


def means(like: Pattern[str], group: str) -> bool:
    """Whether a pattern stands for a group: matches its whole name, and it is none of Spark's consumers.

    Those that record are of that kind, too: each start would bring a group whose lag is all there is.
    """
    return like.fullmatch(group) is not None and _SPARK_S.fullmatch(group) is None

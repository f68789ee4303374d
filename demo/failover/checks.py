"""Pure: what was counted beside what there was to count, and what must not be."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping

from demo.failover.results import FailoverResult


def differences(what: str, stored: Mapping[str, tuple[int, int]], there: Counter[str]) -> Iterator[str]:
    """Each key whose count, less its doubles, is not the number of its records.

    Args:
        what: the keys are.
        stored: key -> times counted, and how many of these were doubles.
        there: key -> records.
    """
    for key in sorted(stored.keys() | there.keys()):
        count, doubles = stored.get(key, (0, 0))
        if count - doubles != there[key]:
            said = f"{count:,}" + (f" less {doubles:,} doubles" if doubles else "")
            yield f"{what} {key}: {said} counted, {there[key]:,} in the topic"


def failover_faults(result: FailoverResult) -> list[str]:
    """Say, one by one, what must not be: something lost, not counted, or never at rest."""
    found: list[str] = []
    if result["fault"]:
        found.append(f"failover: {result['fault']}")
    if result["lost"]:
        found.append(f"failover: {result['lost']:,} of {result['sent']:,} records were not processed")
    found += [
        f"failover, {one['act']}, {one['kind']} {one['member']}: {one['fault']}"
        for one in result["events"]
        if one["fault"]
    ]
    counts = result["counts"]
    if counts["fault"]:
        found.append(f"failover, the counts: {counts['fault']}")
    found += [f"failover, {difference}" for difference in counts["differences"]]
    return found

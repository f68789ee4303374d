"""Members and strategies have colours that can be told apart."""

from __future__ import annotations

import itertools

from kafka_assignors.report.palette import MEMBERS, STRATEGIES, member_colour, strategy_colour


def test_ten_strategies_and_32_members_have_distinct_colours() -> None:
    for colours in (
        [member_colour(f"m{number}") for number in range(1, 33)],
        [strategy_colour(place) for place in range(10)],
    ):
        assert min(distance(*pair) for pair in itertools.combinations(colours, 2)) > 45
    assert member_colour("m33") == MEMBERS[0]
    assert strategy_colour(10) == STRATEGIES[0]


def distance(first: str, second: str) -> float:
    """Weighted by how well eyes see the channels ("redmean"); black and white are 765 apart."""
    first_rgb, second_rgb = (
        tuple(int(colour[place : place + 2], 16) for place in (1, 3, 5)) for colour in (first, second)
    )
    red = (first_rgb[0] + second_rgb[0]) / 2
    r, g, b = ((x - y) ** 2 for x, y in zip(first_rgb, second_rgb, strict=True))
    return float(((2 + red / 256) * r + 4 * g + (2 + (255 - red) / 256) * b) ** 0.5)

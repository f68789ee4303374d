"""The tests' evaluator of PromQL returns what Prometheus 2.42 does for the same samples."""

from __future__ import annotations

import pytest
from prometheus_client.samples import Sample

from tests.support.promql import Scrape, evaluate

A, B = {"g": "a", "p": "0"}, {"g": "a", "p": "1"}
SCRAPES = [
    Scrape(
        15.0 * number,
        [
            Sample("n", A, 100 + 30 * number),
            Sample("n", B, 5 + number),
            Sample("m", A, 10),
            Sample("r", A, 7 * number if number < 3 else number),  # made again
            *([Sample("late", A, 20 * number)] if number > 2 else []),
        ],
    )
    for number in range(6)
]


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("n", {("a", "0"): 250, ("a", "1"): 10}),
        ('n{p="1"}', {("a", "1"): 10}),
        ('n{g=~".*",p!="1"}', {("a", "0"): 250}),
        ('n{p=~"2|3"}', {}),
        ("sum by (g) (n)", {("a",): 260}),
        ("min by (g) (n)", {("a",): 10}),
        ("max by (g, p) (n)", {("a", "0"): 250, ("a", "1"): 10}),
        ("topk(1, n)", {("a", "0"): 250}),
        ("n - m", {("a", "0"): 240}),
        ("sum by (g) (n - m)", {("a",): 240}),
        ("rate(n[60s])", {("a", "0"): 2, ("a", "1"): 1 / 15}),
        ("sum by (g) (rate(max by (g, p) (n)[60s:15s]))", {("a",): 2 + 1 / 15}),
        ("sum by (g) (rate(max by (g, p) (n)[1m:30s]))", {("a",): 2 + 1 / 15}),
        ("rate(r[60s])", {("a", "0"): (5 - 7 + 14) / 60}),
        ("rate(late[60s])", {("a", "0"): 40 * 37.5 / 30 / 60}),
        ("rate(absent[60s])", {}),
    ],
)
def test_value_at_the_last_scrape(expression: str, expected: dict[tuple[str, ...], float]) -> None:
    vector = evaluate(expression, SCRAPES, 75)
    assert {
        tuple(value for _, value in sorted(labels)): value for labels, value in vector.items()
    } == pytest.approx(expected)


@pytest.mark.parametrize("wrong", ["sum(n)", "n[5m]", "n +", "topk(1, n", "rate(n)", "n n", "sum by (g) (n"])
def test_unknown_expression_is_refused(wrong: str) -> None:
    with pytest.raises(ValueError):  # noqa: PT011  # each has its own text
        evaluate(wrong, SCRAPES, 75)

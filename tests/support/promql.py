"""Evaluates the PromQL of the Grafana dashboard over scraped pages, by Prometheus' rules.

It knows selectors, ``min``, ``max``, ``sum`` and ``topk``, ``rate`` also of a subquery, and differences.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

from prometheus_client.samples import Sample

Labels = frozenset[tuple[str, str]]
Vector = dict[Labels, float]
"""Labels of a series, without its name -> its value at a moment."""

_TOKEN = re.compile(r'\s*(\d+[smhd]?|[a-zA-Z_][\w:]*|"[^"]*"|=~|!~|!=|[=(){}\[\],:-])')
_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86_400}
_LOOK_BACK_S = 300
_AGGREGATES: Mapping[str, Callable[[Iterable[float]], float]] = {"min": min, "max": max, "sum": sum}
_MATCHES: Mapping[str, Callable[[str, str], bool]] = {
    "=": lambda value, text: value == text,
    "!=": lambda value, text: value != text,
    "=~": lambda value, text: re.fullmatch(text, value) is not None,
    "!~": lambda value, text: re.fullmatch(text, value) is None,
}


class Scrape(NamedTuple):
    """A scraped page, at a time in seconds."""

    at: float
    samples: Sequence[Sample]


def evaluate(expression: str, scrapes: Sequence[Scrape], at: float) -> Vector:
    """Return the value of an expression at a moment; ``scrapes`` ascend.

    Raises:
        ValueError: the expression is wrong, or has what this evaluator does not know.
    """
    tokens, end = [], 0
    while match := _TOKEN.match(expression, end):
        tokens.append(match[1])
        end = match.end()
    if expression[end:].strip():
        raise ValueError(f"unknown: {expression[end:]!r}")
    parser = _Parser(tokens)
    evaluated = parser.difference()
    if parser.tokens:
        raise ValueError(f"after the end: {parser.tokens}")
    return evaluated(scrapes, at)


Evaluate = Callable[[Sequence[Scrape], float], Vector]


class _Parser:
    """Turns an expression into a function of scrapes and a moment, by recursive descent."""

    def __init__(self, tokens: Iterable[str]) -> None:
        self.tokens = list(tokens)

    def difference(self) -> Evaluate:
        left = self._term()
        while self._take("-"):
            left = _minus(left, self._term())
        return left

    def _term(self) -> Evaluate:
        name = self._next()
        if name == "rate":
            self._expect("(")
            rate = self._rate()
            self._expect(")")
            return rate
        if name == "topk":
            self._expect("(")
            most = int(self._next())
            self._expect(",")
            ranked = self.difference()
            self._expect(")")
            return lambda scrapes, at: dict(
                sorted(ranked(scrapes, at).items(), key=lambda row: -row[1])[:most]
            )
        if name in _AGGREGATES:
            self._expect("by")
            self._expect("(")
            kept = set(self._until(")"))
            self._expect("(")
            inner = self.difference()
            self._expect(")")
            return _aggregate(_AGGREGATES[name], kept, inner)
        return self._selector(name)

    def _selector(self, name: str) -> Evaluate:
        matchers = []
        if self._take("{"):
            words = self._until("}")
            matchers = [(label, _MATCHES[how], text.strip('"')) for label, how, text in _threes(words)]
        return lambda scrapes, at: {
            frozenset(sample.labels.items()): sample.value
            for sample in _latest(scrapes, at)
            if sample.name == name
            and all(matches(sample.labels.get(label, ""), text) for label, matches, text in matchers)
        }

    def _rate(self) -> Evaluate:
        inner = self.difference()
        self._expect("[")
        window_s, step_s = _seconds(self._next()), 0
        if self._take(":"):
            step_s = _seconds(self._next())
        self._expect("]")

        def rate(scrapes: Sequence[Scrape], at: float) -> Vector:
            """Evaluate at each scrape, or at the steps of a subquery, which are multiples of the step."""
            steps = range(-(-int(at - window_s) // (step_s or 1)) * (step_s or 1), int(at) + 1, step_s or 1)
            moments = steps if step_s else [s.at for s in scrapes if at - window_s <= s.at <= at]
            points: dict[Labels, list[tuple[float, float]]] = {}
            for moment in moments:
                for labels, value in inner(scrapes, moment).items():
                    points.setdefault(labels, []).append((moment, value))
            return {
                labels: _per_second(of_series, at - window_s, at)
                for labels, of_series in points.items()
                if len(of_series) > 1
            }

        return rate

    def _next(self) -> str:
        if not self.tokens:
            raise ValueError("the end is missing")
        return self.tokens.pop(0)

    def _take(self, token: str) -> bool:
        is_next = self.tokens[:1] == [token]
        if is_next:
            self.tokens.pop(0)
        return is_next

    def _expect(self, token: str) -> None:
        if (found := self._next()) != token:
            raise ValueError(f"expected {token}, got {found}")

    def _until(self, end: str) -> list[str]:
        """Return the words before ``end``, without commas."""
        words = []
        while (word := self._next()) != end:
            words.append(word)
        return [word for word in words if word != ","]


def _threes(words: Sequence[str]) -> Iterator[Sequence[str]]:
    return (words[start : start + 3] for start in range(0, len(words), 3))


def _seconds(duration: str) -> int:
    return int(duration[:-1]) * _SECONDS[duration[-1]]


def _latest(scrapes: Sequence[Scrape], at: float) -> Sequence[Sample]:
    """Return the samples of the last scrape.  A series that it lacks has ended."""
    before = [scrape for scrape in scrapes if at - _LOOK_BACK_S < scrape.at <= at]
    return before[-1].samples if before else ()


def _minus(left: Evaluate, right: Evaluate) -> Evaluate:
    def minus(scrapes: Sequence[Scrape], at: float) -> Vector:
        others = right(scrapes, at)
        return {
            labels: value - others[labels] for labels, value in left(scrapes, at).items() if labels in others
        }

    return minus


def _aggregate(function: Callable[[Iterable[float]], float], kept: set[str], inner: Evaluate) -> Evaluate:
    def aggregate(scrapes: Sequence[Scrape], at: float) -> Vector:
        groups: dict[Labels, list[float]] = {}
        for labels, value in inner(scrapes, at).items():
            groups.setdefault(frozenset(row for row in labels if row[0] in kept), []).append(value)
        return {labels: function(values) for labels, values in groups.items()}

    return aggregate


def _per_second(points: Sequence[tuple[float, float]], start: float, end: float) -> float:
    """Return the rate, extrapolated to the window as Prometheus does, but to half an interval at most."""
    (first_s, first), (last_s, last) = points[0], points[-1]
    resets = [before for (_, before), (_, after) in pairwise(points) if after < before]
    increase = last - first + sum(resets)
    covered_s = last_s - first_s
    interval_s = covered_s / (len(points) - 1)
    before_s, after_s = first_s - start, end - last_s
    if increase > 0 <= first:
        before_s = min(before_s, covered_s * first / increase)  # a counter begins at 0
    for edge_s in (before_s, after_s):
        covered_s += edge_s if edge_s < 1.1 * interval_s else interval_s / 2
    return increase * covered_s / (last_s - first_s) / (end - start)

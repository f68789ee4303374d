"""Hearing what programs say, and ending those that take too long."""

from __future__ import annotations

import sys

import pytest

from bench.programs import Facts, ProgramError, listen


def said(code: str, patience: float | None = None) -> Facts:
    """What that Python program says."""
    return listen([sys.executable, "-c", f"import sys, time\n{code}"], patience)


READY, FIRST = "print('{\"decode\": 1}', flush=True)", "print('{\"first\": 2}', flush=True)"
BOTH = "print('{\"decode\": 1}', '{\"first\": 2}', sep=chr(10), flush=True)"
HANGS = "time.sleep(600)"


def test_facts_are_gathered() -> None:
    assert said(f"{READY}\n{FIRST}", 60) == {"decode": 1, "first": 2}


def test_who_takes_too_long_is_ended() -> None:
    assert said(f"{READY}\n{HANGS}", 0.1) == {"decode": 1, "cut": 0.1}


def test_who_takes_too_long_after_the_first_call_has_that_one() -> None:
    assert said(f"{BOTH}\n{HANGS}", 2) == {"decode": 1, "first": 2}


def test_patience_begins_when_it_is_ready() -> None:
    """Starting takes longer than the patience; the patience is long enough for the end on a busy machine."""
    assert said(f"time.sleep(3)\n{READY}", 2) == {"decode": 1}


def test_a_failure_says_why() -> None:
    with pytest.raises(ProgramError, match="ZeroDivisionError"):
        said(f"{READY}\n1 / 0")

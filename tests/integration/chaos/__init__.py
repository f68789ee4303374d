"""Chaos tests: consumer groups run through a seeded schedule of faults, and checks judge their event logs.

``schedule`` draws the faults of a seed.  ``restartable_broker`` is a broker with a proxy for each slot.
``group`` is a group under test, ``plain_groups`` and ``stateful_group`` are its kinds, and ``member`` is a
plain member's process.  Members write an ``event_log``, ``checks`` judges the logs, and ``runner`` runs a
seed.
"""

"""Groups that live through a seeded schedule of faults, and the checks of what they did.

``schedule`` makes the faults of a seed, ``fragile`` is the broker with its doors.  ``crowd`` is a group,
``plain`` and ``stateful`` are its kinds, ``member`` is a plain member's process.  ``ledger`` records what a
member does, ``checks`` judges the records, ``play`` joins them all.
"""

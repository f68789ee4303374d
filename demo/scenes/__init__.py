"""Runs on a broker: ``stage``: members, traffic, waits.  ``watch``: the group.  ``compared``: two scenes."""

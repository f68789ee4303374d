"""``live``: progress, drawn from a ``picture``.  ``table``, ``answer``: the tables and the verdict at the end."""

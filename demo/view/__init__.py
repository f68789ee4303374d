"""``live``: progress, drawn from a ``picture``.  ``table``, ``answer``: tables and verdict at the end."""

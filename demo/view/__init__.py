"""``live``: progress.  ``table``, ``answer``: tables and verdict at the end."""

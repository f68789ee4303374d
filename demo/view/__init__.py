"""``live``: progress.  ``table``: the tables at the end.  ``answer``: the recommendation."""

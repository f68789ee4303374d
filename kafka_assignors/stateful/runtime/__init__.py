"""What a stateful member does between two rebalances, and in one.

- ``parts``: puts the parts together.  ``events``: a rebalance's events for the application's thread.
- ``tasks``: active tasks.  ``processing``: records to the callback.  ``commits``: a commit's three steps.
- ``copies``: standbys and warm-ups.  ``saves``: store flushes.  ``lease``: whether a member may write.
- ``diary``: log lines.  ``aside``: a question asked on a thread.
"""

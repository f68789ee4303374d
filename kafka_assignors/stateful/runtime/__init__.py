"""A stateful member between rebalances, and during one.

- ``assembly``: creates and closes the components.  ``events``: rebalance events for the processing thread.
- ``tasks``: active tasks.  ``processing``: records to the callback.  ``commits``: commits and their order.
- ``copies``: copies of tasks, open and closed.  ``flushes``: when stores are flushed.
- ``lease``: how long a member may write.  ``task_log``: log lines.
"""

"""The parts of a stateful member that process, commit and keep copies, between and during rebalances.

- ``assembly``: creates and closes the components.  ``events``: rebalance events.
- ``tasks``: active tasks.  ``ownership``: begins and ends them.
- ``processing``: passes records to the callback.  ``commits``: commits, in order.
- ``repair``: repairs changelogs that late records have changed.
- ``copies``: copies of tasks, open and closed.  ``flushes``: when stores are flushed.
- ``lease``: how long a member may write.  ``task_log``: log lines.
"""

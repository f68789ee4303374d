"""The assignor of stateful groups (KIP-441).

- ``assignor``: plans tasks.  ``options``: its options.
- ``described``: members by their user data.  ``able``: which members can run a task.
"""

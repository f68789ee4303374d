"""The group's side of stateful members.

- ``assignor``: ``stateful``, which plans tasks.  ``options``: its options.
- ``members``: members as the planner takes them.  ``partitions``: owners of the partitions of tasks.
- ``topologies``: members with different topologies.
"""

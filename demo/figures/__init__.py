"""Pure: members' logs to figures.

- ``measure``: a replay.  ``drain``: a backlog.  Both use ``ownership``, ``processing`` and ``lag``.
- ``recorded``: a run as a history and scenario for the simulation.
"""

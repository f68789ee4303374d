"""Pure: members' logs to figures.

- ``measure``: a replay.  ``drain``: a backlog.  Both use ``ownership``, ``processing`` and ``lag``.
"""

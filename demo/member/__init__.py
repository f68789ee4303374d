"""One consumer process: ``python -m demo.member``.

Its first line on stdin is its configuration as JSON.  The configuration's kind decides which consumer runs:
``worker`` (`ContinuousConsumer` in replay and backlog) or ``stateful`` (`StatefulConsumer` in the failover).
Later lines are ``go``, which lets a held worker begin, and ``leave``, which asks the member to close.

- ``start``: configuration, pipe from the parent, log, exit codes.
- ``worker``: a member that polls, works, logs and commits.
- ``stateful``: a member that counts flights in local state and logs its tasks and copies.
"""

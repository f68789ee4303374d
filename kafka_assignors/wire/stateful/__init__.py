"""Codecs of the strategy ``stateful``.

- ``subscription``: a member's user data.  ``assignment``: the leader's.
- ``task_section``: tasks, in both.  ``owners_section``: endpoints of active tasks, in the assignment.
- ``version``: members of different releases.
"""

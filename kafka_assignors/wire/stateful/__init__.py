"""Codecs of the strategy ``stateful``.

- ``subscription``: a member's user data.  ``assignment``: the leader's.
- ``task_section``, ``owners_section``: parts of both.  ``version``: members of different releases.
"""

"""Changelog topics.

- ``topics``: creates and checks them.  ``writer``: writes changes of tasks.
- ``reader``: the thread that keeps copies up to date.  ``tailing``: its steps.  ``tailed_copy``: one copy.
- ``progress``: restore progress in the log.  ``end_offsets``: end offsets.  ``rate_limit``: for standbys.
"""

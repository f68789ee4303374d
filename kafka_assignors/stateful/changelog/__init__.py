"""Changelog topics.

- ``topics``: creates and checks them.  ``known``: those of all tasks.  ``values``: reads a part.
- ``writer``: writes changes of tasks.  ``reader``: the thread that keeps copies up to date.
- ``tailing``: its steps.  ``tailed_copies``: its copies.  ``tailed_copy``: one of them.
- ``progress``: restore progress in the log.  ``end_offsets``: end offsets.  ``rate_limit``: for standbys.
"""

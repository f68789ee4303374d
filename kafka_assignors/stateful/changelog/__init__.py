"""Changelog topics.

- ``topics``: creates and checks the topics, and searches again for partitions that tasks still lack.
- ``writer``: writes changes of tasks.  ``reader``: the thread that keeps copies up to date.
- ``tailing``: the thread's steps.  ``tailed_copies``: the thread's copies.  ``tailed_copy``: one copy.
- ``progress``: restore progress in the log.  ``end_offsets``: end offsets.  ``rate_limit``: for standbys.
"""

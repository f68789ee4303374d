"""Changelog topics.

- ``topics``: makes and checks them.  ``writer``: writes a task's changes.
- ``reader``: the thread that keeps copies up to date.  ``tailing``, ``tailed``, ``progress``: what it does.
- ``ends``: end offsets.  ``pace``: bounds on what is read.
"""

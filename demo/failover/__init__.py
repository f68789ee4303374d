"""The third scene: a stateful count fails over, once restored cold, once with standbys and warm-ups.

- ``acts``: the two acts.  ``scene``: its course on a stage, and its traffic.
- ``counting``: the application, which `demo.member.stateful` runs.  ``counts``: its stores, compared.
- ``timeline``, ``measure``: logs to figures, pure.  ``results``: their shape.  ``words``: in plain words.
"""

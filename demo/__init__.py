"""The main job: real flights through real groups, one strategy beside another; ``make demo``.

- ``command``, ``settings``: the options.  ``compare``: all strategies in all scenes.  ``results``: of it.
- ``data``: the flights.  ``group``: members and their processes.  ``scenes``: a replay with churn, a backlog.
- ``failover``: a scene of stateful consumers.  ``pipeline``: the pipeline on the first two scenes.
- ``figures``: logs to figures, pure.  ``view``, ``report``: pages and tables.
"""

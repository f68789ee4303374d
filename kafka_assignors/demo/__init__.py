"""The main job: real events through a real group, once per strategy, measured and compared.

Reading order: ``settings`` and ``churn`` (what is asked), ``events`` (the data), ``member`` (one consumer),
``fleet`` and ``replay`` (what drives them), ``run`` (one strategy), ``compare`` (all of them), ``ownership``
and ``measure`` (pure: logs in, numbers out), ``results`` (the shape of results.json), ``live`` and
``report`` (what is seen).
"""

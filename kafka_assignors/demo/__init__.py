"""The main job: real events through a real group, once per strategy, measured and compared.

Reading order: ``settings`` and ``churn`` (what is asked), ``events`` (the data), ``member`` and ``consumer``
(one consumer), ``fleet``, ``cluster`` and ``replay`` (what drives them), ``run`` (one strategy), ``compare``
(all of them), ``ownership``, ``processing``, ``lag`` and ``measure`` (pure: logs in, numbers out),
``results`` (the shape of results.json), ``watch`` and ``live`` (what is seen while it runs), ``table`` and
``report`` (what is seen at the end).
"""

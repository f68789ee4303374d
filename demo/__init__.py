"""The main job: real events through real groups, measured and compared, in up to three scenes.

Reading order: ``settings`` and ``churn`` (what is asked), ``events`` (the data), ``member`` and ``consumer``
(one consumer), ``fleet``, ``cluster`` and ``replay`` (what drives them), ``stage`` (what the first two scenes
share), ``replay_scene`` and ``backlog_scene``, ``run`` (one strategy in one scene), ``failover`` (the third
scene, a package), ``compare`` (all), ``ownership``, ``processing``, ``lag``, ``measure`` and ``drain``
(pure: logs in, numbers out), ``results`` (the shape of results.json), ``answer`` (which strategy they speak
for), ``watch`` and ``live`` (what is seen while it runs), ``table`` and ``report`` (what is seen at the end).
"""

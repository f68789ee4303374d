"""The pipeline on the demo's runs: samples, the load model, the back-test.

- ``run``: the steps.  ``results``, ``words``: their part of results.json, and in plain words.
- ``ran``: one run.  ``record``: its commits and log ends as samples.
- ``trials``: the back-test's trials.

``ran``, ``trials``, ``results`` and ``words`` are pure.  PySpark is imported when the pipeline runs.
"""

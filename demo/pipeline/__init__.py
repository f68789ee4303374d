"""The pipeline on the demo's runs: samples, the load model, the back-test.

- ``run``: the steps.  ``results``: their part of results.json.
- ``finished_run``: one run.  ``record``: its commits and log ends as samples.
- ``trials``: the back-test's trials.

``finished_run``, ``trials`` and ``results`` are pure.  PySpark is imported when the pipeline runs.
"""

"""The pipeline on the demo's runs: samples, the load model, the back-test.

- ``run``: the steps.  ``results``: their part of results.json.  ``words``: the results in plain words.
- ``finished_run``: one run.  ``record``: its commits and log ends as samples.
- ``trials``: the back-test's trials.

``finished_run``, ``trials``, ``results`` and ``words`` are pure.  PySpark is imported when the pipeline runs.
"""

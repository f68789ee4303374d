"""The pipeline on what the demo recorded: samples, the load model, the back-test, and how true that is.

================  =======================================================  ================================
file              purpose                                                  key names
================  =======================================================  ================================
``ran``           one run, and what its logs tell                          ``Ran``
``record``        what was committed and where logs ended, as samples      ``record``, ``counts``
``trials``        what to try out on it; what simulations say of the runs  ``Tried``, ``calibration``
``run``           the steps, one after the other                           ``run_pipeline``
``results``       its part of results.json                                 ``PipelineResult``
================  =======================================================  ================================

``ran``, ``trials`` and ``results`` are pure.  Nothing here imports PySpark before the pipeline runs.
"""

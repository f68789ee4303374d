"""The pipeline on what the demo recorded: samples, the load model, the back-test, and how true that is.

================  =======================================================  ================================
file              purpose                                                  key names
================  =======================================================  ================================
``ran``           one run, and what its logs tell                          ``Ran``
``record``        what was committed and where logs ended, as samples      ``record``, ``counts``
``forecast``      the model on weeks of flights, and plans from it         ``forecast_flights``
``trials``        what to try out on it; what simulations say of the runs  ``Tried``, ``calibration``
``run``           the steps, one after the other                           ``run_pipeline``
``checks``        has it recorded what was measured                        ``pipeline_faults``
``results``       its part of results.json                                 ``PipelineResult``
``words``         that in plain words                                      ``recorded_in_all``
================  =======================================================  ================================

``ran``, ``trials``, ``checks``, ``results`` and ``words`` are pure.  Nothing here imports PySpark before the
pipeline runs.
"""

"""The pipeline on Spark: record what a group does, learn its load, feed the assignor, back-test strategies.

``import kafka_assignors.spark`` needs no Spark; what uses it does, and names the extra where it is missing.
<<<<<<< HEAD
ARCHITECTURE.md has its files one by one.
=======

=============  ==========================================================  ======================
file           purpose                                                     key names
=============  ==========================================================  ======================
``session``    a local Spark of our own, quiet and without a network       ``local_session``
``history``    what was recorded, as values to simulate                    ``read_history``
``backtest``   which strategy would have done best with that               ``run_trials``
``schemas``    the tables the steps hand to each other                     ``SAMPLES``, ``LOAD``
=============  ==========================================================  ======================
>>>>>>> btspark
"""

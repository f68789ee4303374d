"""Back-tests: comparisons of strategies on a recorded history.

===============  ======================================================  ====================================
file             purpose                                                 key names
===============  ======================================================  ====================================
``grid``         the combinations to try                                 ``Grid``, ``Candidate``, ``Trial``
``simulated``    strategies as picklable values                          ``simulated``
``frame``        rows of the load table; the steps of a history          ``LoadColumns``, ``Frame``
``recorded``     a history from rows, in parts                           ``Recorded``, ``RecordedBuilder``
``service_rate`` the service rate of a member, from a history            ``service_rate``
``job``          the trials on Spark, one task each                      ``run_trials``
``results``      the shape of results.json                               ``Results``
``summary``      outcomes of trials as results                           ``summed_up``
``files``        the results as Parquet and JSON, and report.html        ``save``, ``results_folder``
``phrases``      the results as sentences and as rows of a table         ``verdict``, ``ROWS``
``figures``      plots; imports plotly                                   ``drawn``, ``course``
``page``         the HTML report, made with ``templates``                ``render``
===============  ======================================================  ====================================

All but ``job``, ``files`` and ``page`` are pure; ``page`` reads its templates.
"""

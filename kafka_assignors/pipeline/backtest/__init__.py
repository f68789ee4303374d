"""Back-tests: which strategy would have done best with what was recorded.

===============  ======================================================  ====================================
file             purpose                                                 key names
===============  ======================================================  ====================================
``grid``         what to try out                                         ``Grid``, ``Candidate``, ``Trial``
``job``          the trials on Spark, one task each                      ``run_trials``
``thinned``      a series with as many points as a plot has room for     ``thinned``
``results``      the shape of results.json, and how it is made           ``Results``, ``summed_up``
``files``        results.parquet, series.parquet, results.json           ``save``, ``load``
``rows``         the figures of a candidate, for terminal and page       ``ROWS``
``figures``      plots                                                   ``lag_over_time``, ``bars``
``page``         the HTML report                                         ``render``
===============  ======================================================  ====================================

``results``, ``rows``, ``figures`` and ``page`` are pure.
"""

"""The load of many partitions at once, in numpy.  A *row* is the index of a partition in all arrays.

- ``table``: their states as arrays.  ``steps``: counters.  ``season``, ``model``: the forecast.
- ``bucket``: samples in, ``rows`` of the load table out.  ``codec``: the state as bytes.
- ``parts``: a forecast from arrays of arrivals, by parts of the horizon.
"""

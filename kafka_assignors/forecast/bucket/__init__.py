"""The load of many partitions at once, in numpy.

- ``table``: their states as arrays.  ``steps``: counters.  ``season``, ``model``: the forecast.
- ``bucket``: samples in, ``rows`` out.  ``codec``: the state as bytes.
- ``parts``: a forecast from a table of arrivals, by parts of the horizon.
"""

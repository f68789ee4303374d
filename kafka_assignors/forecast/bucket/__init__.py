"""The load of many partitions at once, in numpy.  A *row* is the index of a partition in all arrays.

- ``table``: their states as arrays.  ``partition``: the state of one, out of the arrays and back.
- ``steps``: counters.  ``season``: daily and weekly season.  ``mixture``: weights and errors of forecasts.
- ``model``: the forecast, also by parts of the horizon.
- ``bucket``: samples in, ``rows`` of the load table out; between them ``DoneSteps``.  ``codec``: the state as
  bytes.
"""

from kafka_assignors.forecast.bucket.bucket import Bucket
from kafka_assignors.forecast.bucket.steps import Samples

__all__ = ["Bucket", "Samples"]

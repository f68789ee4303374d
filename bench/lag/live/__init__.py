"""``python -m bench.lag.live``: consumer processes on a broker, scaled through a day in time-lapse.

- ``__main__``: the options and the rules.  ``group``: a run.  ``day``: the traffic, and a row of the table.
"""

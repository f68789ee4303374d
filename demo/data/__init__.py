"""The flights: ``events``, and ``replay``, which sends them.

- ``flight_samples``: a sampler's view of them.
- ``traffic``, ``foresight``: plans from forecasts, hour by hour.
"""

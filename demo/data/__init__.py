"""The flights: ``events``, and ``replay``, which sends them.

``flight_samples`` is a sampler's view of them.
"""

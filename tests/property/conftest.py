from __future__ import annotations

from hypothesis import settings

# No deadline: the machines are shared, and how long a plan takes is the benchmark's business.
settings.register_profile("laws", max_examples=200, deadline=None)
settings.load_profile("laws")

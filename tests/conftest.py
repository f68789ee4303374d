from __future__ import annotations

from hypothesis import settings

# The machines are shared, and how long something takes is the benchmark's business.
settings.register_profile("no deadline", deadline=None)
settings.load_profile("no deadline")

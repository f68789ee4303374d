"""``kafka-assignors pipeline`` and ``record``."""

"""Measures plans, fetches and the pipeline, and compares them with other clients.  ``make bench``."""

"""Measures the pipeline on Spark."""

"""How fast the pipeline on Spark is."""

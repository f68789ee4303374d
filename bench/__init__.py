"""How fast plans, fetches and the pipeline are, beside other clients.  ``make bench``."""

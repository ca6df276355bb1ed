"""All engines on all models, in lockstep, beside the time of their matrix products alone."""

"""Who runs when: requests, sampling, generation, and the trace that every run leaves behind."""

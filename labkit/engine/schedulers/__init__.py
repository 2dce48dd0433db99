"""Who runs when: one scheduling policy a file, from one request at a time to chunked prefill."""

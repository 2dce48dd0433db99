"""Training: a loop that turns documents into a model. What the documents are is the caller's affair."""

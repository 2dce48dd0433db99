"""What a server is asked to do: prompts from a grammar of our own, and the pair of models trained on it."""

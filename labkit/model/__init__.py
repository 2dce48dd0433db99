"""The transformer: its shape, its forward pass, its weights and its tokenizer. It knows no cache and no batch."""

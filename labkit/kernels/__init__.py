"""One kernel a file: its torch reference, and where there is one, its Triton version beside it."""

"""The runs and sentences behind the notebooks' experiments, a module a notebook; the knobs are in the notebook."""

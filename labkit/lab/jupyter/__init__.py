"""Settings that `labkit launch` hands to JupyterLab: `overrides.json` changes the defaults of its plugins."""

"""Measured comparisons: what this machine can do at best, and what labkit and its peers make of it."""

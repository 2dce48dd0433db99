"""Costs on hardware that is not here: specified peaks, and the time a step must take on them."""

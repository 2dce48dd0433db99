"""Widgets: one experiment frame, and the knobs it is driven with."""

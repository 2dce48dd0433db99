"""Figures of the course, each a function from plain numbers or a Trace to a Picture with alt text."""

"""Hypothesis without a deadline: a busy machine must not fail a test."""

from hypothesis import settings

settings.register_profile("no deadline", deadline=None)
settings.load_profile("no deadline")

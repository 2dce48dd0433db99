"""Errors a user of labkit can mend: each message names the offending value and the remedy."""


class LabkitError(Exception):
    """Base of every error labkit raises on purpose."""


class ConfigError(LabkitError):
    """A model's shape is impossible, unknown or not supported."""


class WeightsError(LabkitError):
    """A weight file is truncated, corrupt, mismatched or of an unsupported kind."""


class TokenizerError(LabkitError):
    """A tokenizer or chat template cannot be read, or cannot express what was asked."""


class MissingModelError(LabkitError):
    """The model is not on this machine and cannot be fetched now."""


class RequestError(LabkitError):
    """A generation request that can never be served as written."""


class SetupError(LabkitError):
    """The machine or the installation lacks something the course needs."""

"""labkit: LLM inference optimization, every technique from scratch, small enough to read and fast enough to
use.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

_HOMES = {
    "load": "labkit.model.load",
    "Transformer": "labkit.model.transformer",
    "ModelConfig": "labkit.model.config",
    "preset": "labkit.model.presets",
    "SamplingParams": "labkit.engine.sampling",
    "Request": "labkit.engine.request",
    "build_engine": "labkit.engine.build",
    "generate": "labkit.engine.generation",
    "stream": "labkit.engine.generation",
}

if TYPE_CHECKING:
    from labkit.engine.build import build_engine as build_engine
    from labkit.engine.generation import generate as generate
    from labkit.engine.generation import stream as stream
    from labkit.engine.request import Request as Request
    from labkit.engine.sampling import SamplingParams as SamplingParams
    from labkit.model.config import ModelConfig as ModelConfig
    from labkit.model.load import load as load
    from labkit.model.presets import preset as preset
    from labkit.model.transformer import Transformer as Transformer

__all__ = [
    "ModelConfig",
    "Request",
    "SamplingParams",
    "Transformer",
    "build_engine",
    "generate",
    "load",
    "preset",
    "stream",
]


def __getattr__(name: str) -> Any:
    """Import a public name from its home when it is first used, so that `import labkit` is quick."""
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'labkit' has no attribute {name!r}")

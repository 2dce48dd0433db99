"""From words to an engine: which scheduler, which KV manager, how much memory."""

from collections.abc import Callable
from typing import Any, TypeVar

import torch

from labkit.engine.clock import Clock, SkippingClock
from labkit.engine.engine import Engine
from labkit.engine.executor import Backend, TorchExecutor
from labkit.engine.schedulers.base import Scheduler
from labkit.engine.schedulers.chunked import ChunkedScheduler
from labkit.engine.schedulers.continuous import ContinuousScheduler
from labkit.engine.schedulers.dynamic import DynamicScheduler
from labkit.engine.schedulers.sequential import SequentialScheduler
from labkit.engine.schedulers.static import StaticScheduler
from labkit.engine.waiting import ORDERS, Order
from labkit.errors import ConfigError
from labkit.kernels.paged_attention import paged_attention
from labkit.kvcache.manager import KVManager
from labkit.kvcache.paged import PagedManager
from labkit.kvcache.store import KVStore
from labkit.kvcache.strips import RESERVES, StripManager
from labkit.model.config import ModelConfig
from labkit.model.load import LanguageModel
from labkit.model.transformer import Transformer

SCHEDULERS: dict[str, Callable[..., Scheduler]] = {
    "sequential": SequentialScheduler,
    "static": StaticScheduler,
    "dynamic": DynamicScheduler,
    "continuous": ContinuousScheduler,
    "chunked": ChunkedScheduler,
}
CPU_POOL_BYTES = 1 << 30
GPU_SHARE = 0.9  # of what is free after the model has run once: the allocator needs some air


def build_engine(
    lm: LanguageModel,
    *,
    scheduler: str = "chunked",
    cache: str = "paged",
    pool_tokens: int | None = None,
    block_size: int = 16,
    max_sequences: int = 32,
    order: str | Order = "fcfs",
    clock: Callable[[], Clock] = SkippingClock,
    backend: Backend = paged_attention,
    **options: Any,
) -> Engine:
    """An engine for a loaded model.

    - `scheduler`: sequential, static, dynamic, continuous or chunked; `options` go to it (`token_budget` tokens a step
      for chunked, `window` seconds for dynamic).
    - `cache`: paged (in blocks of `block_size`), or strips of length max, pow2 or oracle.
    - `pool_tokens`: slots of the KV cache; by default what is free on a GPU, and up to a gibibyte on a CPU.
    - `order`: fcfs, sjf or priority, or a function from a request to its key.

    Raises ConfigError for a word that is none of these.
    """
    slots = pool_tokens or default_pool_tokens(lm.model, max_sequences, options.get("token_budget", 2048))
    manager = make_manager(cache, slots, block_size, lm.config)
    store = KVStore(
        lm.config, manager.slots, manager.block_size, dtype=lm.model.dtype, device=lm.model.device
    )
    return Engine(
        make_scheduler(scheduler, manager, max_sequences, order, **options),
        TorchExecutor(lm.model, store, backend), lm.config, lm.tokenizer, clock,
    )  # fmt: skip


def make_manager(cache: str, slots: int, block_size: int, config: ModelConfig) -> KVManager:
    """A KV manager by name."""
    if cache == "paged":
        return PagedManager(slots, min(block_size, slots))
    return StripManager(slots, min(config.max_positions, slots), _pick("cache", cache, RESERVES))


def make_scheduler(
    name: str, manager: KVManager, max_sequences: int = 32, order: str | Order = "fcfs", **options: Any
) -> Scheduler:
    """A scheduler by name; `options` are those of its class."""
    kind = _pick("scheduler", name, SCHEDULERS)
    if name != "sequential":
        options["max_sequences"] = max_sequences
    key = order if callable(order) else _pick("order", order, ORDERS)
    try:
        return kind(manager, order=key, **options)
    except TypeError as error:
        raise ConfigError(f"scheduler {name!r}: {error}") from error


def default_pool_tokens(model: Transformer, max_sequences: int, step_tokens: int) -> int:
    """Slots of the KV cache: as many as the batch could ever use, within the memory there is."""
    wanted = max_sequences * model.config.max_positions
    if model.device.type == "cuda":
        budget = int(GPU_SHARE * free_bytes_after_a_step(model, step_tokens))
    else:
        budget = CPU_POOL_BYTES
    return max(1, min(wanted, budget // int(model.config.kv_bytes_per_token(model.dtype.itemsize))))


@torch.inference_mode()
def free_bytes_after_a_step(model: Transformer, step_tokens: int) -> int:
    """Free memory of a GPU once the largest step has taken what it needs for activations."""
    tokens = torch.zeros(min(step_tokens, model.config.max_positions), dtype=torch.int64, device=model.device)
    model.logits(model(tokens, torch.arange(len(tokens), device=model.device))[-1:])
    torch.cuda.synchronize(model.device)
    free, _ = torch.cuda.mem_get_info(model.device)
    return free


T = TypeVar("T")


def _pick(what: str, name: str, choices: dict[str, T]) -> T:
    if name not in choices:
        raise ConfigError(f"{what} {name!r}: choose {', '.join(choices)}")
    return choices[name]

"""What an engine's step costs besides the model and attention: scheduling, packing, drawing, bookkeeping; and the
scheduler alone.

On a fast GPU a decode step of a small model takes a few milliseconds, so every one of these is felt.
"""

from collections.abc import Callable, Sequence
from statistics import median
from time import perf_counter
from typing import Any

from labkit.engine.batch import Batch
from labkit.engine.build import build_engine
from labkit.engine.engine import Engine
from labkit.engine.request import Request, sequences
from labkit.engine.sampling import SamplingParams
from labkit.engine.schedulers.chunked import ChunkedScheduler
from labkit.engine.schedulers.continuous import ContinuousScheduler
from labkit.kvcache.paged import PagedManager
from labkit.model.load import LanguageModel
from labkit.workload import lengths
from labkit.workload.prompts import random_tokens


class _Stopwatch:
    """A model that notes how long it was at work."""

    def __init__(self, model: Any) -> None:
        self._model, self.seconds = model, 0.0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._model, name)

    def __call__(self, *inputs: Any) -> Any:
        return self._timed(self._model, *inputs)

    def logits(self, hidden: Any) -> Any:
        return self._timed(self._model.logits, hidden)

    def around(self, work: Callable[..., Any]) -> Callable[..., Any]:
        """`work`, timed."""
        return lambda *inputs: self._timed(work, *inputs)

    def _timed(self, work: Any, *inputs: Any) -> Any:
        begin = perf_counter()
        out = work(*inputs)
        self.seconds += perf_counter() - begin
        return out


def step_overhead(lm: LanguageModel, batch: int = 32, steps: int = 40) -> list[float]:
    """Seconds of each decode step of `batch` greedy sequences that were not spent in the model, nor in
    preparing its attention (once a step, for all layers).

    On a CPU; on a GPU the model's work is queued and ends inside what is counted here.
    """
    engine = build_engine(lm, scheduler="continuous", max_sequences=batch, pool_tokens=batch * 256)
    watch = _Stopwatch(lm.model)
    executor: Any = engine.executor
    executor.model, executor.backend = watch, watch.around(executor.backend)
    for prompt in random_tokens(lengths.uniform(batch, 32, 128), lm.config.vocab_size):
        engine.add(Request(prompt, SamplingParams(max_tokens=steps + 1, ignore_eos=True)))
    engine.step()
    return [_outside_the_model(engine, watch) for _ in range(steps)]


def _outside_the_model(engine: Engine, watch: _Stopwatch) -> float:
    watch.seconds, begin = 0.0, perf_counter()
    engine.step()
    return perf_counter() - begin - watch.seconds


def scheduler_step(
    waiting: int, running: int = 256, steps: int = 50, *, chunked: bool = False
) -> list[float]:
    """Seconds of `schedule` and `update` with so many sequences decoding and so many in the queue behind them."""
    manager = PagedManager(running * 1024)
    scheduler = (
        ChunkedScheduler(manager, running, token_budget=2 * running)
        if chunked
        else ContinuousScheduler(manager, running)
    )
    for number in range(running + waiting):
        request = Request((1,) * 512, SamplingParams(max_tokens=400), id=str(number))
        scheduler.add(sequences(request, 4096, frozenset()))
    while len(scheduler.running) < running or any(one.remaining > 1 for one in scheduler.running):
        _step(scheduler)
    return [_step(scheduler) for _ in range(steps)]


def _step(scheduler: ContinuousScheduler) -> float:
    begin = perf_counter()
    batch = scheduler.schedule(0.0)
    scheduler.update(batch, _tokens(batch))
    seconds = perf_counter() - begin
    scheduler.take_events()
    return seconds


def _tokens(batch: Batch) -> Sequence[int]:
    return [0] * sum(chunk.emits for chunk in batch.chunks)


def milliseconds(seconds: Sequence[float]) -> tuple[float, float]:
    """(best, median) in milliseconds."""
    return min(seconds) * 1e3, median(seconds) * 1e3

"""Generation from the beginning: recompute everything, or keep the keys and values.

Both loops are on this page. The naive one runs the whole sequence through the model for each new token, so
output token n costs prompt + n tokens of work. The cached one computes every token once. They must emit the
same tokens: that identity is the yardstick for every technique of the course.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from time import perf_counter

import torch
from torch import Tensor

from labkit.engine.prompt import Prompt, encode_prompt
from labkit.engine.sampling import Sampler, SamplingParams, TokenLogprobs
from labkit.engine.stopping import TextStream
from labkit.engine.trace import FinishReason, RequestRecord, Step, Trace
from labkit.kvcache.contiguous import ContiguousCache
from labkit.model.load import LanguageModel
from labkit.model.transformer import Transformer

Choose = Callable[[Tensor], int]
Computed = tuple[int, int]
"""(prefill, decode): how many tokens a step computed to fill the context, and how many it had just generated."""
Loop = Callable[[Transformer, list[int], int, Choose], Iterator[tuple[int, Computed]]]
"""`loop(model, prompt, max_tokens, choose)` yields each new token with what its step computed."""


@torch.inference_mode()
def naive(
    model: Transformer, prompt: list[int], max_tokens: int, choose: Choose
) -> Iterator[tuple[int, Computed]]:
    """Recompute the whole sequence for every new token."""
    tokens = list(prompt)
    for _ in range(max_tokens):
        hidden = model(
            torch.tensor(tokens, device=model.device), torch.arange(len(tokens), device=model.device)
        )
        token = choose(model.logits(hidden[-1:])[0])
        yield token, (len(tokens), 0)
        tokens.append(token)


@torch.inference_mode()
def cached(
    model: Transformer, prompt: list[int], max_tokens: int, choose: Choose
) -> Iterator[tuple[int, Computed]]:
    """Compute every token once; its keys and values are kept."""
    cache = ContiguousCache(model.config, len(prompt) + max_tokens, dtype=model.dtype, device=model.device)
    new, computed = list(prompt), (len(prompt), 0)
    for _ in range(max_tokens):
        positions = torch.arange(cache.length, cache.length + len(new), device=model.device)
        hidden = model(torch.tensor(new, device=model.device), positions, cache.attend)
        cache.advance(len(new))
        token = choose(model.logits(hidden[-1:])[0])
        yield token, computed
        new, computed = [token], (0, 1)


@dataclass
class Completion:
    """A finished output. `tokens` includes the token that ended it; `text` shows neither that nor a stop
    string.
    """

    text: str
    tokens: list[int]
    finish_reason: FinishReason
    prompt_tokens: int
    trace: Trace
    logprobs: list[TokenLogprobs] | None = None


def stream(
    lm: LanguageModel, prompt: Prompt, params: SamplingParams | None = None, *, loop: Loop = cached
) -> "Generation":
    """Generate from one prompt, piece by piece: iterate for the text, then read `.completion`.

    `prompt` is plain text, chat messages, or tokens; `loop` is `cached` or `naive`. Raises RequestError,
    before anything is computed, for a prompt that is empty, too long for the model, or out of its vocabulary.
    """
    return Generation(lm, encode_prompt(lm, prompt), params or SamplingParams(), loop)


def generate(
    lm: LanguageModel, prompt: Prompt, params: SamplingParams | None = None, *, loop: Loop = cached
) -> Completion:
    """Generate from one prompt and return the whole `Completion`; see `stream`."""
    generation = stream(lm, prompt, params, loop=loop)
    for _ in generation:
        pass
    return generation.completion


class Generation:
    """One request under way: an iterator over pieces of text that keeps its own trace."""

    def __init__(self, lm: LanguageModel, prompt: list[int], params: SamplingParams, loop: Loop) -> None:
        self._params = params
        self._start = perf_counter()
        self._sampler = Sampler(params)
        room = lm.config.max_positions - len(prompt)
        self._steps = loop(lm.model, prompt, min(params.max_tokens, room), self._sampler)
        self._ends = {*params.stop_token_ids, *(() if params.ignore_eos else lm.tokenizer.eos_ids)}
        self._text = TextStream(lm.tokenizer.stream(), params.stop_strings)
        self._record = RequestRecord(id="0", arrival=0.0, prompt_tokens=len(prompt))
        self._trace = Trace(requests=[self._record])
        self._tokens: list[int] = []
        self._shown: list[str] = []
        self._pieces = self._run()

    def __iter__(self) -> Iterator[str]:
        return self

    def __next__(self) -> str:
        piece = next(self._pieces)
        self._shown.append(piece)
        return piece

    @property
    def completion(self) -> Completion:
        """What was generated; the rest is generated first if the iteration has not ended."""
        for _ in self:
            pass
        reason = self._record.finish_reason or "length"
        logprobs = None if self._params.logprobs is None else self._sampler.logprobs
        text = "".join(self._shown)
        return Completion(text, self._tokens, reason, self._record.prompt_tokens, self._trace, logprobs)

    def _run(self) -> Iterator[str]:
        for token in self._timed():
            self._tokens.append(token)
            if token in self._ends:
                self._record.finish_reason = "stop"
                break
            yield self._text.push(token)
            if self._text.stopped:
                self._record.finish_reason = "stop"
                return
        rest = self._text.finish()
        self._record.finish_reason = self._record.finish_reason or (
            "stop" if self._text.stopped else "length"
        )
        if rest:
            yield rest

    def _timed(self) -> Iterator[int]:
        """The loop's tokens, each step written to the trace."""
        while True:
            begin = perf_counter()
            produced = next(self._steps, None)
            if produced is None:
                return
            token, computed = produced
            now = perf_counter()
            self._trace.steps.append(Step(begin - self._start, now - begin, {self._record.id: computed}))
            self._record.token_times.append(now - self._start)
            yield token

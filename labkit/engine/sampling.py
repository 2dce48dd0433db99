"""From scores to a token: how a request asks for its next token, and how one is drawn.

Temperature flattens or sharpens the distribution; top-k, top-p and min-p cut its tail, in that order, each on
what the one before left (top-k: Fan et al. 2018; top-p: Holtzman et al., arXiv 1904.09751; min-p: arXiv
2407.01082). Greedy decoding is the limit of temperature 0.

Each request draws from its own stream of uniform numbers, by inverting the cumulative distribution. So what it
gets does not depend on who shares the batch, nor on the device's random generator.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random

import torch
from torch import Tensor

from labkit.errors import RequestError


@dataclass(frozen=True)
class SamplingParams:
    """What one request asks for. Raises RequestError, naming it, for a value out of range.

    - `max_tokens`: how many tokens to generate at most.
    - `temperature`: 0 is greedy.
    - `top_k`: keep the k likeliest tokens (0: all).
    - `top_p`: keep the smallest set of likeliest tokens that has this much probability (1: all).
    - `min_p`: keep tokens at least this fraction as likely as the likeliest (0: all).
    - `seed`: makes the draws repeatable.
    - `stop`: a string or strings that end the output and are not part of it.
    - `stop_token_ids`: tokens that end the output, besides the model's own end tokens.
    - `logprobs`: None for none, else how many of the likeliest tokens to report beside the chosen one.
    - `n`: how many samples of the same prompt; with a seed, each has its own stream.
    - `ignore_eos`: disregard the model's own end tokens (for measurements of a fixed length).
    """

    max_tokens: int = 64
    temperature: float = 0.0
    top_k: int = 0
    top_p: float = 1.0
    min_p: float = 0.0
    seed: int | None = None
    stop: str | tuple[str, ...] = ()
    stop_token_ids: tuple[int, ...] = ()
    logprobs: int | None = None
    n: int = 1
    ignore_eos: bool = False

    def __post_init__(self) -> None:
        _require(self.max_tokens >= 1, "max_tokens", self.max_tokens, "at least 1")
        _require(
            0 <= self.temperature < float("inf"), "temperature", self.temperature, "0 (greedy) or positive"
        )
        _require(self.top_k >= 0, "top_k", self.top_k, "0 (off) or positive")
        _require(0 < self.top_p <= 1, "top_p", self.top_p, "above 0 and at most 1 (off)")
        _require(0 <= self.min_p <= 1, "min_p", self.min_p, "from 0 (off) to 1")
        _require(self.n >= 1, "n", self.n, "at least 1")
        _require("" not in self.stop_strings, "stop", self.stop, "non-empty strings")
        _require(
            self.logprobs is None or self.logprobs >= 0,
            "logprobs",
            self.logprobs,
            "None (off), 0 or positive",
        )

    @property
    def stop_strings(self) -> tuple[str, ...]:
        """`stop` as a tuple, also when one string was given."""
        return (self.stop,) if isinstance(self.stop, str) else self.stop


def _require(holds: bool, name: str, value: object, remedy: str) -> None:
    if not holds:
        raise RequestError(f"{name} = {value!r}: must be {remedy}")


def distribution(logits: Tensor, params: SamplingParams) -> Tensor:
    """The probabilities that `params` draws from: `logits` [V] → [V] in fp32; one-hot if greedy."""
    return distributions(logits.unsqueeze(0), [params])[0]


def distributions(logits: Tensor, params: Sequence[SamplingParams]) -> Tensor:
    """Row b's probabilities under `params[b]`: `logits` [B, V] → [B, V] in fp32; one-hot where greedy."""
    scores = logits.float()
    best = scores.max(dim=-1, keepdim=True)
    temperature = _column(scores, [one.temperature or 1.0 for one in params])
    # Subtracting the maximum first keeps a tiny temperature from overflowing.
    probabilities = torch.softmax((scores - best.values) / temperature, dim=-1)
    for row, one in enumerate(params):
        if one.temperature == 0:
            probabilities[row] = 0
            probabilities[row, best.indices[row]] = 1
    cut = [row for row, one in enumerate(params) if one.top_k or one.top_p < 1]
    if cut:
        probabilities[cut] = _without_tails(probabilities[cut], [params[row] for row in cut])
    if any(one.min_p for one in params):
        floor = _column(scores, [one.min_p for one in params]) * probabilities.amax(dim=-1, keepdim=True)
        probabilities *= probabilities >= floor
    return probabilities / probabilities.sum(dim=-1, keepdim=True)


def _without_tails(probabilities: Tensor, params: Sequence[SamplingParams]) -> Tensor:
    """Top-k, then top-p on what it left: a token stays while it and the less likely ones add up to more than 1 - top_p,
    so the likeliest is always in.
    """
    vocabulary = probabilities.shape[-1]
    descending, order = probabilities.sort(dim=-1, descending=True)
    last = [min(one.top_k or vocabulary, vocabulary) - 1 for one in params]
    kth = descending.gather(-1, torch.tensor(last, device=order.device).unsqueeze(-1))
    descending = descending * (descending >= kth)
    tails = descending.flip(-1).cumsum(dim=-1).flip(-1)  # summed from the small end, which loses the least
    cut = _column(probabilities, [1 - one.top_p for one in params])
    kept = descending * (tails > cut * descending.sum(dim=-1, keepdim=True))
    return torch.zeros_like(probabilities).scatter_(-1, order, kept)


def _column(like: Tensor, values: list[float]) -> Tensor:
    return torch.tensor(values, device=like.device, dtype=torch.float32).unsqueeze(-1)


def draw(logits: Tensor, params: Sequence[SamplingParams], streams: Sequence[Random]) -> list[int]:
    """The next token of every row: `logits` [B, V], row b under `params[b]`, with a number from `streams[b]` unless
    it is greedy. Reads the device once.
    """
    sampled = [row for row, one in enumerate(params) if one.temperature > 0]
    tokens = _likeliest(logits)
    if sampled:
        rows = distributions(logits[sampled], [params[row] for row in sampled]).double().cumsum(dim=-1)
        # The first token whose cumulative probability exceeds the number: one of probability 0 never does.
        numbers = torch.tensor(
            [streams[row].random() for row in sampled], dtype=torch.float64, device=rows.device
        )
        points = numbers.unsqueeze(-1) * rows[:, -1:]
        tokens[sampled] = torch.searchsorted(rows, points, right=True).squeeze(-1)
    drawn: list[int] = tokens.tolist()
    return drawn


def _likeliest(logits: Tensor) -> Tensor:
    """Each row's largest score: [B, V] → [B]. On a CPU numpy's search is six times as fast as torch's."""
    if logits.device.type == "cpu" and logits.dtype == torch.float32:
        return torch.from_numpy(logits.detach().numpy().argmax(axis=-1))
    return logits.argmax(dim=-1)


@dataclass(frozen=True)
class TokenLogprobs:
    """Natural logarithms of the model's own probabilities, before temperature and cuts: the chosen token's,
    the best's.
    """

    token: int
    logprob: float
    top: dict[int, float]


class Sampler:
    """Draws one request's tokens; keeps their log-probabilities if asked to."""

    def __init__(self, params: SamplingParams) -> None:
        self.params = params
        self.logprobs: list[TokenLogprobs] = []
        self._stream = Random(params.seed)

    def __call__(self, logits: Tensor) -> int:
        """Draw the next token from its scores, `logits` [V]."""
        (token,) = draw(logits.unsqueeze(0), [self.params], [self._stream])
        if self.params.logprobs is not None:
            self.logprobs.append(token_logprobs(logits, token, self.params.logprobs))
        return token


def token_logprobs(logits: Tensor, token: int, count: int) -> TokenLogprobs:
    """The log-probability of `token` and of the `count` likeliest, from `logits` [V]."""
    logs = torch.log_softmax(logits.float(), dim=-1)
    best = logs.topk(min(count, logs.numel()))
    top = dict(zip(best.indices.tolist(), best.values.tolist(), strict=True))
    return TokenLogprobs(token, float(logs[token]), top)

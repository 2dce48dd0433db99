"""From scores to a token: how a request asks for its next token, and how one is drawn.

Temperature flattens or sharpens the distribution; top-k, top-p and min-p cut its tail, in that order, each on
what the one before left (top-k: Fan et al. 2018; top-p: Holtzman et al., arXiv 1904.09751; min-p: arXiv
2407.01082). Greedy decoding is the limit of temperature 0.
"""

from dataclasses import dataclass

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
    ignore_eos: bool = False

    def __post_init__(self) -> None:
        _require(self.max_tokens >= 1, "max_tokens", self.max_tokens, "at least 1")
        _require(
            0 <= self.temperature < float("inf"), "temperature", self.temperature, "0 (greedy) or positive"
        )
        _require(self.top_k >= 0, "top_k", self.top_k, "0 (off) or positive")
        _require(0 < self.top_p <= 1, "top_p", self.top_p, "above 0 and at most 1 (off)")
        _require(0 <= self.min_p <= 1, "min_p", self.min_p, "from 0 (off) to 1")
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
    scores = logits.float()
    if params.temperature == 0:
        return torch.zeros_like(scores).index_fill_(0, scores.argmax(), 1.0)
    # Subtracting the maximum first keeps a tiny temperature from overflowing.
    probabilities = torch.softmax((scores - scores.max()) / params.temperature, dim=-1)
    if params.top_k:
        kth = probabilities.topk(min(params.top_k, probabilities.numel())).values[-1]
        probabilities = _keep(probabilities, probabilities >= kth)
    if params.top_p < 1:
        probabilities = _keep(probabilities, _in_nucleus(probabilities, params.top_p))
    if params.min_p:
        probabilities = _keep(probabilities, probabilities >= params.min_p * probabilities.max())
    return probabilities


def _keep(probabilities: Tensor, kept: Tensor) -> Tensor:
    masked = probabilities * kept
    return masked / masked.sum()


def _in_nucleus(probabilities: Tensor, top_p: float) -> Tensor:
    """The tokens whose likelier competitors do not yet add up to `top_p`: the likeliest is always in."""
    descending, order = probabilities.sort(descending=True)
    kept = torch.empty_like(order, dtype=torch.bool)
    kept[order] = descending.cumsum(0) - descending < top_p
    return kept


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

    def __init__(self, params: SamplingParams, device: torch.device) -> None:
        self.params = params
        self.logprobs: list[TokenLogprobs] = []
        self._generator = torch.Generator(device=device)
        if params.seed is None:
            self._generator.seed()
        else:
            self._generator.manual_seed(params.seed)

    def __call__(self, logits: Tensor) -> int:
        """Draw the next token from its scores, `logits` [V]."""
        if self.params.temperature == 0:
            token = int(logits.argmax())
        else:
            token = int(torch.multinomial(distribution(logits, self.params), 1, generator=self._generator))
        if self.params.logprobs is not None:
            self.logprobs.append(_logprobs(logits, token, self.params.logprobs))
        return token


def _logprobs(logits: Tensor, token: int, count: int) -> TokenLogprobs:
    logs = torch.log_softmax(logits.float(), dim=-1)
    best = logs.topk(min(count, logs.numel()))
    top = dict(zip(best.indices.tolist(), best.values.tolist(), strict=True))
    return TokenLogprobs(token, float(logs[token]), top)

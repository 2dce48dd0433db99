"""A request, and the sequence it becomes: what was asked for, and how far it has come.

A sequence's state is two integers, `num_computed <= len(tokens)`: tokens whose keys and values are in the
cache, and tokens there are. Everything else is derived. That a sequence was preempted, or is in the middle of its
prompt, is nothing but num_computed lagging behind.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from random import Random

from labkit.engine.sampling import SamplingParams
from labkit.engine.trace import FinishReason


@dataclass(frozen=True)
class Request:
    """What a client sends.

    - `prompt`: its tokens.
    - `params`: how to sample, when to stop, and with `n` how many samples.
    - `arrival`: seconds after the start of the run.
    - `priority`: larger is more urgent; counts only under the priority order.
    - `id`: its name in the trace; the engine numbers those that have none.
    - `expected`: a forecast of the output's length in tokens, for policies that want one (shortest-job-first,
      strips of memory). It ends nothing: `params.max_tokens` does.
    """

    prompt: tuple[int, ...]
    params: SamplingParams = field(default_factory=SamplingParams)
    arrival: float = 0.0
    priority: int = 0
    id: str = ""
    expected: int | None = None


class Sequence:
    """One output of a request under way: the prompt's tokens, and after them those generated.

    `longest` is the most tokens it may ever have; `ends` are the tokens that finish it. `children` are further
    samples of the same prompt that wait for it to be computed.
    """

    def __init__(self, request: Request, sample: int, longest: int, ends: frozenset[int]) -> None:
        self.request = request
        self.id = request.id if request.params.n == 1 else f"{request.id}.{sample}"
        self.tokens = list(request.prompt)
        self.num_computed = 0
        self.longest, self.ends = longest, ends
        self.finish_reason: FinishReason | None = None
        self.children: list[Sequence] = []
        self.rank = (0.0, 0)  # its place in the scheduler's order: the smaller, the earlier
        seed = request.params.seed
        self.random = Random(seed if seed is None or sample == 0 else f"{seed}/{sample}")

    @property
    def prompt_tokens(self) -> int:
        """Tokens of the prompt."""
        return len(self.request.prompt)

    @property
    def output(self) -> list[int]:
        """The generated tokens."""
        return self.tokens[self.prompt_tokens :]

    @property
    def remaining(self) -> int:
        """Tokens to compute before the next one can be chosen: 1 in the decode phase."""
        return len(self.tokens) - self.num_computed

    @property
    def final_tokens(self) -> int:
        """Tokens it will have in the end, as far as is known: the forecast if there is one, else the bound."""
        expected = self.request.expected
        return self.longest if expected is None else min(self.longest, self.prompt_tokens + max(1, expected))

    def append(self, token: int) -> None:
        """A new token was chosen; `finish_reason` says whether it was the last."""
        self.tokens.append(token)
        if token in self.ends:
            self.finish_reason = "stop"
        elif len(self.tokens) >= self.longest:
            self.finish_reason = "length"


def sequences(request: Request, max_positions: int, eos: frozenset[int]) -> list[Sequence]:
    """The `n` sequences of a request, for a model of `max_positions` whose end tokens are `eos`.

    An output ends at `max_tokens` tokens, or with the model's last position.
    """
    params = request.params
    longest = min(len(request.prompt) + params.max_tokens, max_positions)
    ends = frozenset(params.stop_token_ids) | (frozenset() if params.ignore_eos else eos)
    return [Sequence(request, sample, longest, ends) for sample in range(params.n)]


def family(parent: Sequence) -> Iterator[Sequence]:
    """A sequence, and the samples that wait for its prompt."""
    yield parent
    yield from parent.children

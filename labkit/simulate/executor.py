"""An executor that computes nothing: it says how long a step would take, and makes up the tokens.

A scheduler cannot tell it from a real one, so the simulator is the engine itself: the same queues, the same KV manager,
the same trace, on a virtual clock. The price of a step is linear in what it computes and reads,

    fixed + prefill tokens + decode tokens + context tokens read,

which fits measured steps well while one of memory and arithmetic binds, and not where the limit changes from the one
to the other, nor for prompts so long that attention's square counts.
"""

from dataclasses import dataclass, fields

from labkit.engine.batch import Batch, Result
from labkit.engine.clock import VirtualClock
from labkit.engine.engine import Engine
from labkit.engine.schedulers.base import Scheduler
from labkit.errors import ConfigError
from labkit.model.config import ModelConfig


@dataclass(frozen=True)
class StepCost:
    """Seconds of a step: a fixed part, and a part for each prefill token, decode token and token of context.

    Padding is computed like prompt tokens. The context is what attention reads: every chunk's, the new tokens included.
    Raises ConfigError for a negative price, or if all are zero (time would stand still).
    """

    step: float
    prefill_token: float = 0.0
    decode_token: float = 0.0
    context_token: float = 0.0

    def __post_init__(self) -> None:
        prices = {field.name: getattr(self, field.name) for field in fields(self)}
        if min(prices.values()) < 0 or not any(prices.values()):
            raise ConfigError(f"step cost {prices}: give seconds, 0 or more, and not all of them 0")

    def seconds(self, batch: Batch) -> float:
        """What the batch takes."""
        work = [chunk.work for chunk in batch.chunks]
        prefill = sum(tokens for tokens, _ in work) + batch.padding
        decode = sum(tokens for _, tokens in work)
        context = sum(chunk.end for chunk in batch.chunks)
        return (
            self.step
            + prefill * self.prefill_token
            + decode * self.decode_token
            + context * self.context_token
        )


OPT_13B = StepCost(step=19.93e-3, prefill_token=0.1019e-3, decode_token=0.0385e-3, context_token=6.27e-7)
"""OPT-13B on one A100, 16 bits: DistServe's fit of measured steps (arXiv 2401.09670, its simulator's constants). Its
lone prefill, 18.1 ms + 0.1019 ms a token, joins the decode step here, as it does in continuous batching; its term in
the square of the prompt's length is left out, since it is 0.2 ms at 161 tokens.
"""


class SimulatedExecutor:
    """Every chunk that emits gets the token `token`; the step takes what `cost` says. No tensors anywhere.

    `steps` counts the batches. An output ends by its length, so requests should ignore end tokens.
    """

    def __init__(self, cost: StepCost, token: int = 0) -> None:
        self.cost, self.token = cost, token
        self.steps = 0

    def execute(self, batch: Batch) -> Result:
        """Pretend."""
        self.steps += 1
        emitting = sum(chunk.emits for chunk in batch.chunks)
        return Result([self.token] * emitting, self.cost.seconds(batch), [None] * emitting)


def simulator(scheduler: Scheduler, cost: StepCost, config: ModelConfig) -> Engine:
    """The engine over a cost model and a virtual clock; `config` sets the limits of a request."""
    return Engine(scheduler, SimulatedExecutor(cost), config, None, VirtualClock)

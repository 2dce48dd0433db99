"""Chunked prefill (Sarathi-Serve, arXiv 2403.02310, §4): continuous batching with a budget of tokens a step.

Those who decode are served first, one token each; what is left of the budget goes to prompts, a piece at a time, in
the same mixed step. No step is longer than the budget allows, so nobody's next token waits for a stranger's long
prompt. The price: a prompt takes more steps, each reading all weights and the prompt so far again. With a small
budget that costs throughput and time to first token; it wins nothing where nobody decodes meanwhile.
"""

from labkit.engine.request import Sequence
from labkit.engine.schedulers.continuous import ContinuousScheduler
from labkit.engine.waiting import Order, first_come
from labkit.errors import ConfigError
from labkit.kvcache.manager import KVManager


def share_budget(remaining: list[int], budget: int) -> list[int]:
    """Tokens that each sequence computes in a step of at most `budget` tokens.

    `remaining` are the tokens that each could compute, in order of rank. Those with one token left are served first,
    then the others in turn, each as much as is left.
    """
    shares = [1 if tokens == 1 else 0 for tokens in remaining]
    left = budget - sum(shares)
    for index, tokens in enumerate(remaining):
        if tokens > 1:
            shares[index] = min(tokens, left)
            left -= shares[index]
    return shares


class ChunkedScheduler(ContinuousScheduler):
    """Continuous batching in steps of at most `token_budget` tokens.

    Raises ConfigError if that is less than `max_sequences`, since everybody must be able to decode.
    """

    def __init__(
        self,
        manager: KVManager,
        max_sequences: int = 32,
        order: Order = first_come,
        token_budget: int = 256,
    ) -> None:
        super().__init__(manager, max_sequences, order)
        if token_budget < max_sequences:
            raise ConfigError(
                f"token_budget {token_budget} is less than max_sequences {max_sequences}: everybody must be able "
                "to decode, so raise the one or lower the other"
            )
        self.token_budget = token_budget
        self._left = 0

    def _make_room(self) -> bool:
        roomy = super()._make_room()
        self._left = self.token_budget - sum(sequence.remaining for sequence in self.running)
        return roomy

    def _reserve(self, sequence: Sequence) -> bool:
        """Admit only who computes something in this step: memory is not held for those who would only wait."""
        if self._left <= 0 or not super()._reserve(sequence):
            return False
        self._left -= sequence.remaining
        return True

    def _shares(self, remaining: list[int]) -> list[int]:
        return share_budget(remaining, self.token_budget)

"""The waiting queue, and the orders in which it serves.

An order is a key, fixed when the request comes; smaller is served first, ties by who came first. A fixed key makes
the queue a heap: a step's cost does not grow with the number waiting, and with these keys nobody starves. Each
grows with arrival time, so however unfavourable a request's key is, after a while every newcomer's is larger.
"""

from collections.abc import Callable, Iterator
from heapq import heappop, heappush

from labkit.engine.request import Request, Sequence

Order = Callable[[Request], float]


def first_come(request: Request) -> float:
    """First come, first served: the arrival time."""
    return request.arrival


def shortest_first(second_is_worth: float = 32.0) -> Order:
    """Shortest job first, by the forecast output length; a second of waiting outweighs `second_is_worth` tokens."""

    def key(request: Request) -> float:
        expected = request.params.max_tokens if request.expected is None else request.expected
        return request.arrival + expected / second_is_worth

    return key


def by_priority(patience: float = 10.0) -> Order:
    """The most urgent first; a step in priority outweighs `patience` seconds of waiting."""
    return lambda request: request.arrival - request.priority * patience


ORDERS: dict[str, Order] = {"fcfs": first_come, "sjf": shortest_first(), "priority": by_priority()}


class WaitingQueue:
    """Sequences by rank. Taking one out of the middle only marks it; it is dropped when it comes up."""

    def __init__(self) -> None:
        self._heap: list[tuple[tuple[float, int], Sequence]] = []
        self._members: dict[str, Sequence] = {}

    def __len__(self) -> int:
        return len(self._members)

    def __iter__(self) -> Iterator[Sequence]:
        return iter(self._members.values())

    def push(self, sequence: Sequence) -> None:
        """Line up; `sequence.rank` says where."""
        self._members[sequence.id] = sequence
        heappush(self._heap, (sequence.rank, sequence))

    def peek(self) -> Sequence | None:
        """The next one, or None."""
        while self._heap and self._members.get(self._heap[0][1].id) is not self._heap[0][1]:
            heappop(self._heap)
        return self._heap[0][1] if self._heap else None

    def pop(self) -> Sequence:
        """The next one, taken out. Raises IndexError if nobody waits."""
        first = self.peek()
        if first is None:
            raise IndexError("nobody waits")
        heappop(self._heap)
        return self._members.pop(first.id)

    def discard(self, sequence: Sequence) -> bool:
        """Take one out, wherever it stands; False if it is not here."""
        return self._members.pop(sequence.id, None) is not None

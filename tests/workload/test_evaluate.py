"""How replies are judged."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from labkit.workload.card import markdown
from labkit.workload.evaluate import is_valid_call, rounds, share


def speculate(target: list[int], draft: list[int], proposed: int) -> tuple[int, int, int]:
    """Greedy speculative decoding spelled out: (proposed, accepted, steps) until the target's output is complete.

    `draft[i]` is what the draft says at position i if everything before it is the target's output.
    """
    done: list[int] = []
    offered = accepted = steps = 0
    while len(done) < len(target):
        proposal = draft[len(done) : len(done) + proposed]
        right = 0
        while right < len(proposal) and proposal[right] == target[len(done) + right]:
            right += 1
        offered, accepted, steps = offered + len(proposal), accepted + right, steps + 1
        done += target[len(done) : len(done) + right + 1]
    assert done == target
    return offered, accepted, steps


@given(st.lists(st.tuples(st.integers(0, 1), st.integers(0, 1)), max_size=40), st.integers(1, 6))
def test_rounds_count_what_speculation_does(tokens: list[tuple[int, int]], proposed: int) -> None:
    counted = list(rounds([t == d for t, d in tokens], proposed))
    expected = speculate([t for t, _ in tokens], [d for _, d in tokens], proposed)
    assert (sum(o for o, _ in counted), sum(a for _, a in counted), len(counted)) == expected


@pytest.mark.parametrize(
    ("text", "valid"),
    [
        (json.dumps({"tool": "set_timer", "arguments": {"minutes": 3}}), True),
        ('{"tool": "set_timer", "arguments": {"minutes": 3}', False),
        ('{"tool": "set_timer"}', False),
        ('{"tool": "set_timer", "arguments": 3}', False),
        ("[1]", False),
        ("The timer is set.", False),
    ],
)
def test_what_counts_as_a_tool_call(text: str, valid: bool) -> None:
    assert is_valid_call(text) == valid


def test_a_share_of_nothing_is_unknown() -> None:
    assert share([]) is None
    assert share([True, False, True, True]) == 0.75


def test_a_table_shows_dashes_for_what_is_missing() -> None:
    text = markdown([{"a": 1234, "b": 0.5}, {"a": None}], {"a": "A", "b": "B"})
    assert text.splitlines() == ["| A | B |", "| --- | --- |", "| 1,234 | 0.500 |", "| – | – |"]

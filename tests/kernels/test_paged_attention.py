"""The torch reference of paged attention against plain attention over each context, written out row by row."""

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from labkit.kernels.paged_attention import Layout, paged_attention


def dense(q, keys, values, layout):
    """One row and one head at a time, in fp64."""
    out, row = torch.empty_like(q, dtype=torch.float64), 0
    group = layout.heads // layout.kv_heads
    for count, context, table in zip(layout.counts, layout.contexts, layout.tables, strict=True):
        size = layout.block_size
        slots = torch.tensor([table[p // size] * size + p % size for p in range(context)])
        for position in range(context - count, context):
            for head in range(layout.heads):
                k = keys[slots[: position + 1], head // group].double()
                v = values[slots[: position + 1], head // group].double()
                weights = torch.softmax(k @ q[row, head].double() / math.sqrt(q.shape[-1]), dim=0)
                out[row, head] = weights @ v
            row += 1
    return out


@st.composite
def layouts(draw):
    size = draw(st.sampled_from([1, 2, 5, 16]))
    kv_heads, group = draw(st.sampled_from([(1, 1), (1, 4), (2, 3), (3, 1)]))
    decodes = draw(st.integers(0, 4))
    counts = [1] * decodes + draw(st.lists(st.integers(2, 9), min_size=0 if decodes else 1, max_size=3))
    contexts = [count + draw(st.integers(0, 40)) for count in counts]
    blocks = draw(st.permutations(range(sum(-(-one // size) for one in contexts))))
    tables, first = [], 0
    for context in contexts:
        end = first + -(-context // size)
        tables.append(list(blocks[first:end]))
        first = end
    return Layout(counts, contexts, tables, size, kv_heads * group, kv_heads), len(blocks) * size


@settings(max_examples=60, deadline=None)
@given(drawn=layouts(), dtype=st.sampled_from([torch.float32, torch.float64, torch.bfloat16]))
@torch.inference_mode()
def test_a_step_is_plain_attention_over_each_context(drawn, dtype):
    layout, slots = drawn
    torch.manual_seed(slots)
    q = torch.randn(sum(layout.counts), layout.heads, 8).to(dtype)
    keys, values = (torch.randn(slots, layout.kv_heads, 8).to(dtype) for _ in range(2))
    found = paged_attention(layout, torch.device("cpu"), dtype)(q, keys, values)
    assert found.dtype == dtype
    tolerance = {torch.float64: 1e-9, torch.float32: 1e-5, torch.bfloat16: 3e-2}[dtype]
    torch.testing.assert_close(found.double(), dense(q, keys, values, layout), atol=tolerance, rtol=tolerance)


@pytest.mark.parametrize("shared", [1, 2])
@torch.inference_mode()
def test_two_contexts_may_share_blocks(shared):
    layout = Layout([1, 1], [7, 6], [[0, 1], [0, 1] if shared == 2 else [0, 2]], 4, 2, 1)
    q, keys, values = torch.randn(2, 2, 8), torch.randn(12, 1, 8), torch.randn(12, 1, 8)
    found = paged_attention(layout, torch.device("cpu"), torch.float32)(q, keys, values)
    torch.testing.assert_close(found.double(), dense(q, keys, values, layout), atol=1e-5, rtol=1e-5)

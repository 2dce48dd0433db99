"""The CPU's own product and norm are the standard ones, whatever strides a row has; a hook is refused, not ignored."""

from itertools import product
from unittest.mock import patch

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from labkit.errors import ConfigError
from labkit.model import layers, products
from labkit.model.layers import FEW_ROWS, Linear, RMSNorm, linear


@given(
    rows=st.sampled_from([1, 2, 5, FEW_ROWS, FEW_ROWS + 1]), outs=st.integers(1, 70), ins=st.integers(1, 40),
    bias=st.booleans(), seed=st.integers(0, 99),
)  # fmt: skip
def test_every_product_is_the_textbook_one(rows, outs, ins, bias, seed):
    generator = torch.Generator().manual_seed(seed)
    x, weight, shift = (
        torch.randn(*size, generator=generator) for size in ((rows, ins), (outs, ins), (outs,))
    )
    expected = x.double() @ weight.double().T + (shift.double() if bias else 0)
    column_major = x.t().contiguous().t()  # a single row then has strides (1, 1)
    with torch.inference_mode():
        for one, chosen in product((x, column_major), (products.slab_product, products.whole_product)):
            with patch.object(layers, "fastest", return_value=chosen):
                got = linear(one, weight, shift if bias else None)
            assert got.is_contiguous()
            torch.testing.assert_close(got.double(), expected, atol=1e-4, rtol=1e-4)


@pytest.mark.parametrize("alone", [True, False])
@pytest.mark.parametrize("slow", ["slab_product", "whole_product"])
def test_the_race_is_won_by_the_faster_and_run_once(monkeypatch, alone, slow):
    products.fastest.cache_clear()
    others = {"slab_product": "whole_product", "whole_product": "slab_product"}
    quick = getattr(products, others[slow])
    calls = []

    def slowed(x, weight):
        calls.append(len(x))
        for _ in range(12):
            quick(x, weight)
        return quick(x, weight)

    monkeypatch.setattr(products, slow, slowed)
    assert products.fastest(alone, torch.float32) is quick
    asked = len(calls)
    assert set(calls) == {1 if alone else products.SEVERAL}
    products.fastest(alone, torch.float32)
    assert len(calls) == asked
    products.fastest.cache_clear()


@given(rows=st.integers(1, 9), size=st.integers(1, 50), scale=st.sampled_from([0.0, 1e-4, 1.0, 1e4]))
def test_the_short_norm_equals_the_standard_one(rows, size, scale):
    norm, x = (
        RMSNorm(size, eps=1e-5),
        scale * torch.randn(rows, size, generator=torch.Generator().manual_seed(size)),
    )
    torch.nn.init.normal_(norm.weight)
    with torch.inference_mode():
        short = norm(x)
    long = norm(x)  # with gradients on, torch's own
    assert long.requires_grad
    torch.testing.assert_close(short, long.detach(), atol=1e-6, rtol=1e-5)


@pytest.mark.parametrize("register", ["register_forward_hook", "register_forward_pre_hook"])
def test_a_hook_that_would_never_run_is_refused(register):
    with pytest.raises(ConfigError, match="Linear runs no hooks"):
        getattr(Linear(2, 2), register)(print)

"""The CPU's own product and norm are the standard ones, whatever strides a row has; a hook is refused, not ignored."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from labkit.errors import ConfigError
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
        for one in (x, column_major):
            got = linear(one, weight, shift if bias else None)
            assert got.is_contiguous()
            torch.testing.assert_close(got.double(), expected, atol=1e-4, rtol=1e-4)


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

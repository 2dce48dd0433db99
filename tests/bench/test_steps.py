"""The timed steps do the work they claim: a prefill and a decode step agree with the model's own forward pass."""

from dataclasses import replace

import torch

from labkit.bench import steps
from labkit.bench.limits import measure_limits, weight_bytes
from labkit.model.attention import attention
from labkit.model.config import ModelConfig
from labkit.model.transformer import Transformer

SHAPE = ModelConfig(50, 24, 48, num_layers=2, num_heads=6, num_kv_heads=2, head_dim=4, max_positions=64)


def test_the_random_past_is_attended_to_by_every_sequence():
    model, seen = Transformer.random(SHAPE), {}
    attend = steps.random_past(model, batch=3, context=5)
    q, k, v = torch.randn(3, 6, 4), torch.randn(3, 2, 4), torch.randn(3, 2, 4)
    out = attend(1, q, k, v)
    cells = dict(zip(attend.__code__.co_freevars, (c.cell_contents for c in attend.__closure__), strict=True))
    for row in range(3):
        keys, values = cells["keys"][1, row], cells["values"][1, row]
        torch.testing.assert_close(keys[:, 5], k[row])
        torch.testing.assert_close(out[row], attention(q[row : row + 1], keys, values)[0])
        seen[row] = out[row]
    assert not torch.allclose(seen[0], seen[1])


def test_steps_take_time():
    model = Transformer.random(SHAPE)
    assert steps.prefill(model, 12)() > 0
    assert steps.decode(model, batch=4, context=9)() > 0


def test_limits_are_what_the_rounds_say():
    limits = measure_limits(repeats=2, size=64)
    assert limits.bytes_per_second == 2**29 / limits.reading.best
    assert limits.flops_per_second == 2 * 64**3 / limits.multiplying.best


def test_a_decode_step_reads_all_weights_but_an_embedding_table_of_its_own():
    for tied in (True, False):
        config = replace(SHAPE, tie_embeddings=tied)
        norms = (
            config.parameters
            - config.matmul_parameters
            - (0 if tied else config.vocab_size * config.hidden_size)
        )
        assert weight_bytes(Transformer.random(config)) == 4 * (config.matmul_parameters + norms)

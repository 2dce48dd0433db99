"""The loop learns, repeats itself exactly, and keeps to its plan."""

import io
import random
from collections.abc import Iterator

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from labkit.errors import ConfigError
from labkit.model.config import ModelConfig
from labkit.model.transformer import Transformer
from labkit.progress import ProgressBar, clock
from labkit.training.loop import Pace, TrainingLog, TrainingPlan, train

SHAPE = ModelConfig(
    12, 24, 40, num_layers=2, num_heads=2, num_kv_heads=1, head_dim=12, max_positions=64, tie_embeddings=True
)


def counting(seed: int) -> Iterator[list[int]]:
    """Documents that count upwards modulo 12 from a random start: after the first token nothing is left to guess."""
    rng = random.Random(seed)
    while True:
        start = rng.randrange(12)
        yield [(start + i) % 12 for i in range(rng.randrange(5, 20))]


def trained(workers: int = 2, steps: int = 60) -> tuple[Transformer, TrainingLog]:
    model = Transformer.random(SHAPE, seed=1)
    plan = TrainingPlan(steps=steps, tokens_per_step=96, learning_rate=1e-2, warmup_steps=5, workers=workers)
    return model, train(model, counting(0), plan)


def test_the_loss_falls_to_what_cannot_be_known() -> None:
    _, log = trained()
    assert log.losses[0] > 2
    assert log.losses[-1] < 0.2
    assert len(log.losses) == 60
    assert log.tokens > 60 * 80


def test_the_same_seeds_train_the_same_weights() -> None:
    (one, log), (other, again) = trained(steps=8), trained(steps=8)
    assert log.losses == again.losses
    assert all(torch.equal(a, b) for a, b in zip(one.parameters(), other.parameters(), strict=True))


def test_the_number_of_workers_changes_only_rounding() -> None:
    assert trained(workers=1, steps=5)[1].losses == pytest.approx(
        trained(workers=3, steps=5)[1].losses, rel=1e-3
    )


def test_torch_gets_its_threads_back() -> None:
    before = torch.get_num_threads()
    trained(steps=1)
    assert torch.get_num_threads() == before


def test_every_step_is_reported_and_can_stop_the_run() -> None:
    seen: list[int] = []

    def every(log: TrainingLog) -> None:
        seen.append(len(log.losses))
        if len(seen) == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        train(Transformer.random(SHAPE), counting(0), TrainingPlan(steps=9, tokens_per_step=50), every=every)
    assert seen == [1, 2, 3]


@given(st.integers(1, 500), st.integers(1, 50), st.floats(0.01, 1))
def test_the_rate_rises_stays_and_falls_within_its_steps(steps: int, warmup: int, decay: float) -> None:
    pace = Pace(TrainingPlan(steps=steps, warmup_steps=warmup, decay_share=decay))
    rates = [pace.rate(step, 0.0) for step in range(steps)]
    assert all(0 < rate <= 1 for rate in rates)
    top = rates.index(max(rates))
    assert rates[: top + 1] == sorted(rates[: top + 1])
    assert rates[top:] == sorted(rates[top:], reverse=True)


@given(st.floats(1, 1e4), st.floats(0.01, 5), st.floats(0.05, 0.9))
def test_a_run_given_seconds_is_the_run_given_its_steps(
    seconds: float, step_seconds: float, decay: float
) -> None:
    """The clock decides only when the decay begins; the rates are then those of a plan in steps."""
    timed = Pace(TrainingPlan(seconds=seconds, decay_share=decay))
    rates: list[float] = []
    while (timed.total is None or len(rates) < timed.total) and len(rates) < 400:
        rates.append(timed.rate(len(rates), len(rates) * step_seconds))
    if timed.total is not None:
        counted = Pace(TrainingPlan(steps=timed.total, decay_share=decay))
        assert rates == pytest.approx(
            [counted.rate(step, 0.0) for step in range(len(rates))], abs=0.5 / len(rates) + 0.03
        )


@pytest.mark.parametrize(
    "arguments",
    [{}, {"steps": 1, "seconds": 1.0}, {"steps": 0}, {"seconds": -1.0}, {"steps": 1, "workers": 0}],
)
def test_an_impossible_plan_is_refused(arguments: dict[str, float]) -> None:
    with pytest.raises(ConfigError):
        TrainingPlan(**arguments)  # type: ignore[arg-type]


def test_the_progress_bar_tells_share_and_time_left() -> None:
    stream = io.StringIO()
    with ProgressBar("cooking", stream) as bar:
        bar.update(0.0, "cold")
        bar.update(0.5, "warm")
        bar.update(1.0, "done")
    lines = stream.getvalue().splitlines()
    assert "cooking" in lines[0]
    assert "100%" in lines[-1]
    assert "done" in lines[-1]
    assert "left" in lines[-1]


@pytest.mark.parametrize(
    ("seconds", "text"), [(0, "0:00"), (61.4, "1:01"), (3600, "1:00:00"), (3725, "1:02:05")]
)
def test_clock(seconds: float, text: str) -> None:
    assert clock(seconds) == text

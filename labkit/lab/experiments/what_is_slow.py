"""Notebook 01: prefill against decode, on the engine, on this machine's roofline, and on GPUs that are not here."""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from labkit.bench import steps
from labkit.bench.limits import Limits, measure_limits, reading_weights
from labkit.bench.timing import Timing, collect, interleaved, rounds
from labkit.engine.generation import cached, naive
from labkit.engine.trace import Trace
from labkit.lab.errors import LabError
from labkit.lab.experiments.answers import answer_of_length, milliseconds
from labkit.lab.figures.bars import bars
from labkit.lab.figures.lines import lines
from labkit.lab.figures.roofline import Point, Roof, roofline
from labkit.lab.picture import Picture
from labkit.lab.rung import CPU, Rung
from labkit.lab.widgets.job import Report, unheard
from labkit.model.config import ModelConfig
from labkit.model.load import LanguageModel
from labkit.model.presets import preset
from labkit.model.transformer import Transformer
from labkit.simulate.hardware import hardware
from labkit.simulate.roofline import Work, decode_work, floor_seconds, prefill_work

EVEN = 0.6
"""A phase with more than this share of the time is called the slow one (our choice, for a clear answer)."""


def machine_limits(lm: LanguageModel) -> Limits:
    """What the model's device reaches in plain reading and plain matrix products of the model's type."""
    return measure_limits(lm.model.device, lm.model.dtype)


def timed_model(rung: Rung, lm: LanguageModel) -> Transformer:
    """The model whose steps are timed: the real one where the rung's shape is its own, else random weights of it.

    A GPU is not filled by a model that a CPU can run, and timing needs no real weights.
    """
    if preset(rung.sizes.shape) == lm.config or rung.name == CPU:
        return lm.model
    return Transformer.random(rung.sizes.shape, device=rung.device, dtype=rung.dtype)


def roof(limits: Limits) -> Roof:
    """This machine's roof, as measured."""
    return Roof(
        f"this machine ({limits.device}, {limits.dtype})", limits.flops_per_second, limits.bytes_per_second
    )


def phases(lm: LanguageModel, trace: Trace) -> list[Point]:
    """The two phases of a one-request trace as points of a roofline: counted work over measured time."""
    first, *rest = trace.steps
    if not rest:
        raise LabError("the trace has no decode step: generate at least two tokens")
    size, request = lm.model.embedding.element_size(), trace.requests[0]
    context = request.prompt_tokens + len(rest) // 2
    return [
        _point("prefill", prefill_work(lm.config, request.prompt_tokens, size), first.seconds),
        _point("decode", decode_work(lm.config, 1, context, size), median(step.seconds for step in rest)),
    ]


def _point(phase: str, work: Work, seconds: float) -> Point:
    return Point(f"{phase}, {milliseconds(seconds)}", work.intensity, work.flops / seconds, concept=phase)


def step_times(
    lm: LanguageModel, prompt_tokens: int, output_tokens: int, progress: Report = unheard
) -> dict[str, list[float]]:
    """Milliseconds of every step, without and with a KV cache, for the same prompt."""
    times = {}
    for name, loop in (("recompute everything", naive), ("KV cache", cached)):
        trace = answer_of_length(lm, prompt_tokens, output_tokens, loop=loop, progress=progress)
        times[name] = [step.seconds * 1000 for step in trace.steps]
    return times


def draw_step_times(times: dict[str, list[float]]) -> Picture:
    """Step times over the output token's number."""
    return lines(
        times, x_label="output token", y_label="milliseconds", title="Time of each step",
        concepts={"recompute everything": "wasted", "KV cache": "cached"},
    )  # fmt: skip


@dataclass(frozen=True)
class Sweep:
    """Decode steps timed at several batch sizes, each sequence with `context` tokens before the new one."""

    context: int
    timings: dict[int, Timing]

    def cost_ratio(self, batch: int) -> float:
        """Step time at `batch` over step time at 1, median over rounds."""
        return self.timings[1].times_faster_than(self.timings[batch])


def batch_sweep(
    model: Transformer, batches: Sequence[int], context: int, repeats: int = 5, progress: Report = unheard
) -> Sweep:
    """Time a decode step at each batch size, in turns; the sizes must include 1."""
    candidates = {str(batch): steps.decode(model, batch, context) for batch in batches}
    measured = []
    for done, one in enumerate(rounds(candidates, repeats), start=1):
        progress(done, repeats, f"round {done} of {repeats}")
        measured.append(one)
    return Sweep(context, {int(batch): timing for batch, timing in collect(measured).items()})


def draw_sweep(sweep: Sweep) -> Picture:
    """Tokens per second over batch size, beside what they would be if a larger batch cost nothing."""
    batches = list(sweep.timings)
    series = {
        "measured": [batch / timing.best for batch, timing in sweep.timings.items()],
        "if every step took as long as at batch 1": [batch / sweep.timings[1].best for batch in batches],
    }
    return lines(
        series, x=batches, x_label="batch (sequences in the step)", y_label="output tokens per second", scale="log",
        title=f"Decode at {sweep.context} tokens of context",
        concepts={"measured": "measured", "if every step took as long as at batch 1": "limit"},
    )  # fmt: skip


def told_sweep(sweep: Sweep) -> str:
    """The sweep's ends in a sentence."""
    largest = max(sweep.timings)
    ratio = sweep.cost_ratio(largest)
    return (
        f"A step for {largest} sequences takes {ratio:.1f} times as long as a step for one, "
        f"so each token costs {ratio / largest:.2f} of what it costs alone."
    )


@dataclass(frozen=True)
class OnGpu:
    """The floors of the two phases for a model shape on a GPU, 16-bit weights, from its specification."""

    roof: Roof
    points: list[Point]
    prefill_seconds: float
    decode_seconds: float
    text: str


def on_gpu(shape: str, gpu: str, prompt_tokens: int, batch: int) -> OnGpu:
    """Where prefill and decode of a model lie on a GPU's specified roofline, and the least time they can take."""
    config, device = preset(shape), hardware(gpu)
    peak, bandwidth = device.peak(), device.bytes_per_second
    work = {
        "prefill": prefill_work(config, prompt_tokens),
        "decode": decode_work(config, batch, prompt_tokens),
    }
    floors = {phase: floor_seconds(one, peak, bandwidth) for phase, one in work.items()}
    points = [Point(f"{phase}, at least {milliseconds(floors[phase])}", work[phase].intensity, concept=phase)
              for phase in work]  # fmt: skip
    text = (
        f"{shape} on {device.name}: reading {prompt_tokens} tokens takes at least {milliseconds(floors['prefill'])}, "
        f"a decode step for {batch} at least {milliseconds(floors['decode'])} "
        f"({batch / floors['decode']:,.0f} tokens a second). {_fit(config, device.memory_bytes, device.name)}"
    )
    return OnGpu(Roof(device.name, peak, bandwidth), points, floors["prefill"], floors["decode"], text)


def _fit(config: ModelConfig, memory: float, name: str) -> str:
    share = config.weight_bytes(2) / memory
    if share <= 1:
        return f"The 16-bit weights take {share:.0%} of its memory."
    return f"The 16-bit weights need {share:.1f} times the memory of one {name}: question 1 comes first."


def draw_on_gpu(found: OnGpu) -> Picture:
    """The GPU's roofline with both phases on it."""
    return roofline(found.roof, found.points, title=found.roof.name)


@dataclass(frozen=True)
class Share:
    """Decode speed beside its ceiling, tokens per second."""

    ceiling: float
    measured: float

    @property
    def share(self) -> float:
        """Measured over ceiling."""
        return self.measured / self.ceiling


def share_of_ceiling(model: Transformer, context: int = 64, repeats: int = 15) -> Share:
    """Batch-1 decode against weight bytes over bandwidth, both measured in turns; medians."""
    candidates = {"read": reading_weights(model), "decode": steps.decode(model, 1, context)}
    timings = interleaved(candidates, repeats, warmup=2)
    return Share(1 / timings["read"].median, 1 / timings["decode"].median)


def draw_share(share: Share) -> Picture:
    """Measured decode speed with its ceiling as a line."""
    return bars(
        {"measured": share.measured}, unit="tokens/s", limit=share.ceiling, limit_label="ceiling",
        title=f"Decode, one sequence: {share.share:.0%} of the ceiling", concepts={"measured": "measured"},
    )  # fmt: skip


@dataclass(frozen=True)
class Diagnosis:
    """How a workload's time splits into the two phases, in seconds a request, and what follows."""

    prefill_seconds: float
    decode_seconds: float
    text: str


def diagnose(trace: Trace) -> Diagnosis:
    """What is slow in a measured request: reading the prompt or writing the answer."""
    request = trace.requests[0]
    if not request.token_times:
        raise LabError("the request has no output: generate at least one token")
    prefill = request.token_times[0] - request.arrival
    decode = request.token_times[-1] - request.token_times[0]
    return Diagnosis(prefill, decode, _verdict(prefill, decode))


def diagnose_on(shape: str, gpu: str, prompt_tokens: int, output_tokens: int, batch: int) -> Diagnosis:
    """The same split on a GPU from its specification: the least seconds of each phase, for one of `batch` requests."""
    config, device = preset(shape), hardware(gpu)
    peak, bandwidth = device.peak(), device.bytes_per_second
    prefill = floor_seconds(prefill_work(config, prompt_tokens), peak, bandwidth)
    middle = prompt_tokens + output_tokens // 2
    decode = floor_seconds(decode_work(config, batch, middle), peak, bandwidth) * (output_tokens - 1)
    return Diagnosis(prefill, decode, _verdict(prefill, decode))


def ceilings(shape: str, gpus: Sequence[str]) -> Picture:
    """The most tokens a second that one sequence can get from each GPU: bandwidth over weight bytes, 16-bit weights."""
    work = decode_work(preset(shape), batch=1, context=0)
    devices = [hardware(gpu) for gpu in gpus]
    rates = {one.name: 1 / floor_seconds(work, one.peak(), one.bytes_per_second) for one in devices}
    title = f"{shape}, 16-bit weights, one sequence: specified ceilings"
    return bars(rates, unit="tokens/s", title=title, concepts=dict.fromkeys(rates, "predicted"))


def _verdict(prefill: float, decode: float) -> str:
    share = decode / (prefill + decode)
    if share > EVEN:
        return (
            f"Writing is {share:.0%} of the time: decode is what is slow, and it waits for memory. Ask how many "
            "requests share a step (questions 3 and 4), how many bytes a weight has (1), and whether a draft can "
            "guess ahead (5)."
        )
    if share < 1 - EVEN:
        return (
            f"Reading is {1 - share:.0%} of the time: prefill is what is slow, and it is arithmetic. Ask whether "
            "prompts begin alike, so that their work can be reused (question 2), and at scale whether it delays "
            "others (6)."
        )
    return (
        f"Reading is {1 - share:.0%} and writing {share:.0%} of the time: neither alone is the problem. Ask the "
        "questions in order; shared prefixes (2) and batching (3) help one phase each."
    )


def draw_diagnosis(found: Diagnosis) -> Picture:
    """The two phases' seconds as bars."""
    values = {"reading the prompt": found.prefill_seconds, "writing the answer": found.decode_seconds}
    concepts = {"reading the prompt": "prefill", "writing the answer": "decode"}
    return bars(values, unit="s", title="One request", concepts=concepts)

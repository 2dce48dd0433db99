"""One request, answered while the learner watches: the run shared by the first notebooks.

A run is a function of plain numbers that returns a Trace or a Completion, so that a widget, a cell and a test can call
the same one.
"""

from labkit.engine.generation import Completion, Loop, cached, stream
from labkit.engine.metrics import e2e, tpot, ttft
from labkit.engine.prompt import Prompt
from labkit.engine.sampling import SamplingParams
from labkit.engine.trace import Trace
from labkit.errors import MissingModelError
from labkit.lab.rung import Rung
from labkit.lab.widgets.job import Report, unheard
from labkit.model.load import LanguageModel, load

_PASSAGE = (
    "A ferry leaves the harbour every morning before the fog lifts. It carries bread, letters and a few passengers who "
    "know each other by name. The captain counts the boxes, the passengers count the gulls, and nobody is in a hurry. "
)


def real_model(rung: Rung) -> LanguageModel:
    """The rung's real model; the embedded tiny one, with a note, where the real one can't be had now."""
    try:
        return load(rung.sizes.model, device=rung.device, dtype=rung.dtype)
    except MissingModelError as error:
        print(
            f"{error}\nGoing on with the embedded tiny model: the effects are the same, the numbers smaller."
        )
        return load("tiny", device=rung.device, dtype=rung.dtype)


def passage(lm: LanguageModel, tokens: int) -> list[int]:
    """A prompt of exactly this many tokens: a passage of plain text, repeated."""
    once = lm.tokenizer.encode(_PASSAGE)
    return (once * (tokens // len(once) + 1))[:tokens]


def answer(
    lm: LanguageModel,
    prompt: Prompt,
    params: SamplingParams,
    *,
    loop: Loop = cached,
    progress: Report = unheard,
) -> Completion:
    """Generate, reporting every token."""
    generation = stream(lm, prompt, params, loop=loop)
    for done, _ in enumerate(generation, start=1):
        progress(min(done, params.max_tokens), params.max_tokens, f"{done} tokens")
    return generation.completion


def answer_of_length(
    lm: LanguageModel,
    prompt_tokens: int,
    output_tokens: int,
    *,
    loop: Loop = cached,
    progress: Report = unheard,
) -> Trace:
    """The trace of a prompt and an output of given lengths: what a step costs depends on lengths, not on words."""
    params = SamplingParams(max_tokens=output_tokens, ignore_eos=True)
    return answer(lm, passage(lm, prompt_tokens), params, loop=loop, progress=progress).trace


def told(trace: Trace) -> str:
    """The first request's timings in a sentence."""
    request = trace.requests[0]
    first, each, whole = ttft(request), tpot(request), e2e(request)
    if first is None or whole is None:
        return "Nothing was generated."
    read = f"The {request.prompt_tokens} prompt tokens were read in {milliseconds(first)}"
    if each is None:
        return f"{read}; one token was written."
    per_prompt_token = first / request.prompt_tokens
    return (
        f"{read}, {milliseconds(per_prompt_token)} a token; then each output token took {milliseconds(each)}, "
        f"{each / per_prompt_token:.1f} times as long. Writing was {(whole - first) / whole:.0%} of the "
        f"{milliseconds(whole)} in all."
    )


def milliseconds(seconds: float) -> str:
    """A duration for people: milliseconds, or seconds from one second up."""
    return f"{seconds:.2f} s" if seconds >= 1 else f"{seconds * 1000:.3g} ms"

"""The engine: requests in, tokens out, a step at a time.

    schedule → execute → update → hand out tokens, and write all of it to the trace.

The scheduler decides, the executor computes, the clock says when. Put in another scheduler and it is another kind of
batching; put in a cost model and a virtual clock and it is a simulator.
"""

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import nullcontext
from dataclasses import replace
from itertools import count
from math import isfinite

from labkit.engine.batch import Batch, Result
from labkit.engine.clock import Clock, SkippingClock
from labkit.engine.executor import Executor
from labkit.engine.output import Output
from labkit.engine.prompt import Prompt, check_prompt, prompt_tokens
from labkit.engine.request import Request, Sequence, sequences
from labkit.engine.sampling import SamplingParams
from labkit.engine.schedulers.base import Scheduler
from labkit.engine.stopping import TextStream
from labkit.engine.trace import RequestRecord, Step, Trace
from labkit.errors import LabkitError, RequestError
from labkit.model.config import ModelConfig
from labkit.model.tokenizer import Tokenizer
from labkit.progress import ProgressBar


class Engine:
    """Serves requests with one scheduler and one executor (see `labkit.engine.build` for the usual ones).

    `config` sets the limits of a request; `tokenizer` turns prompts into tokens and tokens into text, and may be
    left out where only tokens matter. `clock` makes the clock that times start from anew for every run.
    `trace` is the record since then.
    """

    def __init__(
        self,
        scheduler: Scheduler,
        executor: Executor,
        config: ModelConfig,
        tokenizer: Tokenizer | None = None,
        clock: Callable[[], Clock] = SkippingClock,
    ) -> None:
        self.scheduler, self.executor, self.config, self.tokenizer = scheduler, executor, config, tokenizer
        self.trace = Trace()
        self._new_clock, self.clock = clock, clock()
        self._live: dict[str, Output] = {}  # by sequence
        self._samples: dict[str, list[Output]] = {}  # by request
        self._cancelled: deque[str] = deque()
        self._numbers = count()

    def add(self, request: Request) -> list[Output]:
        """Accept a request; its outputs, one for each sample, fill as the engine steps.

        Raises RequestError, with nothing else changed, if it can never be served: its prompt is empty, too long or
        out of vocabulary, its context could outgrow the pool, or its id is taken.
        """
        request = self._named(request)
        samples = self._checked(request)
        outputs = [Output(sample, self._record(sample), self._text_stream(request)) for sample in samples]
        self._samples[request.id] = outputs
        self._live.update((output.id, output) for output in outputs)
        self.trace.requests += [output.record for output in outputs]
        self.scheduler.add(samples)
        return outputs

    def cancel(self, request_id: str) -> None:
        """End a request before the next step; may be called from any thread. One that is unknown or has ended is left
        alone.
        """
        self._cancelled.append(request_id)

    def step(self) -> bool:
        """Compute one batch. False if there was nothing to do at this moment."""
        self._cancel()
        start = self.clock.now()
        batch = self.scheduler.schedule(start)
        if not batch.chunks:
            return False
        step = self._begin(batch, start)
        result = self.executor.execute(batch)
        self.clock.advance(result.seconds)
        self._deliver(batch, result)
        step.seconds = self.clock.now() - start
        step.events = self.scheduler.take_events()
        self.trace.steps.append(step)
        return True

    def run(self, requests: Iterable[Request], *, progress: bool = False) -> list[Output]:
        """Serve requests as they arrive (`request.arrival`, seconds from now); the outputs in the order of `requests`.

        One that can never be served ends as "refused" with the reason in `error`, and the others go on.
        """
        self._restart()
        named = [self._named(request) for request in requests]
        outputs: dict[str, list[Output]] = {}
        arriving = deque(sorted(named, key=lambda request: request.arrival))
        done = 0
        with ProgressBar("requests") if progress else nullcontext() as bar:
            while arriving or self.scheduler.has_work:
                while arriving and arriving[0].arrival <= self.clock.now():
                    request = arriving.popleft()
                    outputs[request.id] = self._accept(request)
                if not self.step():
                    self._idle(arriving[0].arrival if arriving else None)
                if bar is not None and (done := len(outputs) - len(self._samples)):
                    bar.update(done / len(named), f"{done} of {len(named)}")
        return [output for request in named for output in outputs[request.id]]

    def generate(
        self, prompts: Iterable[Prompt], params: SamplingParams | None = None, *, progress: bool = True
    ) -> list[Output]:
        """Generate from all prompts at once; the outputs in their order, `params.n` for each.

        Raises RequestError, before anything is computed, if one of them can never be served.
        """
        requests = [Request(tuple(self._tokens(prompt)), params or SamplingParams()) for prompt in prompts]
        for request in requests:
            self._checked(self._named(request))
        return self.run(requests, progress=progress)

    def stream(self, prompt: Prompt, params: SamplingParams | None = None) -> Iterator[str]:
        """Generate from one prompt, piece by piece; other requests under way go on beside it.

        A stream that is abandoned (closed, or its loop left) cancels its request. Raises RequestError like `add`.
        """
        request = Request(tuple(self._tokens(prompt)), params or SamplingParams(), self.clock.now())
        outputs = self.add(request)
        if len(outputs) > 1:
            self.cancel(outputs[0].sequence.request.id)
            raise RequestError(f"n = {len(outputs)}: a stream shows one sample; use generate for more")
        return self._pieces(outputs[0])

    def _pieces(self, output: Output) -> Iterator[str]:
        shown = 0
        try:
            while output.finish_reason is None or shown < len(output.text):
                if shown == len(output.text) and not self.step():
                    self._idle(None)
                if shown < len(output.text):
                    piece, shown = output.text[shown:], len(output.text)
                    yield piece
        finally:
            self.cancel(output.sequence.request.id)

    # Accepting requests

    def _named(self, request: Request) -> Request:
        if request.id:
            return request
        return replace(
            request, id=next(name for name in map(str, self._numbers) if name not in self._samples)
        )

    def _checked(self, request: Request) -> list[Sequence]:
        check_prompt(request.prompt, self.config)
        if request.id in self._samples:
            raise RequestError(f"a request {request.id!r} is under way: give this one another id")
        if not (isfinite(request.arrival) and request.arrival >= 0):
            raise RequestError(f"arrival {request.arrival!r}: need seconds, 0 or more")
        if request.params.stop_strings and self.tokenizer is None:
            raise RequestError(
                f"stop {request.params.stop!r}: an engine without a tokenizer cannot see strings"
            )
        eos = frozenset(self.tokenizer.eos_ids if self.tokenizer else ())
        samples = sequences(request, self.config.max_positions, eos)
        needed, room = samples[0].longest - 1, self.scheduler.manager.largest()
        if needed > room:
            raise RequestError(
                f"up to {needed} tokens of context needed and the KV cache holds {room} for one sequence: "
                "shorten the prompt, lower max_tokens, or make the pool larger"
            )
        return samples

    def _record(self, sequence: Sequence) -> RequestRecord:
        return RequestRecord(sequence.id, sequence.request.arrival, sequence.prompt_tokens)

    def _text_stream(self, request: Request) -> TextStream | None:
        if self.tokenizer is None:
            return None
        return TextStream(self.tokenizer.stream(), request.params.stop_strings)

    def _accept(self, request: Request) -> list[Output]:
        try:
            return self.add(request)
        except RequestError as error:
            sequence = Sequence(request, 0, len(request.prompt), frozenset())
            record = replace(self._record(sequence), finish_reason="refused")
            self.trace.requests.append(record)
            return [Output(sequence, record, None, error=str(error))]

    def _tokens(self, prompt: Prompt) -> list[int]:
        if self.tokenizer is not None:
            return prompt_tokens(self.tokenizer, prompt)
        if isinstance(prompt, str):
            raise RequestError(f"prompt {prompt!r}: an engine without a tokenizer takes tokens")
        return list(prompt)  # type: ignore[arg-type]

    # A step

    def _begin(self, batch: Batch, start: float) -> Step:
        scheduler = self.scheduler
        for chunk in batch.chunks:
            record = self._live[chunk.sequence.id].record
            if record.started is None:
                record.started = start
        return Step(
            start, 0.0, {chunk.sequence.id: chunk.work for chunk in batch.chunks}, batch.padding,
            scheduler.manager.usage(scheduler.running), len(scheduler.waiting), len(scheduler.running),
        )  # fmt: skip

    def _deliver(self, batch: Batch, result: Result) -> None:
        now = self.clock.now()
        emitted = self.scheduler.update(batch, result.tokens)
        for sequence, token, logprobs in zip(emitted, result.tokens, result.logprobs, strict=True):
            output = self._live[sequence.id]
            if output.push(token, now, logprobs):
                self.scheduler.finish(sequence, "stop")
                sequence.finish_reason = "stop"
            if sequence.finish_reason is not None:
                self._close(output)

    def _close(self, output: Output) -> None:
        output.close()
        del self._live[output.id]
        request = output.sequence.request.id
        if all(sample.finish_reason is not None for sample in self._samples[request]):
            del self._samples[request]

    def _cancel(self) -> None:
        while self._cancelled:
            for output in list(self._samples.get(self._cancelled.popleft(), ())):
                if output.finish_reason is None:
                    self.scheduler.finish(output.sequence, "cancelled")
                    self._close(output)

    def _idle(self, arrival: float | None) -> None:
        """Nothing to do: sleep until somebody arrives, or the scheduler wants to be asked again."""
        wake = self.scheduler.wake(self.clock.now())
        moments = [moment for moment in (arrival, wake) if moment is not None]
        if moments:
            self.clock.sleep_until(min(moments))
        elif self.scheduler.has_work:
            raise LabkitError(
                f"{len(self.scheduler.waiting)} requests wait and the scheduler computes nothing"
            )

    def _restart(self) -> None:
        """A new run, a new record, if nothing is under way."""
        if self._live:
            raise LabkitError(f"{len(self._live)} outputs are under way: step until they end, or cancel them")
        self.trace, self.clock = Trace(), self._new_clock()

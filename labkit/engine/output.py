"""What a request's client sees: the tokens and the text so far, and why it ended."""

from dataclasses import dataclass, field

from labkit.engine.request import Sequence
from labkit.engine.sampling import TokenLogprobs
from labkit.engine.stopping import TextStream
from labkit.engine.trace import FinishReason, RequestRecord


@dataclass
class Output:
    """One output under way or finished. `text` shows neither an end token nor a stop string; it is empty in an engine
    without a tokenizer.
    """

    sequence: Sequence
    record: RequestRecord
    stream: TextStream | None
    text: str = ""
    logprobs: list[TokenLogprobs] = field(default_factory=list)
    error: str = ""

    @property
    def id(self) -> str:
        """The request's name; with several samples, a dot and the sample's number behind it."""
        return self.sequence.id

    @property
    def tokens(self) -> list[int]:
        """The generated tokens, the one that ended it included."""
        return self.sequence.output

    @property
    def finish_reason(self) -> FinishReason | None:
        """Why it ended; None while it goes on."""
        return self.record.finish_reason

    def push(self, token: int, now: float, logprobs: TokenLogprobs | None) -> bool:
        """A token came at `now` seconds; True if it completed a stop string."""
        self.record.token_times.append(now)
        if logprobs is not None:
            self.logprobs.append(logprobs)
        if self.stream is not None and token not in self.sequence.ends:
            self.text += self.stream.push(token)
        return self.stream is not None and self.stream.stopped

    def close(self) -> None:
        """The sequence has ended: show what was held back, and note why."""
        if self.stream is not None:
            self.text += self.stream.finish()
            if self.stream.stopped:
                self.sequence.finish_reason = "stop"
        self.record.finish_reason = self.sequence.finish_reason

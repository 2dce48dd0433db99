"""The notebooks' runs return what their pictures claim, and say in words what they found."""

import pytest

import labkit
from labkit import lab
from labkit.engine.metrics import tpot, ttft
from labkit.engine.trace import RequestRecord, Step, Trace
from labkit.errors import MissingModelError
from labkit.lab.course import QUESTIONS
from labkit.lab.errors import Cancelled, LabError
from labkit.lab.experiments import answers, start_here, what_is_slow
from labkit.lab.rung import choose
from labkit.machine import Gpu
from labkit.simulate.roofline import decode_work, prefill_work


@pytest.fixture(scope="module")
def tiny():
    return labkit.load("tiny-draft", device="cpu")


@pytest.mark.parametrize("tokens", [1, 7, 200])
def test_a_passage_has_exactly_the_tokens_asked_for(tiny, tokens):
    assert len(answers.passage(tiny, tokens)) == tokens


def test_an_answer_of_given_lengths_has_them_and_reports_each_token(tiny):
    heard = []
    trace = answers.answer_of_length(
        tiny, 20, 6, progress=lambda done, total, text: heard.append((done, total))
    )
    assert trace.requests[0].prompt_tokens == 20
    assert len(trace.requests[0].token_times) == 6
    assert heard[-1] == (6, 6)
    assert "20 prompt tokens" in answers.told(trace)


def test_a_cancelled_answer_stops(tiny):
    def stop(done, total, text):
        if done == 3:
            raise Cancelled

    with pytest.raises(Cancelled):
        answers.answer_of_length(tiny, 5, 50, progress=stop)


def test_without_the_real_model_the_course_goes_on_with_the_tiny_one(monkeypatch, capsys):
    def missing(name, **_):
        if name == "smollm2-135m":
            raise MissingModelError("SmolLM2 is not here: connect")
        return name

    monkeypatch.setattr(answers, "load", missing)
    assert answers.real_model(lab.rung()) == "tiny"
    assert "SmolLM2 is not here: connect" in capsys.readouterr().out


def _trace(*times):
    steps = [
        Step(start, end - start, {"0": (9, 0) if not n else (0, 1)}) for n, (start, end) in enumerate(times)
    ]
    return Trace(steps, [RequestRecord("0", 0.0, 9, [end for _, end in times])])


def test_the_sentence_about_a_trace_is_arithmetic_on_it():
    text = answers.told(_trace((0, 0.9), (0.9, 1.4), (1.4, 1.9)))
    assert text == (
        "The 9 prompt tokens were read in 900 ms, 100 ms a token; then each output token took 500 ms, "
        "5.0 times as long. Writing was 53% of the 1.90 s in all."
    )


def test_the_phases_lie_where_their_work_over_their_time_puts_them(tiny):
    trace = _trace((0, 0.5), (0.5, 0.6), (0.6, 0.7), (0.7, 2.0))
    prefill, decode = what_is_slow.phases(tiny, trace)
    size = tiny.model.embedding.element_size()
    assert prefill.achieved == pytest.approx(prefill_work(tiny.config, 9, size).flops / 0.5)
    assert decode.achieved == pytest.approx(decode_work(tiny.config, 1, 10, size).flops / 0.1)
    assert decode.intensity < 1 < prefill.intensity


def test_a_trace_without_decode_has_no_phases_to_compare(tiny):
    with pytest.raises(LabError, match="at least two tokens"):
        what_is_slow.phases(tiny, _trace((0, 1)))


def test_step_times_of_both_loops(tiny):
    times = what_is_slow.step_times(tiny, 12, 4)
    assert {name: len(values) for name, values in times.items()} == {"recompute everything": 4, "KV cache": 4}
    assert "token" in what_is_slow.draw_step_times(times).alt


def test_a_sweep_compares_round_by_round(tiny):
    heard = []
    sweep = what_is_slow.batch_sweep(
        tiny.model, (1, 4), 8, repeats=3, progress=lambda *said: heard.append(said)
    )
    assert [len(timing.seconds) for timing in sweep.timings.values()] == [3, 3]
    assert sweep.cost_ratio(1) == 1
    assert len(heard) == 3
    assert "4 sequences" in what_is_slow.told_sweep(sweep)
    assert what_is_slow.draw_sweep(sweep).png()


@pytest.mark.parametrize(
    ("seconds", "names"),
    [((9.0, 1.0), "question 2"), ((1.0, 9.0), "questions 3 and 4"), ((5.0, 5.0), "in order")],
)
def test_a_diagnosis_names_the_slow_phase_and_the_next_questions(seconds, names):
    read, written = seconds
    found = what_is_slow.diagnose(_trace((0, read), (read, read + written)))
    assert (found.prefill_seconds, found.decode_seconds) == (read, pytest.approx(written))
    assert names in found.text
    assert what_is_slow.draw_diagnosis(found).png()


def test_on_a_gpu_a_chat_waits_for_decode_and_a_classifier_for_prefill():
    chat = what_is_slow.diagnose_on("llama-3.1-8b", "a100-80gb", 1020, 129, 16)
    classifier = what_is_slow.diagnose_on("llama-3.1-8b", "a100-80gb", 4000, 2, 1)
    assert chat.decode_seconds > 5 * chat.prefill_seconds
    assert classifier.prefill_seconds > 5 * classifier.decode_seconds


def test_a_model_that_does_not_fit_is_sent_to_question_one():
    assert "question 1 comes first" in what_is_slow.on_gpu("llama-3.1-70b", "l4", 128, 1).text
    fits = what_is_slow.on_gpu("llama-3.1-8b", "h100", 2048, 16)
    assert "20% of its memory" in fits.text
    assert what_is_slow.draw_on_gpu(fits).png()


def test_the_share_of_the_ceiling_is_between_nothing_and_everything(tiny):
    share = what_is_slow.share_of_ceiling(tiny.model, repeats=3)
    assert 0 < share.share < 1
    assert what_is_slow.draw_share(share).png()


def test_on_a_cpu_the_real_model_is_timed_and_on_a_gpu_the_shape_of_its_rung(tiny, monkeypatch):
    made = []
    monkeypatch.setattr(
        what_is_slow.Transformer, "random", lambda shape, **where: made.append((shape, where))
    )
    assert what_is_slow.timed_model(choose([]), tiny) is tiny.model
    large = choose([Gpu("a large one", 80 * 2**30, (9, 0))])
    what_is_slow.timed_model(large, tiny)
    assert made == [(large.sizes.shape, {"device": "cuda", "dtype": large.dtype})]


def test_a_chat_answer_is_shown_with_its_end(tiny):
    completion = start_here.chat(tiny, "What is 2 plus 3?", 24, 0.0, 0)
    told = start_here.tell_answer(completion)
    assert completion.text.strip() in told
    assert ("the model ended it" in told) == (completion.finish_reason == "stop")
    assert start_here.draw_answer(completion).png()
    assert start_here.draw_steps(completion).png()


def test_the_spread_keeps_the_first_run_apart(tiny):
    found = start_here.spread(tiny, 4, output_tokens=3)
    assert len(found.rest) == 3
    assert found.text.startswith("The first run took")
    assert start_here.draw_spread(found).png()
    with pytest.raises(LabError, match="at least two"):
        start_here.spread(tiny, 1)


def test_every_complaint_leads_to_a_question_of_the_tree():
    numbers = [start_here.begin_at(complaint) for complaint in start_here.COMPLAINTS]
    assert sorted(numbers) == [question.number for question in QUESTIONS]
    assert all(start_here.tell_beginning(number) for number in numbers)
    with pytest.raises(LabError, match="is not one of"):
        start_here.begin_at("it is green")


def test_an_exercise_changes_the_sentence_that_uses_it(tiny):
    """`using` reaches the engine: the plugged-in function is the one the notebook's sentence calls."""
    trace = _trace((0, 1), (1, 2), (2, 3))
    with lab.exercise("tpot").using(
        lambda r: None if len(r.token_times) < 2 else tpot.__wrapped__(r)
    ) as swap:
        assert not swap.installed  # it fails its check: the wrapper has no `__wrapped__` to call

    def mine(request):
        times = request.token_times
        return (times[-1] - times[0]) / (len(times) - 1) if len(times) > 1 else None

    with lab.exercise("tpot").using(mine) as swap:
        answers.told(trace)
        assert swap.calls >= 1
    assert ttft(trace.requests[0]) == 1

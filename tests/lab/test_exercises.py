"""Every exercise: labkit's own answer passes, the stub is not attempted, each known mistake gets its own diagnosis."""

import itertools
import math
from typing import Any

import pytest

from labkit import lab
from labkit.lab import store
from labkit.lab.errors import LabError
from labkit.lab.exercises import NAMES, exercise
from labkit.lab.exercises.base import Exercise
from labkit.model.config import ModelConfig
from labkit.model.presets import preset
from labkit.simulate import roofline

ALL = [exercise(name) for name in NAMES]
MISTAKES = [(each, mistake) for each in ALL for mistake in each.mistakes]


@pytest.fixture(params=ALL, ids=lambda each: each.name)
def each(request: pytest.FixtureRequest) -> Exercise:
    return request.param  # type: ignore[no-any-return]


def stub_of(each: Exercise) -> Any:
    scope: dict[str, Any] = {}
    exec(each.stub, scope)
    return scope[each.name]


def test_labkits_own_passes_and_every_property_is_told(each: Exercise) -> None:
    verdict = each.check(each.part.original)
    assert verdict
    assert verdict.status == "passed"
    assert all(fact.says in verdict.text for fact in each.properties)
    assert "passed" in store.read()["exercises"][each.name]


def test_the_stub_is_not_attempted_and_never_raises(each: Exercise) -> None:
    with pytest.raises(NotImplementedError):
        stub_of(each)(*each.cases[0].args)
    verdict = each.check(stub_of(each))
    assert (bool(verdict), verdict.status) == (False, "not attempted")
    assert "Not attempted yet." in repr(verdict)
    assert store.read()["exercises"] == {}


@pytest.mark.parametrize("answer", [lambda *_: None, lambda *_: ...], ids=["None", "..."])
def test_nothing_returned_is_not_attempted(each: Exercise, answer: Any) -> None:
    assert each.check(answer).status == "not attempted"


@pytest.mark.parametrize(("each", "mistake"), MISTAKES, ids=lambda value: value.name)
def test_every_known_mistake_is_rejected_with_its_own_diagnosis(each: Exercise, mistake: Any) -> None:
    verdict = each.check(mistake.wrong)
    assert verdict.status == "wrong"
    assert verdict.mistake == mistake.name
    assert mistake.says in verdict.text
    assert "passed" not in store.read()["exercises"][each.name]


def test_no_two_mistakes_look_alike(each: Exercise) -> None:
    for one, other in itertools.combinations(each.mistakes, 2):
        answers = [(one.wrong(*case.args), other.wrong(*case.args)) for case in each.cases]
        assert not all(math.isclose(*pair, rel_tol=1e-9) for pair in answers), (one.name, other.name)
    assert len({mistake.says for mistake in each.mistakes}) == len(each.mistakes)


def test_every_property_rejects_some_known_mistake(each: Exercise) -> None:
    """A property that every mistake fulfils would prove nothing."""

    def holds(fact: Any, wrong: Any) -> bool:
        try:
            return bool(fact.holds(wrong))
        except Exception:  # a mistake that cannot even be computed there breaks the property
            return False

    for fact in each.properties:
        assert not all(holds(fact, mistake.wrong) for mistake in each.mistakes), fact.says


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        (7, "without calling it; got int"),
        (lambda: 1, "TypeError"),
        (lambda *_: 1 / 0, "ZeroDivisionError"),
        (lambda *_: "much", "returns 'much', which is no number"),
        (lambda *_: float("nan"), "gives nan"),
        (lambda *_: [1], "no number"),
        (lambda *_: True, "no number"),
    ],
)
def test_answers_that_are_no_answer_are_told_and_never_raise(each: Exercise, answer: Any, says: str) -> None:
    verdict = each.check(answer)
    assert verdict.status == "wrong"
    assert says in verdict.text


def test_a_new_mistake_is_shown_a_case_and_the_broken_properties() -> None:
    verdict = exercise("kv_bytes_per_token").check(
        lambda c, b=2: 2 * c.num_layers * c.num_kv_heads * c.head_dim * b + 1
    )
    assert "too large by a factor of 1)" in verdict.text
    assert "✘ twice the layers take twice the bytes" in verdict.text
    assert "✘ a wider hidden state" not in verdict.text  # it holds, so it is no reproach


def test_an_answer_right_on_the_cases_alone_does_not_pass() -> None:
    ridge = exercise("ridge")
    known = {case.args: ridge.part.original(*case.args) for case in ridge.cases}
    verdict = ridge.check(lambda *args: known.get(args, 1.0))
    assert not verdict
    assert "✘ twice the bandwidth halves it" in verdict.text


def test_hints_go_up_and_stop_at_the_last(each: Exercise) -> None:
    each._hinted = 0
    assert len(each.hints) == 3
    shown = [each.hint() for _ in range(4)]
    assert [card.title for card in shown] == ["Hint 1 of 3", "Hint 2 of 3", "Hint 3 of 3", "Hint 3 of 3"]
    assert each.hint(1).text == shown[0].text
    with pytest.raises(LabError, match="the hints are 1 to 3"):
        each.hint(4)


def test_the_answer_book_is_labkit(each: Exercise) -> None:
    code = each.answer().code
    assert f"def {each.name}(" in code
    assert "return" in code


def test_it_shows_task_stub_and_target(each: Exercise) -> None:
    data = each._repr_mimebundle_()
    assert each.task in data["text/plain"]
    assert each.stub in data["text/plain"]
    assert each.target in data["text/html"]


def test_an_unknown_exercise_is_refused() -> None:
    with pytest.raises(LabError, match="no exercise 'juggle'"):
        lab.exercise("juggle")


def kv_mine(config: ModelConfig, dtype_bytes: float = 2) -> float:
    return dtype_bytes * config.head_dim * config.num_kv_heads * config.num_layers * 2


def test_using_puts_the_answer_into_the_engine_and_restores() -> None:
    config, own = preset("qwen3-0.6b"), ModelConfig.kv_bytes_per_token
    with exercise("kv_bytes_per_token").using(kv_mine) as swap:
        assert ModelConfig.kv_bytes_per_token is not own
        assert config.kv_bytes_per_token(1) == kv_mine(config, 1)
        assert swap.calls == 1
    assert ModelConfig.kv_bytes_per_token is own
    config.kv_bytes_per_token()
    assert swap.calls == 1


def test_using_reaches_modules_that_imported_the_function_by_name() -> None:
    """The roofline figure holds its own name for the function; it must draw with the learner's."""
    own = roofline.ridge
    with exercise("ridge").using(lambda f, b: f / b) as swap:
        assert lab.Roof("m", 10.0, 2.0).ridge == 5
        assert swap.calls == 1
        assert roofline.ridge is not own
    lab.Roof("m", 10.0, 2.0).ridge  # noqa: B018
    assert swap.calls == 1
    assert roofline.ridge is own


def test_using_without_a_block_lasts_until_the_next() -> None:
    each, own = exercise("ridge"), roofline.ridge
    first = each.using(lambda f, b: f / b)
    roofline.ridge(1.0, 2.0)
    second = each.using(lambda f, b: 1 / (b / f))
    roofline.ridge(1.0, 2.0)
    assert (first.installed, second.installed) == (False, True)
    assert (first.calls, second.calls) == (1, 1)
    second.restore()
    second.restore()
    assert roofline.ridge is own


def test_using_an_answer_that_does_not_pass_goes_on_with_labkits_own(each: Exercise) -> None:
    own = vars(each.part.owner)[each.part.name]
    for answer in (stub_of(each), each.mistakes[0].wrong):
        with each.using(answer) as swap:
            assert vars(each.part.owner)[each.part.name] is own
            assert swap.installed is False
            assert f"labkit's own {each.name} stays" in repr(swap)


def test_an_error_in_the_block_restores_too() -> None:
    own = roofline.ridge
    with pytest.raises(RuntimeError), exercise("ridge").using(lambda f, b: f / b):
        raise RuntimeError
    assert roofline.ridge is own


def test_an_answer_that_calls_labkits_function_does_not_call_itself() -> None:
    with exercise("ridge").using(lambda f, b: roofline.ridge(f, b)) as swap:
        assert roofline.ridge(10.0, 4.0) == 2.5
        assert swap.calls == 1


def test_a_check_is_not_fooled_by_what_is_plugged_in() -> None:
    each = exercise("ridge")
    with each.using(lambda f, b: f / b):
        assert each.check(each.part.original)
        assert not each.check(lambda f, b: b / f)

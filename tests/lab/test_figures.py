"""Every figure draws what it was given, says it in words, and refuses what it cannot draw."""

import io

import numpy as np
import pytest
from PIL import Image

from labkit import lab
from labkit.engine.trace import RequestRecord, Step, Trace
from labkit.lab import style
from labkit.lab.errors import LabError
from labkit.lab.figures.bars import number
from labkit.lab.picture import Picture


def pixels(picture: Picture, concept: str) -> int:
    """How many pixels have the concept's exact colour."""
    image = np.asarray(Image.open(io.BytesIO(picture.png())).convert("RGB"))
    colour = style.concept(concept).colour
    return int((image == [int(colour[i : i + 2], 16) for i in (1, 3, 5)]).all(-1).sum())


@pytest.fixture
def trace() -> Trace:
    """Two requests; the second waits for the first one's prefill."""
    return Trace(
        steps=[
            Step(0.0, 0.5, {"a": (8, 0)}),
            Step(0.5, 0.5, {"b": (4, 0), "a": (0, 1)}),
            Step(1.0, 0.1, {"a": (0, 1)}),
        ],
        requests=[
            RequestRecord("a", 0.0, 8, [0.5, 1.0, 1.1], "stop"),
            RequestRecord("b", 0.1, 4, [1.0], "length"),
        ],
    )


def test_bars_are_as_long_as_their_values() -> None:
    drawn = lab.bars(
        {"short": 2.0, "long": 6.0}, unit="ms", concepts={"short": "weights", "long": "measured"}
    )
    assert pixels(drawn, "measured") / pixels(drawn, "weights") == pytest.approx(3, rel=0.05)
    assert "short 2 ms; long 6 ms" in drawn.alt


def test_bars_far_apart_are_drawn_on_a_logarithmic_axis() -> None:
    assert lab.bars({"a": 1, "b": 1000}, unit="s").figure.axes[0].get_xscale() == "log"
    assert lab.bars({"a": 1, "b": 10}, unit="s").figure.axes[0].get_xscale() == "linear"
    assert lab.bars({"a": 0, "b": 1000}, unit="s").figure.axes[0].get_xscale() == "linear"


def test_a_limit_is_drawn_and_told() -> None:
    drawn = lab.bars({"a": 1.0}, unit="ms", limit=2.0, limit_label="floor")
    assert drawn.alt.endswith("floor 2 ms.")
    assert any(line.get_xdata()[0] == 2.0 for line in drawn.figure.axes[0].lines)


@pytest.mark.parametrize("values", [{}, {"a": -1.0}, {"a": float("nan")}])
def test_bars_refuse(values: dict[str, float]) -> None:
    with pytest.raises(LabError):
        lab.bars(values, unit="ms")


def test_lines_draw_each_series_in_its_concept() -> None:
    drawn = lab.lines(
        {"off": [1, 2, 3], "on": [1, 1, 1]}, concepts={"off": "wasted", "on": "cached"}, limit=0.5
    )
    axes = drawn.figure.axes[0]
    assert [line.get_color() for line in axes.lines[:2]] == [
        style.concept(c).colour for c in ("wasted", "cached")
    ]
    assert list(axes.lines[0].get_ydata()) == [1, 2, 3]
    assert "off: from 1 to 3" in drawn.alt


def test_unnamed_lines_do_not_take_a_named_ones_colour() -> None:
    axes = lab.lines({"x": [1, 2], "y": [1, 2]}, concepts={"y": "prefill"}).figure.axes[0]
    assert axes.lines[0].get_color() != axes.lines[1].get_color()


@pytest.mark.parametrize(
    ("series", "x"),
    [({}, None), ({"a": []}, None), ({"a": [1, 2]}, [1]), ({str(i): [1] for i in range(9)}, None)],
)
def test_lines_refuse(series: dict[str, list[float]], x: list[float] | None) -> None:
    with pytest.raises(LabError):
        lab.lines(series, x=x)


def test_a_roof_has_its_ridge_where_both_limits_meet() -> None:
    roof = lab.Roof("m", 100.0, 20.0)
    assert roof.ridge == 5
    assert roof.attainable(roof.ridge) == 100
    assert roof.attainable(1) == 20


def test_the_roofline_says_what_binds_each_point() -> None:
    drawn = lab.roofline(lab.Roof("m", 100.0, 20.0), [lab.Point("slow", 1, 10), lab.Point("fast", 50)])
    assert "slow: 50% of its limit, at 1 FLOP per byte, waiting for memory" in drawn.alt
    assert "fast (at the limit), at 50 FLOP per byte, limited by compute" in drawn.alt
    assert pixels(drawn, "measured") > 20


@pytest.mark.parametrize(
    ("roofs", "points"),
    [
        ([], []),
        ([lab.Roof("m", 0, 1)], []),
        ([lab.Roof("m", 1, 1)], [lab.Point("p", 0)]),
        ([lab.Roof("m", 1, 1)], [lab.Point("p", 1, 0.0)]),
    ],
)
def test_the_roofline_refuses(roofs: list[lab.Roof], points: list[lab.Point]) -> None:
    with pytest.raises(LabError):
        lab.roofline(roofs, points)


def test_the_timeline_shows_waiting_prefill_and_every_token(trace: Trace) -> None:
    drawn = lab.timeline(trace)
    axes = drawn.figure.axes[0]
    ticks = [
        len(c.get_segments())
        for c in axes.collections
        if c.get_label().startswith("_") and hasattr(c, "get_segments")
    ]
    assert sum(ticks) == 4 + 2  # four tokens, and a line through each request's
    assert pixels(drawn, "prefill") > pixels(drawn, "wasted") > 0
    assert "request b arrives at 100 ms, reads 4 tokens, writes its first after 900 ms, 1 in all" in drawn.alt
    assert "then 300 ms per token, 3 in all" in drawn.alt


def test_a_request_without_tokens_is_drawn(trace: Trace) -> None:
    trace.requests.append(RequestRecord("c", 0.2, 9))
    assert "request c arrives at 200 ms and writes nothing" in lab.timeline(trace).alt


def test_a_long_trace_is_cut_and_says_so(trace: Trace) -> None:
    trace.requests = [RequestRecord(str(i), i / 10, 4, [i / 10 + 1]) for i in range(50)]
    drawn = lab.timeline(trace, most=10)
    assert len(drawn.figure.axes[0].get_yticks()) == 10
    assert "Shown: 10 of 50 requests." in drawn.alt


def test_an_empty_trace_is_refused() -> None:
    with pytest.raises(LabError, match="no requests"):
        lab.timeline(Trace())


@pytest.mark.parametrize(
    ("value", "text"),
    [(0, "0"), (0.01234, "0.0123"), (12.345, "12.3"), (12345.6, "12,346"), (2.5e15, "2.5e+15")],
)
def test_numbers_are_written_for_people(value: float, text: str) -> None:
    assert number(value) == text

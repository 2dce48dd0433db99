"""The figure style can be read by every eye, and leaves matplotlib as it found it."""

import itertools
import threading

import matplotlib
import numpy as np
import pytest

from labkit.lab import style
from labkit.lab.errors import LabError

# Simulated dichromacy at full severity, in linear RGB (Machado, Oliveira and Fernandes 2009).
EYES = {
    "normal": np.eye(3),
    "protanopia": np.array(
        [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]]
    ),
    "deuteranopia": np.array(
        [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]]
    ),
    "tritanopia": np.array(
        [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]]
    ),
}
FAR_ENOUGH = 20.0
"""CIELAB distance; about 2 is just noticeable side by side, and a legend and its line are not side by side."""


def linear_rgb(colour: str) -> np.ndarray:
    srgb = np.array([int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)])
    return np.where(srgb <= 0.04045, srgb / 12.92, ((srgb + 0.055) / 1.055) ** 2.4)


def cielab(linear: np.ndarray) -> np.ndarray:
    to_xyz = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])
    scaled = to_xyz @ linear / np.array([0.9505, 1.0, 1.089])
    root = np.where(scaled > 0.008856, np.cbrt(scaled), 7.787 * scaled + 16 / 116)
    return np.array([116 * root[1] - 16, 500 * (root[0] - root[1]), 200 * (root[1] - root[2])])


def distance(one: str, other: str, eye: str) -> float:
    seen = [cielab(np.clip(EYES[eye] @ linear_rgb(colour), 0, 1)) for colour in (one, other)]
    return float(np.linalg.norm(seen[0] - seen[1]))


@pytest.mark.parametrize("eye", EYES)
@pytest.mark.parametrize("group", style.APART)
def test_concepts_of_one_figure_are_told_apart_by_every_eye(group: tuple[str, ...], eye: str) -> None:
    close = {
        pair: round(apart, 1)
        for pair in itertools.combinations(group, 2)
        if (apart := distance(*(style.concept(name).colour for name in pair), eye)) < FAR_ENOUGH
    }
    assert close == {}


def test_the_check_finds_colours_that_some_eyes_confuse() -> None:
    assert (
        distance("#d03030", "#707a00", "normal") > FAR_ENOUGH > distance("#d03030", "#707a00", "deuteranopia")
    )


@pytest.mark.parametrize("name", style.CONCEPTS)
def test_every_colour_stands_out_from_white(name: str) -> None:
    assert style.contrast_to_white(style.concept(name).colour) >= 3


def test_contrast_agrees_with_its_definition() -> None:
    assert style.contrast_to_white("#ffffff") == pytest.approx(1)
    assert style.contrast_to_white("#000000") == pytest.approx(21)


@pytest.mark.parametrize("group", style.APART)
def test_colour_is_never_the_only_carrier(group: tuple[str, ...]) -> None:
    looks = [style.concept(name) for name in group]
    assert len({look.marker for look in looks}) == len(group)
    assert len({(look.hatch, look.dash) for look in looks}) == len(group)


def test_an_unknown_concept_is_told() -> None:
    with pytest.raises(LabError, match="no concept 'shiny'"):
        style.concept("shiny")


def test_matplotlib_is_left_as_it_was_found_even_by_two_threads() -> None:
    before = dict(matplotlib.rcParams)
    both_inside = threading.Barrier(2, timeout=10)

    def draw() -> None:
        both_inside.wait()
        for _ in range(20):
            with style.drawing():
                style.figure(height=1).subplots().plot([1, 2])

    threads = [threading.Thread(target=draw) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert dict(matplotlib.rcParams) == before


def test_the_style_holds_inside_drawing() -> None:
    with style.drawing():
        assert matplotlib.rcParams["axes.grid"] is True
        assert style.figure(height=1).subplots().spines["top"].get_visible() is False

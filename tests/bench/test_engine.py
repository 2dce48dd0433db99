"""`labkit bench engine` serves one job in every way there is, and all agree on the tokens."""

import json
from dataclasses import replace

import pytest

from labkit.bench import openvino_peer
from labkit.bench.engine import SCHEDULERS, floor_of, same_share
from labkit.bench.limits import Limits
from labkit.bench.peers import Job, make_job
from labkit.bench.timing import Timing
from labkit.cli import main
from labkit.errors import ConfigError
from labkit.model.load import load


def test_a_short_run_reports_every_candidate_and_they_agree(tmp_path, capsys):
    path = tmp_path / "engine.json"
    arguments = [
        "bench",
        "engine",
        "--model",
        "tiny-draft",
        "--requests",
        "4",
        "--repeats",
        "1",
        "--waiting",
        "300",
        "--json",
    ]
    assert main([*arguments, str(path)]) == 0
    written = json.loads(path.read_text())
    rows = {row["what"]: row for row in written["rows"]}
    candidates = [*SCHEDULERS, "transformers, generate", "transformers, continuous"]
    assert list(rows)[:7] == ["limit", *candidates]
    assert len(rows) == 11
    for name in candidates:
        assert rows[name]["same_tokens"] == 1
        assert rows[name]["best_tokens_per_second"] == pytest.approx(
            written["output_tokens"] / min(written["seconds"][name])
        )
        limit = sorted(written["seconds"]["limit"])[0]
        assert rows[name]["median_share_of_limit"] == pytest.approx(limit / written["seconds"][name][0])
    assert rows["continuous"]["continuous_is_faster"] == 1
    assert "useful tok/s" in capsys.readouterr().out


def test_impossible_sizes_are_refused(capsys):
    assert main(["bench", "engine", "--model", "tiny-draft", "--requests", "1"]) == 1
    assert "--requests of at least 2" in capsys.readouterr().err
    with pytest.raises(ConfigError, match="low <= high"):
        make_job(3, 100, prompts=(5, 4))


def test_a_job_has_the_lengths_it_was_asked_for_and_is_repeatable():
    job = make_job(50, 100, (3, 9), (2, 4))
    assert {len(prompt) for prompt in job.prompts} <= set(range(3, 10))
    assert set(job.outputs) == {2, 3, 4}
    assert job == make_job(50, 100, (3, 9), (2, 4)) != make_job(50, 100, (3, 9), (2, 4), seed=1)


def test_the_floor_is_arithmetic_or_bytes_whichever_is_slower():
    lm = load("tiny-draft", device="cpu")
    job, timing = Job([[1] * 8, [1] * 8], [5, 3]), Timing((1.0,))
    arithmetic = floor_of(lm, job, Limits("cpu", "float32", 1e30, 1e9, timing, timing))
    memory = floor_of(lm, job, Limits("cpu", "float32", 1e6, 1e30, timing, timing))
    matrices = lm.config.matmul_parameters
    assert memory == pytest.approx(4 * matrices * 4 / 1e6, rel=0.1)  # four decode steps read all matrices
    assert arithmetic == pytest.approx(2 * matrices * (16 + 4 + 2) / 1e9, rel=0.25)


def test_shares_of_equal_tokens():
    assert same_share([[1, 2], [3, 4]], [[1, 2], [3, 5]]) == 0.75


def test_without_openvino_or_a_gguf_file_it_is_left_out(monkeypatch):
    lm = load("tiny-draft", device="cpu")
    monkeypatch.setattr(openvino_peer, "find_spec", lambda name: object())
    assert openvino_peer.openvino_runner(lm) is None  # a folder
    monkeypatch.setattr(openvino_peer, "find_spec", lambda name: None)
    assert openvino_peer.openvino_runner(replace(lm, name="some.gguf")) is None

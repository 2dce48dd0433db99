"""`labkit bench decode` measures the same weights in both engines and reports shares of the limit."""

import json

import pytest
import torch

from labkit.bench.peers import transformers_model
from labkit.cli import main
from labkit.model.load import load


def test_the_peer_has_the_same_weights():
    lm = load("tiny-draft", device="cpu")
    peer = transformers_model(lm)
    tokens = torch.arange(20)
    with torch.no_grad():
        ours = lm.model.logits(lm.model(tokens, torch.arange(20)))
        theirs = peer(tokens.unsqueeze(0)).logits[0]
    torch.testing.assert_close(ours, theirs, atol=1e-4, rtol=1e-4)


def test_a_short_run_reports_all_three(tmp_path, capsys):
    path = tmp_path / "decode.json"
    arguments = [
        "bench",
        "decode",
        "--model",
        "tiny-draft",
        "--tokens",
        "3",
        "--repeats",
        "2",
        "--json",
        str(path),
    ]
    assert main(arguments) == 0
    written = json.loads(path.read_text())
    rows = {row["what"]: row for row in written["rows"]}
    assert list(rows) == ["limit", "labkit", "transformers"]
    assert rows["limit"]["best_share_of_limit"] == 1
    for name, row in rows.items():
        seconds = written["seconds"][name]
        assert len(seconds) == 2
        assert row["best_tokens_per_second"] == pytest.approx(1 / min(seconds))
    assert "times as fast as transformers" in capsys.readouterr().out


def test_impossible_sizes_are_refused(capsys):
    assert main(["bench", "decode", "--model", "tiny-draft", "--tokens", "1"]) == 1
    assert "--tokens of at least 2" in capsys.readouterr().err

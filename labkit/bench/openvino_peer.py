"""OpenVINO GenAI's continuous batching on a GGUF file: a fast engine of the CPU's own vendor, if it is installed.

It is no like-for-like peer: it keeps the file's four-bit weights and computes with what the processor is best at, where
labkit on a CPU computes in fp32. So its tokens differ, and it can be above the fp32 limit.
"""

import tempfile
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from labkit.bench.peers import Job, Runner
from labkit.model.load import LanguageModel
from labkit.model.smollm2 import SMOLLM2, smollm2_gguf

CACHE_GIB = 1


def openvino_runner(lm: LanguageModel) -> Runner | None:
    """Serves jobs with the file that `lm` was loaded from; None without openvino-genai, without a GGUF file, or off the
    CPU.
    """
    path = smollm2_gguf() if lm.name == SMOLLM2 else Path(lm.name)
    if find_spec("openvino_genai") is None or path.suffix != ".gguf" or lm.model.device.type != "cpu":
        return None
    genai, openvino = import_module("openvino_genai"), import_module("openvino")
    pipeline = _pipeline(genai, path)

    def run(job: Job) -> list[list[int]]:
        handles = [
            pipeline.add_request(number, openvino.Tensor(np.array([prompt])), _params(genai, tokens))
            for number, (prompt, tokens) in enumerate(zip(job.prompts, job.outputs, strict=True))
        ]
        while pipeline.has_non_finished_requests():
            pipeline.step()
        return [list(handle.read_all()[0].generated_ids) for handle in handles]

    return run


def _pipeline(genai: Any, path: Path) -> Any:
    """Converted once into a scratch folder: the batching pipeline reads no GGUF itself."""
    scheduling = genai.SchedulerConfig()
    scheduling.cache_size, scheduling.enable_prefix_caching = CACHE_GIB, False
    scheduling.max_num_seqs, scheduling.max_num_batched_tokens = 256, 8192
    with tempfile.TemporaryDirectory() as scratch:
        link = Path(scratch) / path.name
        link.symlink_to(path)
        genai.LLMPipeline(str(link), "CPU", enable_save_ov_model=True)
        return genai.ContinuousBatchingPipeline(scratch, scheduling, "CPU")


def _params(genai: Any, tokens: int) -> Any:
    params = genai.GenerationConfig()
    params.max_new_tokens = params.min_new_tokens = tokens
    params.ignore_eos, params.do_sample = True, False
    return params

"""Generate text from a prompt, streaming it as it comes."""

import argparse
import sys

from labkit.engine.generation import cached, naive, stream
from labkit.engine.metrics import e2e, output_throughput, tpot, ttft
from labkit.engine.sampling import SamplingParams
from labkit.model.load import load
from labkit.report import Report, Row

LOOPS = {"cached": cached, "naive": naive}


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.add_argument("prompt", help="the user's message, or with --raw the beginning of the text")
    parser.add_argument(
        "--model", default="tiny", help="name, folder or hub name of the model (default: tiny)"
    )
    parser.add_argument("--system", help="a system prompt")
    parser.add_argument("--raw", action="store_true", help="continue the text instead of answering as a chat")
    parser.add_argument(
        "--loop", choices=LOOPS, default="cached", help="keep the KV cache, or recompute everything"
    )
    parser.add_argument("--max-tokens", type=int, default=256)
    parser.add_argument("--temperature", type=float, default=0.0, help="0 is greedy (default)")
    parser.add_argument("--top-k", type=int, default=0)
    parser.add_argument("--top-p", type=float, default=1.0)
    parser.add_argument("--min-p", type=float, default=0.0)
    parser.add_argument("--seed", type=int)
    parser.add_argument(
        "--stop", action="append", default=[], help="a string that ends the output; may be repeated"
    )


def run(args: argparse.Namespace) -> Report:
    """Stream the answer; report its timings."""
    params = SamplingParams(
        max_tokens=args.max_tokens, temperature=args.temperature, top_k=args.top_k, top_p=args.top_p,
        min_p=args.min_p, seed=args.seed, stop=tuple(args.stop),
    )  # fmt: skip
    lm = load(args.model)
    messages = [{"role": "system", "content": args.system}] if args.system else []
    messages.append({"role": "user", "content": args.prompt})
    chat = lm.tokenizer.chat_template is not None and not args.raw
    generation = stream(lm, messages if chat else args.prompt, params, loop=LOOPS[args.loop])
    out = sys.stderr if args.json == "-" else sys.stdout
    for piece in generation:
        print(piece, end="", file=out, flush=True)
    print(file=out)
    completion = generation.completion
    request = completion.trace.requests[0]
    row: Row = {
        "model": lm.name, "loop": args.loop, "text": completion.text, "finish_reason": completion.finish_reason,
        "prompt_tokens": completion.prompt_tokens, "output_tokens": len(completion.tokens),
        "ttft_seconds": ttft(request), "tpot_seconds": tpot(request), "e2e_seconds": e2e(request),
        "tokens_per_second": output_throughput(completion.trace),
    }  # fmt: skip
    return Report("generate", [row], _summary(row))


def _summary(row: Row) -> str:
    per_token = (
        f", then {row['tpot_seconds'] * 1000:.1f} ms a token" if row["tpot_seconds"] is not None else ""
    )
    return (
        f"\n[{row['prompt_tokens']} tokens in, {row['output_tokens']} out, ended by {row['finish_reason']}; "
        f"first token after {row['ttft_seconds'] * 1000:.0f} ms{per_token}]"
    )

"""Failures in plain words: what went wrong, what to do, where the whole story is."""

import errno
import re

LAST_LINES = 6
WIDEST = 160
# Lines of pip that tell nothing about a failure.
CHATTER = ("Ignoring ", "Requirement already satisfied", "WARNING: Location", "Looking in")


class SetupFailure(Exception):
    """Set-up stopped; the message is meant for the person at the keyboard."""


# The first pattern that pip's output contains decides. Network first: without an index, pip also says that no
# version of the package exists, which is the consequence and not the cause.
REASONS: list[tuple[str, str]] = [
    (
        r"No space left on device|Errno 28\b|not enough space on the disk|WinError 112",
        "The disk is full. Free about 3 GB (8 GB where PyTorch comes with CUDA), then run the same command again.",
    ),
    (
        r"Disk quota exceeded|Errno 122\b",
        "Your disk quota is used up. Free about 3 GB (8 GB with CUDA), then run the same command again.",
    ),
    (
        r"CERTIFICATE_VERIFY_FAILED|SSLError",
        "The package index answered with a certificate that this Python does not trust. Behind a company proxy, "
        "give pip its certificate: set PIP_CERT to the file.",
    ),
    (
        r"ProxyError|Cannot connect to proxy",
        "The network proxy refused the connection. Check HTTPS_PROXY, or pip's own proxy setting.",
    ),
    (
        r"NewConnectionError|Failed to establish a new connection|name resolution|ConnectTimeout|Max retries"
        r"|Read timed out|ReadTimeout|Network is unreachable|Connection refused|ConnectionError|ProtocolError"
        r"|Connection aborted|Connection broken",
        "pip cannot reach the package index: this machine has no network, or something blocks it. The first "
        "set-up has to download; after that labkit works offline.",
    ),
    (
        r"Permission denied|Errno 13\b|WinError 5\b",
        "A file or folder of the environment may not be written. Did another user (or sudo) make it? "
        "Delete .venv and run the same command again as yourself.",
    ),
    (
        r"pip was ended by signal",
        "Something ended pip: the system does so where memory runs out (about 1 GB should be free).",
    ),
    (
        r"THESE PACKAGES DO NOT MATCH THE HASHES",
        "A download was damaged on its way. Run the same command again.",
    ),
    (
        r"No matching distribution found|is not a supported wheel|requires a different Python",
        "The package index has no file for this machine of a package in the lock (or could not be asked: is there "
        "network?). labkit needs 64-bit Linux, Windows, or a Mac with Apple silicon, and Python 3.11 to 3.13.",
    ),
]


def reason(output: str) -> str:
    """One or two plain sentences for why pip failed, judged by what it printed."""
    for pattern, words in REASONS:
        if re.search(pattern, output):
            return words
    return "pip could not install the packages; its last words are below."


def pip_failure(output: str, log: str) -> SetupFailure:
    """The failure to raise after pip printed `output` and gave up; `log` is where all of it was written."""
    lines = [line.strip() for line in output.splitlines() if line.strip() and not line.startswith(CHATTER)]
    quoted = "\n".join(f"  | {line[:WIDEST]}" for line in lines[-LAST_LINES:])
    return SetupFailure(
        f"{reason(output)}\npip's last lines:\n{quoted}\nEverything pip said: {log}\n"
        "What was already downloaded is kept: the same command goes on from here."
    )


def os_failure(error: OSError) -> SetupFailure:
    """The failure to raise for an error of the operating system outside pip."""
    full = error.errno in (errno.ENOSPC, errno.EDQUOT) or getattr(error, "winerror", None) == 112
    if full:
        return SetupFailure(REASONS[0][1])
    where = f" ({error.filename})" if error.filename else ""
    return SetupFailure(f"The operating system refused: {error.strerror or error}{where}.")

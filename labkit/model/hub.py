"""Models by their name on the Hugging Face hub: downloaded once into the hub's own cache, then found there offline."""

import re
from pathlib import Path

from huggingface_hub import snapshot_download
from huggingface_hub.errors import LocalEntryNotFoundError, RepositoryNotFoundError

from labkit.errors import MissingModelError, WeightsError

WANTED = ["config.json", "generation_config.json", "*.safetensors", "*.safetensors.index.json",
          "tokenizer.json", "tokenizer_config.json", "chat_template.jinja"]  # fmt: skip
"""What labkit reads. Pickled weights are not among it."""

_NAME = re.compile(r"[A-Za-z0-9][\w.-]{0,95}/[A-Za-z0-9][\w.-]{0,95}")


def is_hub_name(name: str) -> bool:
    """Whether this could be a hub name: owner/model."""
    return _NAME.fullmatch(name) is not None and ".." not in name


def fetch(name: str) -> Path:
    """The folder of a hub model: from the hub, or without a network from its local cache.

    Raises MissingModelError that says what to do if it is in neither, WeightsError if it has no safetensors.
    """
    try:
        folder = Path(snapshot_download(name, allow_patterns=WANTED))
    except RepositoryNotFoundError as error:
        raise MissingModelError(
            f"the hub knows no model {name!r}, or it needs you to log in: check the name, or run `hf auth login`"
        ) from error
    except LocalEntryNotFoundError as error:
        raise MissingModelError(
            f"{name} is not on this machine and the hub cannot be reached: connect to the network and try again, "
            "copy the model's folder here and load that, or use load('tiny'), which needs no network"
        ) from error
    except Exception as error:  # HTTP clients, full disks, refused logins: whatever the client raises
        raise MissingModelError(f"{name} could not be fetched from the hub ({error}): try again") from error
    if not any(folder.glob("*.safetensors")):
        raise WeightsError(
            f"{name} came from the hub without safetensors files (labkit reads no pickle): choose a model that has "
            f"them; if the copy in {folder} is incomplete, load it again with a network"
        )
    return folder

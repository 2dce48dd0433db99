"""Specified peaks of well-known GPUs, from `data/hardware.json`, each with its source."""

import json
from dataclasses import dataclass
from functools import cache

from labkit.errors import ConfigError
from labkit.paths import data_folder


@dataclass(frozen=True)
class Hardware:
    """One device: memory in bytes, its bandwidth, and its dense arithmetic peak per number type, all per
    second.
    """

    key: str
    name: str
    memory_bytes: float
    bytes_per_second: float
    flops_per_second: dict[str, float]
    nvlink_bytes_per_second: float | None = None
    pcie_bytes_per_second: float | None = None
    source: str = ""

    def peak(self, dtype: str = "bf16") -> float:
        """Floating-point (or integer) operations per second in `dtype`. Raises ConfigError if it has no such
        units.
        """
        try:
            return self.flops_per_second[dtype]
        except KeyError:
            known = ", ".join(self.flops_per_second)
            raise ConfigError(f"{self.name} has no {dtype} units on record: one of {known}") from None


@cache
def known() -> dict[str, Hardware]:
    """All devices on record, by key."""
    records = json.loads((data_folder() / "hardware.json").read_text(encoding="utf-8"))["gpus"]
    return {record["key"]: Hardware(**record) for record in records}


def hardware(key: str) -> Hardware:
    """A device by its key, such as "h100". Raises ConfigError if it is not on record."""
    try:
        return known()[key.lower()]
    except KeyError:
        raise ConfigError(f"no hardware {key!r} on record: one of {', '.join(known())}") from None

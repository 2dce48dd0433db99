"""What a command says: a sentence or table for people, and the same rows as JSON for programs."""

import json
import sys
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from labkit import machine
from labkit.errors import SetupError

Row = dict[str, Any]


@dataclass
class Report:
    """The outcome of one command: `rows` for programs, `text` for people, `ok` if it did what it was asked."""

    command: str
    rows: list[Row]
    text: str
    ok: bool = True
    facts: Row = field(default_factory=dict)

    def as_json(self) -> str:
        """`{"command", "hardware", "versions", "date", "rows"}` and the command's own facts beside them."""
        body = {
            "command": self.command,
            "hardware": machine.hardware(),
            "versions": machine.versions(),
            "date": datetime.now(UTC).isoformat(timespec="seconds"),
            **self.facts,
            "rows": self.rows,
        }
        return json.dumps(body, indent=2) + "\n"

    def write(self, path: str) -> None:
        """Write the JSON to `path`, "-" for standard output. Raises SetupError if it cannot be written."""
        if path == "-":
            sys.stdout.write(self.as_json())
            return
        try:
            Path(path).write_text(self.as_json(), encoding="utf-8")
        except OSError as error:
            raise SetupError(f"cannot write {path} ({error.strerror}): choose another --json path") from error


def table(rows: list[Row], headings: dict[str, str]) -> str:
    """Rows as aligned text: `headings` maps a row's key to the column's heading; numbers go to the right."""
    cells = [[_cell(row.get(key)) for key in headings] for row in rows]
    titles = list(headings.values())
    widths = [max(map(len, column)) for column in zip(titles, *cells, strict=True)]
    numeric = [all(isinstance(row.get(key), (int, float, type(None))) for row in rows) for key in headings]
    lines = [titles, ["-" * width for width in widths], *cells]
    return "\n".join(
        "  ".join(
            text.rjust(width) if number else text.ljust(width)
            for text, width, number in zip(line, widths, numeric, strict=True)
        ).rstrip()
        for line in lines
    )


def _cell(value: object) -> str:
    if value is None:
        return "–"
    if isinstance(value, float):
        return f"{value:.3g}" if abs(value) < 100 else f"{value:,.0f}"
    return str(value)

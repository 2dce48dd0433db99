"""Chat templates: the Jinja program that comes with a model and lays messages out as its training saw them.

It is code from a stranger, so it runs in Jinja's immutable sandbox, with bounded ranges, repetitions and
output. The conventions (trimmed blocks, `raise_exception`, `strftime_now`, plain `tojson`) are those
templates are written for.
"""

import json
from collections.abc import Mapping, Sequence
from datetime import datetime
from functools import lru_cache
from typing import Any

from jinja2 import Template, TemplateError, nodes
from jinja2.ext import Extension
from jinja2.parser import Parser
from jinja2.sandbox import ImmutableSandboxedEnvironment

from labkit.errors import TokenizerError

MOST_TEMPLATE = 200_000
MOST_TEXT = 20_000_000
"""Characters: limits on a template and on what it may print."""
MOST_REPEATED = 1_000_000

Message = Mapping[str, Any]
"""{"role": "system" | "user" | "assistant" | …, "content": text, …}"""


def render(template: str, messages: Sequence[Message], **variables: Any) -> str:
    """The text of a conversation, laid out by its template.

    `variables`: bos_token, eos_token, add_generation_prompt, and any that the template knows. Raises
    TokenizerError, with the template's own words where it has some, if it refuses the messages or fails.
    """
    _check(messages)
    try:
        return _bounded(_compiled(template), {"messages": [dict(m) for m in messages], **variables})
    except TemplateError as error:
        raise TokenizerError(f"the chat template refused these messages: {error.message}") from error
    except TokenizerError:
        raise
    except Exception as error:  # a template can raise whatever Python can
        raise TokenizerError(
            f"the chat template failed on these messages ({type(error).__name__}: {error}): "
            "check their roles and content, or the template"
        ) from error


def _check(messages: Sequence[Message]) -> None:
    if isinstance(messages, str | Mapping) or not messages:
        raise TokenizerError('messages must be a list such as [{"role": "user", "content": "Hello"}]')
    for message in messages:
        if not isinstance(message, Mapping) or not isinstance(message.get("role"), str):
            raise TokenizerError(
                f'message {str(message)[:80]!r} must be a dict with a "role" and a "content"'
            )


def _bounded(template: Template, variables: dict[str, Any]) -> str:
    pieces, length = [], 0
    for piece in template.generate(**variables):
        pieces.append(piece)
        length += len(piece)
        if length > MOST_TEXT:
            raise TokenizerError(
                f"the chat template printed over {MOST_TEXT} characters: it is broken or hostile"
            )
    return "".join(pieces)


@lru_cache(maxsize=16)
def _compiled(template: str) -> Template:
    if len(template) > MOST_TEMPLATE:
        raise TokenizerError(
            f"the chat template has {len(template)} characters, over {MOST_TEMPLATE}: replace it"
        )
    try:
        return _environment().from_string(template)
    except (TemplateError, RecursionError) as error:
        raise TokenizerError(f"the chat template is not valid Jinja ({error}): replace it") from error


class _Generation(Extension):
    """`{% generation %} … {% endgeneration %}` marks what the assistant says, for training; here it only prints."""

    tags = {"generation"}  # noqa: RUF012 (Jinja's own convention)

    def parse(self, parser: Parser) -> list[nodes.Node]:
        next(parser.stream)
        return parser.parse_statements(("name:endgeneration",), drop_needle=True)


class _Sandbox(ImmutableSandboxedEnvironment):
    """The sandbox, with the two operators that make much from little bounded as `range` is."""

    intercepted_binops = frozenset(("*", "**"))

    def call_binop(self, context: Any, operator: str, left: Any, right: Any) -> Any:
        """`left * right` or `left ** right`, for small results only."""
        if _size(operator, left, right) > MOST_REPEATED:
            raise TokenizerError(f"the chat template computes a huge {operator}: it is broken or hostile")
        return super().call_binop(context, operator, left, right)


def _size(operator: str, left: Any, right: Any) -> float:
    """About how many items or digits the result has."""
    if operator == "**":
        return abs(right) if isinstance(right, int | float) else 1
    lengths = [len(side) for side in (left, right) if isinstance(side, str | bytes | list | tuple)]
    times = [side for side in (left, right) if isinstance(side, int)]
    return lengths[0] * times[0] if lengths and times else 1


def _environment() -> _Sandbox:
    extensions: list[Any] = ["jinja2.ext.loopcontrols", _Generation]
    environment = _Sandbox(trim_blocks=True, lstrip_blocks=True, extensions=extensions)
    environment.filters["tojson"] = _tojson
    environment.globals["raise_exception"] = _raise_exception
    environment.globals["strftime_now"] = lambda form: datetime.now().strftime(form)
    return environment


def _tojson(value: Any, ensure_ascii: bool = False, indent: int | None = None, **options: Any) -> str:
    """Unlike Jinja's own filter: no HTML escapes, which no model has seen."""
    return json.dumps(value, ensure_ascii=ensure_ascii, indent=indent, **options)


def _raise_exception(message: str) -> None:
    raise TemplateError(message)

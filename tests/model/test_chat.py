"""Chat templates: as transformers renders them, and no more power than a template needs."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from transformers.utils.chat_template_utils import render_jinja_template

from labkit.errors import TokenizerError
from labkit.model.chat import render

CHATML = (
    "{% for message in messages %}{{ '<|im_start|>' + message.role + '\n' + message.content + '<|im_end|>\n' }}"
    "{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}"
)
LLAMA = """{{- bos_token }}
{%- if messages[0]['role'] == 'system' %}
    {%- set system = messages[0]['content'] | trim %}
    {%- set messages = messages[1:] %}
{%- else %}
    {%- set system = "" %}
{%- endif %}
{{- "[system]" + system }}
    {% for message in messages %}
        {% if (message['role'] == 'user') != (loop.index0 % 2 == 0) %}
            {{ raise_exception('roles must alternate') }}
        {% endif %}
        {% if message.content == 'skip' %}{% continue %}{% endif %}
{{ '[' ~ message.role ~ ']' }}{{ message.content }}{% generation %}!{% endgeneration %}
    {% endfor %}
{{ messages | tojson }} {{ {'a': '<é>'} | tojson(indent=2) }} {{ namespace(x=1).x }}
"""
roles = st.sampled_from(["system", "user", "assistant"])
messages = st.lists(
    st.fixed_dictionaries({"role": roles, "content": st.text(max_size=20)}), min_size=1, max_size=4
)


@pytest.mark.parametrize("template", [CHATML, LLAMA])
@given(messages=messages, prompt=st.booleans())
def test_text_is_what_transformers_renders(
    template: str, messages: list[dict[str, str]], prompt: bool
) -> None:
    known: dict[str, Any] = {"bos_token": "<s>", "eos_token": "</s>"}
    try:
        theirs = render_jinja_template(
            [messages], chat_template=template, add_generation_prompt=prompt, **known
        )[0][0]
    except Exception as error:
        with pytest.raises(TokenizerError, match=str(error)):
            render(template, messages, add_generation_prompt=prompt, **known)
    else:
        assert render(template, messages, add_generation_prompt=prompt, **known) == theirs


def test_a_template_knows_the_date() -> None:
    assert render("{{ strftime_now('%Y') }}", [{"role": "user"}]).isdigit()


@pytest.mark.parametrize(
    "hostile",
    ["{{ ''.__class__.__mro__ }}", "{{ messages.append(1) }}", "{{ messages[0].clear() }}",
     "{% for i in range(10**9) %}{% endfor %}", "{{ 'x' * 10**9 }}",
     "{{ 9**(9**9) }}", "{{ 'x' * 9999 * 9999 * 9999 }}", "{{ [0] * 10**8 }}",
     "{% for i in range(90000) %}{{ messages[0].content * 9000 }}{% endfor %}", "{{ lipsum.__globals__ }}",
     "{{ cycler.__init__.__globals__.os.system('true') }}", "{% include '/etc/hostname' %}"],
)  # fmt: skip
def test_hostile_templates_are_stopped(hostile: str, bounded_memory: None) -> None:
    """Stopped by an error, or harmless: reaching for Python's inside prints nothing at all."""
    try:
        text = render(hostile, [{"role": "user", "content": "x"}])
    except TokenizerError as error:
        text = str(error).replace("the chat template", "")
    assert text == "" or text.startswith((" refused", " failed", " printed", " computes"))


@pytest.mark.parametrize("broken", ["{{ unclosed", "{% if %}", "{% nonsense %}", "x" * 300_000])
def test_broken_templates_are_refused(broken: str) -> None:
    with pytest.raises(TokenizerError, match="chat template"):
        render(broken, [{"role": "user", "content": "x"}])


@pytest.mark.parametrize("bad", [[], "hello", {"role": "user"}, ["hello"], [{"content": "x"}], [{"role": 3}]])
def test_messages_must_be_messages(bad: Any) -> None:
    with pytest.raises(TokenizerError, match="message"):
        render(CHATML, bad)


def test_a_missing_content_is_explained() -> None:
    with pytest.raises(TokenizerError, match="content"):
        render("{{ messages[0].content.strip() }}", [{"role": "user"}])

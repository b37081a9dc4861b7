"""Code that a type checker in strict mode accepts. Nothing runs it."""

from __future__ import annotations

from collections.abc import AsyncIterator

import numpy as np
import numpy.typing as npt
import openchatml
from openchatml import ChatTemplate, Conversation, Message, PromptCache, Stream, Tokenizer


def read(sampled: str) -> list[str]:
    parsed = openchatml.parse(sampled, "harmony", completion=True)
    for found in parsed.diagnostics:
        print(found.line, found.column, found.code, found.help, found.fix)
    return [message.text for message in parsed.conversation.user_view()]


def objects(chat: Conversation) -> dict[str, int]:
    first: Message = chat[0]
    rest: tuple[Message, ...] = chat[1:]
    both = chat + first + rest
    roles = {message.role: len(message.text) for message in both}
    changed = first.replace(channel="final", weight=0.5)
    called = Message.call("weather", {"city": "Paris"}, call_id="c1")
    print(changed.channel, called.json(), both.to_dict("anthropic", allow_loss="all"))
    return {str(role): count for role, count in roles.items()}


def train(tokenizer: Tokenizer, chat: Conversation) -> npt.NDArray[np.uint32]:
    sample = tokenizer.sample(chat, train="answers", skip_messages=[0])
    assert sample.mask is not None
    for span in sample.span_list():
        print(span.message_index, span.body)
    return sample.ids[sample.mask]


def prompts(tokenizer: Tokenizer, chat: Conversation) -> int:
    cache = PromptCache(tokenizer)
    template = ChatTemplate("{{ messages }}")
    text: str = template.render(chat, add_generation_prompt=True, bos="<s>")
    return len(cache.prompt(chat, reasoning_effort="high")) + len(text)


async def stream(tokenizer: Tokenizer, ids: AsyncIterator[int]) -> str:
    shown = ""
    async for event in Stream(tokenizer, completion=True, user=True).read(ids):
        shown += event.text or ""
    return shown


def losses(text: str) -> str:
    try:
        return openchatml.convert(text, "openai", allow_loss=["return"]).output
    except openchatml.LossError as error:
        return ", ".join(loss.name for loss in error.losses)
    except openchatml.Error as error:
        return f"{error.code} {error.line}:{error.column} {error.user_summary}"


def weather(city: str, days: int = 1) -> str:
    return f"{city} {days}"


def tools(chat: Conversation) -> str:
    declared = chat.replace(tools=[weather])
    made = openchatml.grammar("harmony", "lark", tools=declared.tools)
    return made.text + openchatml.prompt(chat, "harmony", tools=[weather]).output

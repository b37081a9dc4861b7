"""Compares `openchatml.compat.openai_harmony` with `openai_harmony`, side by side in one process.

Build a wheel with `maturin build --release`, install it with `openai-harmony`, and run

    python crates/openchatml-python/bench/harmony.py

Both modules do the same work with their own objects; the results are compared first. Each figure is the
minimum of 9 rounds, in which the modules take turns. The unit is one microsecond.
"""

from __future__ import annotations

import base64
import importlib.metadata
import os
import pathlib
import platform
import tempfile
import time
from collections.abc import Callable
from typing import Any

import openchatml

ROUNDS = 9


def modules() -> list[Any]:
    """Both modules. `openai_harmony` reads its vocabulary from a file, or downloads it."""
    tokenizer = openchatml.Tokenizer("harmony")
    folder = tempfile.mkdtemp()
    lines = [
        b"%s %d\n" % (base64.b64encode(tokenizer.decode_bytes([id])), id) for id in range(199998)
    ]
    pathlib.Path(folder, "o200k_base.tiktoken").write_bytes(b"".join(lines))
    os.environ["TIKTOKEN_ENCODINGS_BASE"] = folder
    import openai_harmony

    from openchatml.compat import openai_harmony as ours

    return [ours, openai_harmony]


def conversation(module: Any, turns: int) -> Any:
    role, message = module.Role, module.Message
    system = module.SystemContent.new().with_conversation_start_date("2026-01-31")
    schema = {"type": "object", "properties": {"city": {"type": "string"}}}
    developer = module.DeveloperContent.new().with_instructions("Be brief.")
    tool = module.ToolDescription.new("weather", "The weather.", schema)
    messages = [
        message.from_role_and_content(role.SYSTEM, system),
        message.from_role_and_content(role.DEVELOPER, developer.with_function_tools([tool])),
    ]
    for _ in range(turns):
        thought = "The user wants the weather. I call the function and see what it says. " * 3
        call = message.from_role_and_content(role.ASSISTANT, '{"city": "Paris"}')
        call = call.with_channel("commentary").with_recipient("functions.weather")
        author = module.Author.new(role.TOOL, "functions.weather")
        reply = message.from_author_and_content(author, "Sunny, 20 degrees.")
        answer = "It is sunny in Paris today, with a temperature of 20 degrees. " * 5
        messages += [
            message.from_role_and_content(role.USER, "What is the weather in Paris today? " * 3),
            message.from_role_and_content(role.ASSISTANT, thought).with_channel("analysis"),
            call.with_content_type("<|constrain|>json"),
            reply.with_recipient("assistant").with_channel("commentary"),
            message.from_role_and_content(role.ASSISTANT, answer).with_channel("final"),
        ]
    return module.Conversation.from_messages(messages)


def works(module: Any, turns: int) -> dict[str, Callable[[], Any]]:
    """What is measured, by name."""
    encoding = module.load_harmony_encoding("HarmonyGptOss")
    chat = conversation(module, turns)
    keep = module.RenderConversationConfig(auto_drop_analysis=False)
    ids = encoding.render_conversation(chat, keep)
    completion = ids[[at for at, id in enumerate(ids) if id == 200006][2] :]
    text = " ".join(part.text for it in chat.messages for part in it.content if hasattr(part, "text"))

    def stream() -> list[Any]:
        parser = module.StreamableParser(encoding, None)
        for id in completion:
            parser.process(id)
        return [it.to_dict() for it in parser.messages]

    def watched() -> str:
        parser = module.StreamableParser(encoding, None)
        told = ""
        for id in completion:
            parser.process(id)
            if parser.current_channel == "final":
                told += parser.last_content_delta or ""
        return told

    def parse() -> list[Any]:
        return [it.to_dict() for it in encoding.parse_messages_from_completion_tokens(completion)]

    return {
        "render a prompt": lambda: encoding.render_conversation_for_completion(
            chat, module.Role.ASSISTANT, keep
        ),
        "render for training": lambda: encoding.render_conversation_for_training(chat, keep),
        "parse a completion": parse,
        "stream it, id by id": stream,
        "stream it, and ask for deltas": watched,
        "encode text": lambda: encoding.encode(text),
        "decode ids": lambda: encoding.decode(ids),
        "to JSON": chat.to_json,
    }


def main() -> None:
    both = modules()
    version = importlib.metadata.version("openai-harmony")
    print(f"openchatml {openchatml.__version__}, openai-harmony {version}, {platform.platform()}")
    print(f"Python {platform.python_version()}; microseconds")
    print("| turns | work | openai_harmony | openchatml | times |")
    print("| ---: | --- | ---: | ---: | ---: |")
    for turns in (1, 20):
        ours, theirs = (works(module, turns) for module in both)
        for name in ours:
            assert ours[name]() == theirs[name](), name
            best = [float("inf")] * 2
            for _ in range(ROUNDS):
                for at, work in enumerate((ours[name], theirs[name])):
                    begin = time.perf_counter_ns()
                    work()
                    work()
                    best[at] = min(best[at], (time.perf_counter_ns() - begin) / 2000)
            print(f"| {turns} | {name} | {best[1]:.0f} | {best[0]:.0f} | {best[1] / best[0]:.1f} |")


if __name__ == "__main__":
    main()

"""`openchatml.compat.openai_harmony` gives what `openai_harmony` gives."""

from __future__ import annotations

import base64
import os
import pathlib
import random
import subprocess
import sys
import types
from typing import Any

import openchatml
import openchatml.compat.openai_harmony as ours
import pytest

SEEDS = int(os.environ.get("OPENCHATML_CASES", 300))
TEXTS = [
    *["Hi.", "", "日本語 😀", "a\nb\n", "say <|end|>", '{"a": [1]}', "x" * 40, "\r\n\t", " spaces "],
    *["don't", "<", "é" * 3],
]
ROLES = ["USER", "ASSISTANT", "SYSTEM", "DEVELOPER", "TOOL"]


@pytest.fixture(scope="module")
def theirs(tmp_path_factory: pytest.TempPathFactory) -> types.ModuleType:
    """The package. It reads its vocabulary from a file, which would be downloaded otherwise."""
    module = pytest.importorskip("openai_harmony")
    tokenizer = openchatml.Tokenizer("harmony")
    lines = [
        b"%s %d\n" % (base64.b64encode(tokenizer.decode_bytes([id])), id) for id in range(199998)
    ]
    folder = tmp_path_factory.mktemp("ranks")
    (folder / "o200k_base.tiktoken").write_bytes(b"".join(lines))
    os.environ["TIKTOKEN_ENCODINGS_BASE"] = str(folder)
    return module


@pytest.fixture(scope="module")
def encodings(theirs: types.ModuleType) -> tuple[Any, Any]:
    return ours.load_harmony_encoding("HarmonyGptOss"), theirs.load_harmony_encoding("HarmonyGptOss")


def system(module: Any, rand: random.Random) -> Any:
    content = module.SystemContent.new()
    if rand.random() < 0.5:
        content.with_conversation_start_date("2026-01-31")
    if rand.random() < 0.3:
        content.with_reasoning_effort(module.ReasoningEffort.HIGH)
    if rand.random() < 0.3:
        content.with_model_identity("You are a test.").with_knowledge_cutoff("2025-01")
    if rand.random() < 0.3:
        content.with_required_channels(["analysis", "final"])
    if rand.random() < 0.2:
        content.with_browser_tool()
    if rand.random() < 0.2:
        content.with_python_tool()
    return content


def developer(module: Any, rand: random.Random) -> Any:
    content = module.DeveloperContent.new()
    if rand.random() < 0.7:
        content.with_instructions(rand.choice(["Be brief.", "One.\n\nTwo."]))
    if rand.random() < 0.7:
        schema = {
            "type": "object",
            "properties": {
                "city": {"type": "string", "description": "A city."},
                "unit": {"type": "string", "enum": ["c", "f"], "default": "c"},
            },
            "required": ["city"],
        }
        content.with_function_tools(
            [
                module.ToolDescription.new("weather", "The weather.", schema),
                module.ToolDescription.new("now", "The time."),
            ]
        )
    return content


def conversation(module: Any, seed: int) -> Any:
    """The same random conversation in both modules."""
    rand = random.Random(seed)
    role, message = module.Role, module.Message
    messages = []
    if rand.random() < 0.6:
        messages.append(message.from_role_and_content(role.SYSTEM, system(module, rand)))
    if rand.random() < 0.6:
        messages.append(message.from_role_and_content(role.DEVELOPER, developer(module, rand)))
    for _ in range(rand.randint(1, 3)):
        messages.append(message.from_role_and_content(role.USER, rand.choice(TEXTS)))
        if rand.random() < 0.7:
            thought = message.from_role_and_content(role.ASSISTANT, rand.choice(TEXTS))
            messages.append(thought.with_channel("analysis"))
        if rand.random() < 0.5:
            call = message.from_role_and_content(role.ASSISTANT, '{"city": "P"}')
            call.with_channel("commentary").with_recipient("functions.weather")
            messages.append(call.with_content_type("<|constrain|>json"))
            author = module.Author.new(role.TOOL, "functions.weather")
            reply = message.from_author_and_content(author, rand.choice(TEXTS))
            messages.append(reply.with_recipient("assistant").with_channel("commentary"))
        if rand.random() < 0.8:
            answer = message.from_role_and_content(role.ASSISTANT, rand.choice(TEXTS))
            messages.append(answer.with_channel("final"))
    return module.Conversation.from_messages(messages)


@pytest.mark.parametrize("block", range(10))
def test_conversations_are_the_same_ids(theirs, encodings, block: int) -> None:
    for seed in range(block * SEEDS // 10, (block + 1) * SEEDS // 10):
        chats = [conversation(module, seed) for module in (ours, theirs)]
        assert chats[0].to_dict() == chats[1].to_dict()
        results = []
        for module, encoding, chat in zip((ours, theirs), encodings, chats, strict=True):
            keep = module.RenderConversationConfig(auto_drop_analysis=seed % 2 == 0)
            results.append(
                [
                    encoding.render_conversation_for_completion(chat, module.Role.ASSISTANT),
                    encoding.render_conversation_for_completion(chat, module.Role.ASSISTANT, keep),
                    encoding.render_conversation(chat, keep),
                    encoding.render_conversation_for_training(chat, keep),
                    *[encoding.render(it) for it in chat.messages],
                    *[encoding.render(it, module.RenderOptions(conversation_has_function_tools=True)) for it in chat.messages],
                ]
            )
        for mine, other in zip(*results, strict=True):
            assert encodings[0].decode(mine) == encodings[1].decode(other), seed
            assert mine == other, seed


@pytest.mark.parametrize("block", range(10))
def test_completions_are_the_same_messages(theirs, encodings, block: int) -> None:
    for seed in range(block * SEEDS // 10, (block + 1) * SEEDS // 10):
        rand = random.Random(seed)
        encoding = encodings[1]
        chat = conversation(theirs, seed)
        said = [it for it in chat.messages if it.author.role == theirs.Role.ASSISTANT]
        ids = [id for it in said for id in encoding.render(it)]
        # The prompt has the header until the role.
        ids = ids[2:]
        if rand.random() < 0.3 and ids:
            # A completion that ends inside its last message.
            last = max(at for at, id in enumerate(ids) if id == 200008)
            ids = ids[: rand.randint(last + 1, len(ids))]
        if not ids:
            continue
        parsers = [
            module.StreamableParser(encoding, module.Role.ASSISTANT)
            for module, encoding in zip((ours, theirs), encodings, strict=True)
        ]
        for id in ids:
            states = []
            for parser in parsers:
                parser.process(id)
                states.append(
                    (
                        parser.state_data,
                        parser.state.value,
                        parser.current_content,
                        parser.last_content_delta,
                        parser.current_role,
                        parser.current_channel,
                        parser.current_recipient,
                        parser.current_content_type,
                        parser.tokens,
                        [it.to_dict() for it in parser.messages],
                    )
                )
            assert states[0] == states[1], (seed, id)
        results = [[it.to_dict() for it in parser.process_eos().messages] for parser in parsers]
        assert results[0] == results[1], seed
        whole = encodings[0].parse_messages_from_completion_tokens(ids, ours.Role.ASSISTANT)
        assert [it.to_dict() for it in whole] == results[0]


def test_whole_conversations_are_the_same_messages(theirs, encodings) -> None:
    for seed in range(50):
        chat = conversation(theirs, seed)
        kept = [it for it in chat.messages if it.author.role.value not in ("system", "developer")]
        ids = [id for it in kept for id in encodings[1].render(it)]
        results = [
            [it.to_dict() for it in encoding.parse_messages_from_completion_tokens(ids)]
            for encoding in encodings
        ]
        assert results[0] == results[1], seed


def read(module: Any, encoding: Any, text: str, **options: Any) -> list[dict[str, Any]]:
    """The messages of a completion of the assistant."""
    ids = encoding.encode(text, allowed_special="all")
    messages = encoding.parse_messages_from_completion_tokens(ids, module.Role.ASSISTANT, **options)
    return [it.to_dict() for it in messages]


def test_messages_with_several_parts(theirs, encodings) -> None:
    results = []
    for module, encoding in zip((ours, theirs), encodings, strict=True):
        parts = [module.TextContent(text="one "), module.TextContent(text="two")]
        named = module.Message(author=module.Author.new(module.Role.TOOL, "f"), content=parts)
        chat = module.Conversation.from_messages(
            [module.Message.from_role_and_contents(module.Role.USER, parts), named.with_recipient("assistant")]
        )
        results.append(encoding.render_conversation(chat))
    assert results[0] == results[1]


@pytest.mark.parametrize("channel", [None, "analysis", "commentary", "final"])
@pytest.mark.parametrize("recipient", [None, "assistant", "functions.f", "python", "browser.search"])
@pytest.mark.parametrize("kind", [None, "json", "<|constrain|>json", "code"])
def test_every_header(theirs, encodings, channel: Any, recipient: Any, kind: Any) -> None:
    authors = [("user", None), ("user", "Eric"), ("assistant", None), ("assistant", "Ann")]
    authors += [("tool", "functions.f"), ("tool", "python"), ("system", None), ("developer", None)]
    for role, name in authors:
        # The page about the module lists what differs.
        if kind in ("json", "code") and role in ("user", "system", "developer"):
            continue
        if kind is not None and (role, channel, recipient) == ("assistant", "commentary", None):
            continue
        results = []
        for module, encoding in zip((ours, theirs), encodings, strict=True):
            message = module.Message(
                author=module.Author(role=module.Role(role), name=name),
                content=[module.TextContent(text="x <|end|>")],
                channel=channel,
                recipient=recipient,
                content_type=kind,
            )
            results.append(encoding.decode(encoding.render(message)))
        assert results[0] == results[1], (role, name)


def test_parts_in_messages_of_other_roles(encodings) -> None:
    """What has no place in a message is not lost."""
    wrong = [
        (ours.Role.USER, ours.SystemContent.new()),
        (ours.Role.SYSTEM, ours.DeveloperContent.new().with_instructions("x")),
        (ours.Role.ASSISTANT, ours.DeveloperContent.new().with_instructions("x")),
    ]
    for role, part in wrong:
        message = ours.Message.from_role_and_content(role, "Hi").adding_content(part)
        chat = ours.Conversation.from_messages([message])
        for write in (
            lambda: encodings[0].render(message),
            lambda: encodings[0].render_conversation(chat),
            lambda: encodings[0].render_conversation_for_training(chat),
        ):
            with pytest.raises(ours.HarmonyError, match="may only appear in a message of"):
                write()


@pytest.mark.parametrize(
    "text",
    ["<|channel|>final", "Hi<|end|>", "<|channel|>final Hi<|end|>", "<|channel|>weird<|message|>x"],
)
def test_malformed_completions(theirs, encodings, text: str) -> None:
    mine = encodings[0]
    assert read(ours, mine, text) == read(ours, mine, text, strict=False)
    with pytest.raises(ours.HarmonyError):
        read(ours, mine, text, strict=True)
    parser = ours.StreamableParser(mine, ours.Role.ASSISTANT)
    for id in mine.encode(text, allowed_special="all"):
        parser.process(id)
    streamed = [it.to_dict() for it in parser.process_eos().messages]
    assert streamed == read(ours, mine, text)


def test_a_header_that_is_cut_off_is_no_message(encodings) -> None:
    for text in ("", "<|channel|>", "<|channel|>fin", "<|channel|>commentary to=functions.f"):
        assert read(ours, encodings[0], text) == []


def test_a_channel_is_not_invented(encodings) -> None:
    texts = ["Hi<|end|>", "<|message|>Hi<|end|>", "<|channel|>final<|message|>Hi<|end|>"]
    found = [read(ours, encodings[0], text)[0].get("channel") for text in texts]
    assert found == [None, None, "final"]
    text = "<|channel|>analysis<|message|>a<|start|>assistant<|channel|>final<|message|>b<|return|>"
    found = [it["channel"] for it in read(ours, encodings[0], text)]
    assert found == ["analysis", "final"]


def test_messages_are_guarded_if_a_program_asks(encodings, monkeypatch) -> None:
    monkeypatch.setattr(ours.StreamableParser, "guard", True)
    # What is malformed may be reasoning, so a user does not see it.
    for text, channel in (
        ("Hi<|end|>", "analysis"),
        ("<|channel|>analysis Hi<|end|>", "analysis"),
        ("<|message|>Hi<|end|>", "final"),
        ("<|channel|>commentary<|message|>Hi<|end|>", "commentary"),
    ):
        assert read(ours, encodings[0], text)[0]["channel"] == channel, text
    # A call with a guessed part is nobody's.
    text = "<|channel|>commentary to=functions.f to=g<|message|>{}<|call|>"
    assert read(ours, encodings[0], text)[0]["channel"] == "analysis"
    assert "recipient" not in read(ours, encodings[0], text)[0]
    text = "<|channel|>commentary to=functions.f<|message|>{}<|call|>"
    assert read(ours, encodings[0], text)[0]["recipient"] == "functions.f"
    asked = "<|start|>user<|message|>Hi<|end|>"
    ids = encodings[0].encode(asked, allowed_special="all")
    assert encodings[0].parse_messages_from_completion_tokens(ids)[0].channel is None


def test_an_error_does_not_end_the_parser(encodings) -> None:
    mine = encodings[0]
    parser = ours.StreamableParser(mine, ours.Role.ASSISTANT, strict=True)
    failed = 0
    text = "Hi<|end|><|start|>assistant<|channel|>final<|message|>Yes<|return|>"
    for id in mine.encode(text, allowed_special="all"):
        try:
            parser.process(id)
        except ours.HarmonyError as error:
            failed += 1
            assert error.code == "E-PARSE-HEADER"
            assert "unexpected tokens remaining in message header" in str(error)
    assert failed == 1
    assert [it.content[0].text for it in parser.messages] == ["Hi", "Yes"]


@pytest.mark.parametrize("bad", ["x", None, -1, 1 << 40, 1.5, [1]])
def test_ids_of_the_wrong_type(encodings, bad: Any) -> None:
    parser = ours.StreamableParser(encodings[0], ours.Role.ASSISTANT)
    with pytest.raises(openchatml.ArgumentTypeError):
        parser.process(bad)
    with pytest.raises(openchatml.ArgumentTypeError):
        encodings[0].parse_messages_from_completion_tokens([bad])
    parser.process_eos()
    with pytest.raises(ours.HarmonyError):
        parser.process(1)


def test_text(theirs, encodings) -> None:
    for text in [*TEXTS, "\ud800x", "<|start|>user<|message|>", "a<|return|>b<|endofprompt|><|reserved_200018|>"]:
        for options in (
            {"disallowed_special": ()},
            {"allowed_special": "all"},
            {"allowed_special": {"<|return|>"}, "disallowed_special": ()},
        ):
            results = [encoding.encode(text, **options) for encoding in encodings]
            assert results[0] == results[1], (text, options)
            assert encodings[0].decode(results[0]) == encodings[1].decode(results[1])
        for encoding, module in zip(encodings, (ours, theirs), strict=True):
            if "<|" in text and "<|end|>" not in text or text == "say <|end|>":
                with pytest.raises(module.HarmonyError):
                    encoding.encode(text)


def test_tokens(theirs, encodings) -> None:
    mine, other = encodings
    assert mine.name == other.name
    assert sorted(mine.stop_tokens()) == sorted(other.stop_tokens())
    assert sorted(mine.stop_tokens_for_assistant_actions()) == sorted(
        other.stop_tokens_for_assistant_actions()
    )
    for id in (*range(199990, 201100), 0):
        assert mine.is_special_token(id) == other.is_special_token(id), id
    half = mine.encode("😀")[:1]
    for ids in (half, [200006], [13225], [200018], [201088]):
        assert mine.decode(ids) == other.decode(ids)
    if half != mine.encode("😀"):
        with pytest.raises(ours.HarmonyError):
            mine.decode_utf8(half)
    assert mine.special_tokens_set == other.special_tokens_set
    with pytest.raises(ours.HarmonyError):
        ours.load_harmony_encoding("nope")


def test_the_public_names_are_there(theirs) -> None:
    missing = [name for name in theirs.__all__ if not hasattr(ours, name)]
    assert not missing
    for name in theirs.__all__:
        mine, other = getattr(ours, name), getattr(theirs, name)
        assert fields(mine) == fields(other), name
        for member in vars(other):
            if not member.startswith("_") and member != "model_config":
                assert hasattr(mine, member), f"{name}.{member}"


def fields(kind: Any) -> dict[str, tuple[bool, Any]]:
    """The fields of a model of pydantic, with their defaults."""
    known = getattr(kind, "model_fields", {})
    return {name: (it.is_required(), it.get_default()) for name, it in known.items()}


def test_messages_are_models(theirs) -> None:
    pydantic = pytest.importorskip("pydantic")
    for seed in range(20):
        chats = [conversation(module, seed) for module in (ours, theirs)]
        assert chats[0].model_dump() == chats[1].model_dump()
        assert chats[0].model_dump_json() == chats[1].model_dump_json()
    for wrong in ({"author": 3}, {"author": {"role": "nobody"}}, {}):
        with pytest.raises(pydantic.ValidationError):
            ours.Message(**wrong)


INSTALLED = """
import sys
import openchatml, openchatml.compat
if "late" in sys.argv:
    import openai_harmony
try:
    openchatml.compat.install(guard="guard" in sys.argv)
except openchatml.Error as error:
    print(error)
    sys.exit()
import openai_harmony
from openai_harmony import StreamableParser
print(openai_harmony.__name__, StreamableParser.guard)
"""


@pytest.mark.parametrize(
    ("word", "said"),
    [
        ("", "openchatml.compat.openai_harmony False"),
        ("guard", "openchatml.compat.openai_harmony True"),
        ("late", "`openai_harmony` was imported before: call `install` first"),
    ],
)
def test_install(theirs, word: str, said: str) -> None:
    command = [sys.executable, "-c", INSTALLED, word]
    assert subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip() == said


def test_run_a_module_with_it(tmp_path: pathlib.Path) -> None:
    (tmp_path / "program.py").write_text(
        "import sys, openai_harmony\nprint(__name__, sys.argv[1:], openai_harmony.__name__)"
    )
    command = [sys.executable, "-m", "openchatml.compat", "program", "-x", "y"]
    ran = subprocess.run(command, check=True, capture_output=True, text=True, cwd=tmp_path)
    assert ran.stdout.strip() == "__main__ ['-x', 'y'] openchatml.compat.openai_harmony"


def test_json(theirs) -> None:
    for seed in range(20):
        chats = [conversation(module, seed) for module in (ours, theirs)]
        json = chats[1].to_json()
        assert ours.Conversation.from_json(json) == chats[0]
        assert ours.Conversation.from_json(json).to_dict() == chats[1].to_dict()

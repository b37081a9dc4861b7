"""`openchatml.compat.openai_harmony` gives what `openai_harmony` gives."""

from __future__ import annotations

import base64
import os
import pathlib
import random
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


def test_malformed_completions(theirs, encodings) -> None:
    mine = encodings[0]
    ids = mine.encode("<|channel|>final", allowed_special="all")
    for encoding, module in zip(encodings, (ours, theirs), strict=True):
        with pytest.raises(module.HarmonyError):
            encoding.parse_messages_from_completion_tokens(ids, module.Role.ASSISTANT)
    broken = mine.encode("<|start|>nobody<|message|>x<|end|>", allowed_special="all")
    with pytest.raises(ours.HarmonyError):
        mine.parse_messages_from_completion_tokens(broken, ours.Role.ASSISTANT)
    assert mine.parse_messages_from_completion_tokens(broken, ours.Role.ASSISTANT, strict=False)


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
        for member in vars(getattr(theirs, name)):
            if not member.startswith("_") and not member.startswith("model_"):
                known = getattr(ours, name)
                fields = getattr(known, "__dataclass_fields__", {})
                assert hasattr(known, member) or member in fields, f"{name}.{member}"


def test_json(theirs) -> None:
    for seed in range(20):
        chats = [conversation(module, seed) for module in (ours, theirs)]
        json = chats[1].to_json()
        assert ours.Conversation.from_json(json) == chats[0]
        assert ours.Conversation.from_json(json).to_dict() == chats[1].to_dict()

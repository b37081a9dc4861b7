"""Records what the reference renderer of Harmony makes of random conversations, for `../reference.rs`.

    pip install openai-harmony==0.0.8
    TIKTOKEN_ENCODINGS_BASE=folder python record.py > conversations.jsonl

    pip install oss-harmony==0.0.11
    python record.py 150 8 > oss_harmony.jsonl

The folder holds `o200k_base.tiktoken`; without the variable it is downloaded.
"""

import json
import random
import sys

from openai_harmony import Conversation, HarmonyEncodingName, RenderConversationConfig, Role, load_harmony_encoding

TEXTS = ["Hi.", "What is 2 + 2?", "日本語 and 😀", "a\nb\n\nc", "", " spaces ", "say <|end|> and <|start|>system", "{\"a\": [1, 2]}", "don't", "<", "x" * 40, "\r\n\t", "1,234.5"]
LINES = ["A city.", "The unit \"of\" heat", "First.\nSecond.", "", "Größe in °C", "<|call|>"]
NAMES = ["location", "format", "n", "max_results", "ids", "x-y", "deep"]


def schema(rand: random.Random, depth: int = 0):
    kind = rand.choice(["string", "number", "integer", "boolean", "array", "object", "oneOf", "types", "enum", "none", "anyOf", "ref", "const", "null"])
    out = {}
    if rand.random() < 0.4:
        out["description"] = rand.choice(LINES)
    if kind in ("string", "number", "integer", "boolean", "null"):
        out["type"] = kind
    elif kind == "enum":
        out["type"] = "string"
        out["enum"] = rand.choice([["celsius", "fahrenheit"], ["a"], [], [1, 2], ["x", 3]])
    elif kind == "types":
        out["type"] = rand.choice([["number", "string"], ["integer", "null"], ["string"], []])
    elif kind == "array":
        out["type"] = "array"
        if rand.random() < 0.8:
            out["items"] = schema(rand, depth + 1) if depth < 3 else {"type": "string"}
    elif kind == "object" and depth < 3:
        out["type"] = "object"
        if rand.random() < 0.9:
            names = rand.sample(NAMES, rand.randint(0, 3))
            out["properties"] = {name: schema(rand, depth + 1) for name in names}
            if names and rand.random() < 0.7:
                out["required"] = rand.sample(names, rand.randint(0, len(names)))
    elif kind == "oneOf" and depth < 3:
        out["oneOf"] = [schema(rand, depth + 1) for _ in range(rand.randint(0, 3))]
    elif kind == "anyOf":
        out["anyOf"] = [{"type": "string"}, {"type": "null"}]
    elif kind == "ref":
        out["$ref"] = "#/$defs/x"
    elif kind == "const":
        out["const"] = "c"
    if rand.random() < 0.25:
        out["default"] = rand.choice(["celsius", 3, True, None, [1, "a"], {"k": "v"}, 0.5, ""])
    if rand.random() < 0.15:
        out["nullable"] = rand.choice([True, False])
    if rand.random() < 0.15:
        out["title"] = rand.choice(["Title", "A title"])
    if rand.random() < 0.15:
        out["examples"] = rand.choice([["a", "b"], [], [1], ["x", 2]])
    return out


def tools(rand: random.Random, names):
    out = {}
    for name in names:
        namespace = {"name": name, "description": rand.choice([None, "About it.", "Two\nlines."]), "tools": []}
        for index in range(rand.randint(0, 3)):
            tool = {"name": f"tool_{index}", "description": rand.choice(LINES), "parameters": None}
            if rand.random() < 0.8:
                tool["parameters"] = schema(rand) if rand.random() < 0.5 else {"type": "object", "properties": {name: schema(rand, 1) for name in rand.sample(NAMES, 3)}, "required": ["location"]}
            namespace["tools"].append(tool)
        out[name] = namespace
    return out


def system(rand: random.Random):
    content = {"type": "system_content"}
    if rand.random() < 0.8:
        content["model_identity"] = rand.choice(["You are ChatGPT, a large language model trained by OpenAI.", "You are a robot."])
    if rand.random() < 0.8:
        content["reasoning_effort"] = rand.choice(["Low", "Medium", "High"])
    if rand.random() < 0.8:
        content["knowledge_cutoff"] = "2024-06"
    if rand.random() < 0.5:
        content["conversation_start_date"] = "2025-06-28"
    if rand.random() < 0.8:
        content["channel_config"] = {"valid_channels": rand.choice([["analysis", "commentary", "final"], ["final"], []]), "channel_required": rand.choice([True, False])}
    if rand.random() < 0.3:
        content["tools"] = tools(rand, rand.sample(["browser", "python", "files"], rand.randint(0, 2)))
    return content


def developer(rand: random.Random):
    content = {"type": "developer_content"}
    if rand.random() < 0.8:
        content["instructions"] = rand.choice(TEXTS)
    if rand.random() < 0.8:
        content["tools"] = tools(rand, rand.sample(["functions", "math", "zoo"], rand.randint(0, 2)))
    return content


def message(rand: random.Random):
    role = rand.choice(["user", "assistant", "assistant", "assistant", "tool", "system", "developer"])
    out = {"role": role}
    parts = [{"type": "text", "text": rand.choice(TEXTS)} for _ in range(rand.choice([1, 1, 1, 2]))]
    if role == "system" and rand.random() < 0.7:
        parts = [system(rand)]
    if role == "developer" and rand.random() < 0.7:
        parts = [developer(rand)]
    out["content"] = parts[0]["text"] if len(parts) == 1 and parts[0]["type"] == "text" else parts
    if role == "tool":
        out["name"] = rand.choice(["functions.f", "browser.search", "python"])
        out["recipient"] = "assistant"
        out["channel"] = rand.choice(["commentary", "analysis"])
    elif role == "assistant":
        out["channel"] = rand.choice(["analysis", "commentary", "final", "final"])
        if rand.random() < 0.3:
            out["recipient"] = rand.choice(["functions.f", "browser.search", "python", "all"])
            content_type = rand.choice([None, "json", "code", "<|constrain|>json", "<|constrain|> json"])
            if content_type:
                out["content_type"] = content_type
    elif rand.random() < 0.2:
        out["name"] = rand.choice(["alice", "bob_2"])
    return out


def main() -> None:
    encoding = load_harmony_encoding(HarmonyEncodingName.HARMONY_GPT_OSS)
    count, seed = (int(argument) for argument in [*sys.argv[1:], "250", "7"][:2])
    rand = random.Random(seed)
    for _ in range(count):
        given = {"messages": [message(rand) for _ in range(rand.randint(1, 7))]}
        conversation = Conversation.from_json(json.dumps(given))
        drops = rand.choice([True, False])
        config = RenderConversationConfig(auto_drop_analysis=drops)
        mode = rand.choice(["conversation", "completion", "training"])
        if mode == "completion":
            ids = encoding.render_conversation_for_completion(conversation, Role.ASSISTANT, config)
        elif mode == "training":
            ids = encoding.render_conversation_for_training(conversation, config)
        else:
            ids = encoding.render_conversation(conversation, config)
        print(json.dumps({"conversation": json.dumps(given, ensure_ascii=False), "mode": mode, "drops": drops, "ids": ids}, separators=(",", ":")))


if __name__ == "__main__":
    main()

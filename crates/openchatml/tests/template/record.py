"""Records what the chat template of the gpt-oss checkpoints makes of random conversations, for `../template.rs`.

    pip install jinja2==3.1.6
    python record.py chat_template.jinja > conversations.jsonl

The template is the one of openai/gpt-oss-20b, revision of 2025-08-08. A count and a seed may follow.
It is run as `transformers` runs templates: sandboxed, blocks trimmed, JSON as Python writes it.
"""

import functools
import hashlib
import json
import random
import sys

from jinja2.sandbox import ImmutableSandboxedEnvironment

SHA256 = "a4c9919cbbd4acdd51ccffe22da049264b1b73e59055fa58811a99efbd7c8146"
IDENTITY = "You are ChatGPT, a large language model trained by OpenAI."
TEXTS = ["Hi.", "What is 2 + 2?", "日本語 and 😀", "a\nb\n\nc", "", " spaces ", "{\"a\": [1, 2]}", "don't \"quote\" \\ it", "<", "<|", "x" * 40, "\r\n\t\x7f\u2028", "1,234.5", "# Tools\n\nNone.", "# Instructions\n\nBe brief."]
TAGS = ["<|channel|>analysis<|message|>Hm.", "So: <|channel|>final<|message|>4."]
LINES = ["A city.", "The unit \"of\" heat", "First.\nSecond.", "", "Größe in °C", "x" * 60]
NAMES = ["location", "format", "n", "max_results", "ids", "x-y", "deep", "items", "type", "größe"]
JSONS = ['{"location":"Tokyo"}', "{}", '{ "n" : 1.50, "x": [1E5, 1e-7, 1e16, -0, -0.0, 1e400, 123456789012345678901234567890] }', '{"a":{"b":[true,null,"\\u00e9\\n\\u007f"]},"a":1}', '{"deep": {"x": [], "y": {}}, "f": 0.1, "g": 1e22, "h": 12345.678, "i": 0.0001, "j": 0.00001}']
WORDS = ["not json", "[1, 2]", '"text"', "{\"a\":1} and more", "", "print('x')\n"]


class Raised(Exception):
    pass


@functools.cache
def template_of(source: str, date: str):
    env = ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True, extensions=["jinja2.ext.loopcontrols"])
    env.filters["tojson"] = lambda value, ensure_ascii=False, indent=None, separators=None, sort_keys=False: json.dumps(value, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)

    def raise_exception(message):
        raise Raised(message)

    env.globals["raise_exception"] = raise_exception
    env.globals["strftime_now"] = lambda form: date
    return env.from_string(source)


def schema(rand: random.Random, depth: int = 0):
    kind = rand.choice(["string", "number", "integer", "boolean", "array", "array", "object", "oneOf", "types", "enum", "none", "anyOf", "ref", "const", "null", "bool"])
    if kind == "bool" and depth:
        return rand.choice([True, False, {}])
    out = {}
    if rand.random() < 0.5:
        out["description"] = rand.choice(LINES)
    if kind in ("string", "number", "integer", "boolean", "null"):
        out["type"] = kind
    elif kind == "enum":
        out["type"] = rand.choice(["string", "string", "string", "integer"])
        out["enum"] = rand.choice([["celsius", "fahrenheit"], ["a"], [], [1, 2.50], ["x", 3, None, True]])
    elif kind == "types":
        out["type"] = rand.choice([["number", "string"], ["integer", "null"], ["string"], [], ["object", "object"]])
    elif kind == "array":
        out["type"] = "array"
        if rand.random() < 0.85:
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
        if rand.random() < 0.2:
            out["type"] = rand.choice(["string", "object", ["string", "null"]])
    elif kind == "anyOf":
        out["anyOf"] = [{"type": "string"}, {"type": "null"}]
    elif kind == "ref":
        out["$ref"] = "#/$defs/x"
    elif kind == "const":
        out["const"] = "c"
    if rand.random() < 0.2:
        simple = out.get("enum") or out.get("oneOf")
        out["default"] = rand.choice(["celsius", ""]) if simple and rand.random() < 0.8 else rand.choice(["celsius", 3, True, None, [1, "a"], {"k": "v"}, 0.5, 1e-9])
    if rand.random() < 0.2:
        out["nullable"] = rand.choice([True, False])
    if rand.random() < 0.1:
        out["title"] = "Title"
    return out


def tool(rand: random.Random, index: int):
    function = {"name": f"tool_{index}", "description": rand.choice(LINES)}
    if rand.random() < 0.02:
        del function["description"]
    if rand.random() < 0.9:
        names = rand.sample(NAMES, rand.randint(0, 4))
        function["parameters"] = rand.choice([{"type": "object", "properties": {name: schema(rand) for name in names}, "required": names[:1]}, {"type": "object", "properties": {name: schema(rand) for name in names}}, {"type": "object"}, {}])
    return {"type": "function", "function": function}


def said(rand: random.Random):
    return rand.choice(TAGS) if rand.random() < 0.01 else rand.choice(TEXTS)


def call(rand: random.Random, strings: bool):
    """The message of the template, and those that say it here."""
    message, flat = {"role": "assistant"}, []
    before = rand.choice(["thinking", "thinking", "content", "both", None, None])
    if before == "both" and rand.random() < 0.8:
        before = None
    if before in ("thinking", "both"):
        message["thinking"] = said(rand)
        flat.append({"role": "assistant", "channel": "analysis", "content": message["thinking"]})
    if before in ("content", "both"):
        message["content"] = said(rand)
        flat.append({"role": "assistant", "channel": "commentary", "intent": "preamble", "content": message["content"]})
    elif rand.random() < 0.2:
        message["content"] = ""
    body = rand.choice(JSONS + WORDS)
    name = rand.choice(["get_weather", "f", "tool_0"])
    made = {"name": name, "arguments": body if strings or body in WORDS else json.loads(body)}
    said_here = {"role": "assistant", "recipient": f"functions.{name}", "content": body}
    kind = rand.choice([None, None, "json", "code", "constrain"])
    if kind == "constrain":
        said_here.update(content_type="json", constrained=True)
    elif kind:
        made["content_type"] = said_here["content_type"] = kind
    if rand.random() < 0.8:
        said_here.update(channel="commentary")
    if rand.random() < 0.8:
        said_here.update(end="call")
    message["tool_calls"] = [{"type": "function", "function": made} if rand.random() < 0.8 else made]
    return message, [*flat, said_here]


def answer(rand: random.Random):
    message, flat = {"role": "assistant", "content": said(rand)}, []
    if rand.random() < 0.5:
        message["thinking"] = said(rand)
        flat.append({"role": "assistant", "channel": "analysis", "content": message["thinking"]})
    flat.append({"role": "assistant", "content": message["content"]})
    if rand.random() < 0.8:
        flat[-1]["channel"] = "final"
    if rand.random() < 0.3:
        flat[-1]["end"] = "return"
    return message, flat


def turns(rand: random.Random, strings: bool):
    called = None
    for _ in range(rand.randint(0, 8)):
        kind = rand.choice(["user", "call", "call", "tool", "tool", "answer"])
        if kind == "user":
            text = rand.choice(TEXTS)
            yield {"role": "user", "content": text}, [{"role": "user", "content": text}]
        elif kind == "call":
            message, flat = call(rand, strings)
            made = message["tool_calls"][0]
            called = made.get("function", made)["name"]
            yield message, flat
        elif kind == "tool":
            if called is None and rand.random() < 0.95:
                continue
            text = rand.choice(TEXTS + JSONS)
            reply = {"role": "tool", "name": f"functions.{called or 'f'}", "content": text}
            if rand.random() < 0.5:
                reply.update(channel="commentary", recipient="assistant")
            yield {"role": "tool", "content": text}, [reply]
        else:
            called = None
            yield answer(rand)


def case(rand: random.Random, source: str):
    date = rand.choice(["2025-06-28", "2026-01-01"])
    template = template_of(source, date)
    strings = rand.random() < 0.3
    given, flat, ends = [], [], []

    def add(message, said_here):
        given.append(message)
        flat.extend(said_here)
        ends.append(len(flat))

    if rand.random() < 0.7:
        first = {"role": rand.choice(["system", "developer"]), "content": rand.choice(TEXTS)}
        add(first, [first])
    for message, said_here in turns(rand, strings):
        add(message, said_here)
    if not given:
        add({"role": "user", "content": "Hi."}, [{"role": "user", "content": "Hi."}])
    tools = [tool(rand, index) for index in range(rand.choice([0, 0, 1, 2]))]
    prompt = rand.choice([True, False])
    options = {"add_generation_prompt": prompt, "tools": tools or None}
    record = {"date": date, "prompt": prompt, "strings": strings}
    if rand.random() < 0.7:
        options["reasoning_effort"] = record["effort"] = rand.choice(["low", "medium", "high"])
    if rand.random() < 0.2:
        options["model_identity"] = record["identity"] = rand.choice(["You are a robot.", ""])
    if rand.random() < 0.3:
        options["builtin_tools"] = record["builtin"] = rand.choice([["browser"], ["python"], ["python", "browser"], []])
    document = {"tools": tools, "messages": flat} if tools else {"messages": flat}
    record["document"] = json.dumps(document, ensure_ascii=False)

    def render(messages):
        try:
            return template.render(messages=messages, **options)
        except Exception:
            return None

    record["text"] = render(given)
    if record["text"] is None:
        # The first message that it cannot be without.
        if render([{"role": "user", "content": ""}]) is not None:
            at = next(at for at in range(len(given)) if render(given[: at + 1]) is None)
            record["refused"] = [ends[at - 1] if at else 0, ends[at]]
    return record


def main() -> None:
    source = open(sys.argv[1], "rb").read()
    found = hashlib.sha256(source).hexdigest()
    assert found == SHA256, f"another template: {found}"
    count, seed = map(int, (sys.argv[2:] + ["300", "7"][len(sys.argv) - 2 :])[:2])
    rand = random.Random(seed)
    for _ in range(count):
        print(json.dumps(case(rand, source.decode()), ensure_ascii=True, separators=(",", ":")))


if __name__ == "__main__":
    main()

"""Records what `transformers` writes: the goldens beside this script.

The environment is that of `transformers.utils.chat_template_utils` (5.23.0), made here from Jinja
alone: the same class, options, extension and functions. Needs `jinja2` 3.1.6 and nothing else:

    python3 record.py                  writes snippets.jsonl and conversations.jsonl
    python3 record.py FOLDER           writes conversations.jsonl of the templates in this folder there
"""

import datetime
import functools
import json
import pathlib
import random
import sys

import jinja2
import jinja2.ext
import jinja2.nodes
from jinja2.sandbox import ImmutableSandboxedEnvironment

HERE = pathlib.Path(__file__).parent
DATE = datetime.datetime(2025, 6, 28)
START, END = "\x02", "\x03"


class Generation(jinja2.ext.Extension):
    """`{% generation %}`: a call block, whose output stands between two marks."""

    tags = {"generation"}

    def parse(self, parser):
        line = next(parser.stream).lineno
        body = parser.parse_statements(["name:endgeneration"], drop_needle=True)
        call = self.call_method("_mark")
        return jinja2.nodes.CallBlock(call, [], [], body).set_lineno(line)

    def _mark(self, caller):
        return START + caller() + END


def raise_exception(message):
    raise jinja2.exceptions.TemplateError(message)


def tojson(x, ensure_ascii=False, indent=None, separators=None, sort_keys=False):
    return json.dumps(x, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)


@functools.lru_cache
def compiled(source):
    return environment().from_string(source)


def environment():
    made = ImmutableSandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True, extensions=[Generation, jinja2.ext.loopcontrols]
    )
    made.filters["tojson"] = tojson
    made.globals["raise_exception"] = raise_exception
    made.globals["strftime_now"] = DATE.strftime
    return made


def render(source, context):
    """The text and the places of generation blocks in it, or the error."""
    try:
        marked = compiled(source).render(**context)
    except Exception as error:
        raised = type(error) is jinja2.exceptions.TemplateError
        return {"raised": str(error)} if raised else {"error": type(error).__name__}
    text, blocks, opened = "", [], []
    for c in marked:
        if c == START:
            opened.append(len(text.encode()))
        elif c == END:
            start = opened.pop()
            if not opened:
                blocks.append([start, len(text.encode())])
        else:
            text += c
    return {"text": text, "generation": blocks}


MESSAGES = [
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": "2 + 2?"},
    {"role": "assistant", "content": "4."},
    {"role": "user", "content": "Thanks."},
]
DATA = (
    '{"x": "<b>\\"é\\u2028\\ud83d\\ude00\\u007f\\u0001", "y": [1, 2.0, 1e16, true, null],'
    ' "z": {"a": {}, "b": []}, "last": "/"}'
)
NUMBERS = "[1, 1.0, 1.50, 1e5, 1E400, -0.0, 0.00001, 123456789012345678901234567890123456789012345, -5]"


def snippets():
    context = {"messages": MESSAGES, "data": json.loads(DATA), "numbers": json.loads(NUMBERS)}
    for line in (HERE / "snippets.txt").read_text().splitlines():
        yield {"source": line, **render(line, context)}


WORDS = ["Hi", "there", "é", "日本", "😀", "a < b", "\n", "  ", "x\ty", "{{ x }}", "\"q\"", "it's", "C:\\d", "1.50",
         "<think>", "</think>", "<|im_end|>", "<tool_response>", "think", "[INST]", "</s>", "\n\n", "<", "|im_end|>"]
NAMES = ["get_weather", "search", "f"]


def text(rng, hostile):
    words = WORDS if hostile else [word for word in WORDS if not set(word) & set("<[>|")]
    return " ".join(rng.choice(words) for _ in range(rng.randrange(5)))


def data(rng, hostile, depth=0):
    kind = rng.randrange(4 if depth > 1 else 6)
    if kind == 0:
        return rng.choice([0, -1, 2.5, 1e16, True, None, 10**20])
    if kind < 4:
        return text(rng, hostile)
    if kind == 4:
        return [data(rng, hostile, depth + 1) for _ in range(rng.randrange(3))]
    return {rng.choice(["a", "b", "city", "é"]): data(rng, hostile, depth + 1) for _ in range(rng.randrange(3))}


def conversation(rng):
    """Messages as templates see them, and the same as a document in canonical JSON."""
    hostile = rng.random() < 0.5
    shown, said = [], []
    if rng.random() < 0.5:
        content = text(rng, hostile)
        shown.append({"role": "system", "content": content})
        said.append({"role": "system", "content": content})
    for _ in range(rng.randrange(1, 4)):
        content = text(rng, hostile)
        shown.append({"role": "user", "content": content})
        said.append({"role": "user", "content": content})
        while True:
            message = {"role": "assistant", "content": ""}
            if rng.random() < 0.5:
                reasoning = text(rng, hostile) or "Well."
                message |= {"reasoning_content": reasoning, "thinking": reasoning, "thought": reasoning}
                said.append({"role": "assistant", "channel": "analysis", "content": reasoning})
            calls = [rng.choice(NAMES) for _ in range(rng.randrange(1, 3))] if rng.random() < 0.4 else []
            preamble = text(rng, hostile)
            if not calls:
                message["content"] = preamble
                said.append({"role": "assistant", "channel": "final", "content": preamble})
            elif preamble and rng.random() < 0.5:
                message["content"] = preamble
                said.append({"role": "assistant", "channel": "commentary", "intent": "preamble", "content": preamble})
            shown.append(message)
            if not calls:
                break
            message["tool_calls"] = []
            replies = []
            for name in calls:
                id = "call%05d" % rng.randrange(99999)
                arguments = {"city": text(rng, hostile), "n": data(rng, hostile)}
                function = {"name": name, "arguments": arguments}
                message["tool_calls"].append({"id": id, "type": "function", "function": function})
                said.append({"role": "assistant", "recipient": "functions." + name, "channel": "commentary",
                             "call_id": id, "content_type": "json", "content": json.dumps(arguments), "end": "call"})
                replies.append((name, id, text(rng, hostile)))
            for name, id, content in replies:
                shown.append({"role": "tool", "name": name, "content": content, "tool_call_id": id})
                said.append({"role": "tool", "name": "functions." + name, "call_id": id, "content": content})
    tools = None
    if rng.random() < 0.5:
        tools = []
        for name in NAMES[: rng.randrange(1, 4)]:
            properties = {"city": {"type": "string", "description": text(rng, hostile)},
                          "unit": {"type": ["string", "null"], "enum": ["c", "f"]}}
            parameters = {"type": "object", "properties": properties, "required": ["city"]}
            function = {"name": name, "description": text(rng, hostile) or "It does.", "parameters": parameters}
            tools.append({"type": "function", "function": function})
    return shown, {"messages": said} | ({"tools": tools} if tools else {}), tools


def conversations(folder, count):
    for path in sorted(folder.glob("*.jinja")):
        rng = random.Random(path.name)
        for _ in range(count):
            messages, document, tools = conversation(rng)
            prompt = rng.random() < 0.5
            thinking = rng.choice([None, True, False])
            context = {"messages": messages, "tools": tools, "documents": None, "add_generation_prompt": prompt,
                       "bos_token": "<s>", "eos_token": "</s>"}
            if thinking is not None:
                context["enable_thinking"] = thinking
            case = {"template": path.name, "document": json.dumps(document), "prompt": prompt, "thinking": thinking}
            yield case | render(path.read_text(), context)


def write(path, cases):
    with open(path, "w") as file:
        for case in cases:
            file.write(json.dumps(case, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    if len(sys.argv) > 1:
        folder = pathlib.Path(sys.argv[1])
        write(folder / "conversations.jsonl", conversations(folder, 30))
    else:
        write(HERE / "snippets.jsonl", snippets())
        write(HERE / "conversations.jsonl", conversations(HERE / "templates", 12))

"""Records what the reference chat template of Apertus makes of messages.

    pip install jinja2==3.1.6
    git clone https://github.com/swiss-ai/apertus_format
    python record.py apertus_format/src/templates/chat_template.jinja 400 1 > conversations.jsonl

Each line is `{"input", "thinking", "prompt", "date", "engine", "text" or "refused"}`. The input is
JSON in a string, since the order of its keys and the spelling of its numbers count. The template is run as the reference formatter runs it (`reference`), and as the library `transformers`
does (`transformers`).
"""

import datetime
import json
import random
import sys

import jinja2
import jinja2.sandbox

DATE = "2026-01-31"


def environments(path):
    source = open(path, encoding="utf-8").read()

    def raise_exception(message):
        raise jinja2.TemplateError(message)

    def strftime_now(spelled):
        return datetime.date.fromisoformat(DATE).strftime(spelled)

    def tojson(value, ensure_ascii=False, indent=None, separators=None, sort_keys=False):
        return json.dumps(value, ensure_ascii=ensure_ascii, indent=indent,
                          separators=separators, sort_keys=sort_keys)

    helpers = {"raise_exception": raise_exception, "strftime_now": strftime_now}
    reference = jinja2.Template(source)
    sandbox = jinja2.sandbox.ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True)
    sandbox.filters["tojson"] = tojson
    sandbox.globals.update(helpers)
    trimmed = sandbox.from_string(source)

    def by_reference(**given):
        return reference.render(bos_token="<s>", tojson=tojson, **helpers, **given)

    def by_transformers(**given):
        return trimmed.render(bos_token="<s>", **given)

    return {"reference": by_reference, "transformers": by_transformers}


class Maker:
    """Random messages, most of them as the format wants them."""

    def __init__(self, seed):
        self.random = random.Random(seed)

    def one_in(self, count):
        return self.random.randrange(count) == 0

    def text(self):
        words = ["Hi", " there", "\n", "é", "[", "]", "\"", "{}", " 4.", "<|", "|>", "<s", "", "日本",
                 ", ", "'", "\\", "a] b", "<|im_start|>", "\u2028"]
        return "".join(self.random.choice(words) for _ in range(self.random.randrange(4)))

    def plain(self):
        """Text without brackets."""
        return self.text().replace("[", "(").replace("]", ")")

    def value(self, depth=0):
        kinds = [lambda: self.random.randrange(-5, 10**18), lambda: self.random.random() * 1e20,
                 lambda: self.text(), lambda: None, lambda: self.one_in(2)]
        if depth < 2:
            kinds += [lambda: [self.value(depth + 1) for _ in range(self.random.randrange(3))],
                      lambda: {self.text(): self.value(depth + 1) for _ in range(self.random.randrange(3))}]
        return self.random.choice(kinds)()

    def arguments(self):
        if self.one_in(8):
            return self.random.choice(["...", "", " {} ", "4", "\"x\""])
        return json.dumps({k: self.value(1) for k in ("a", "é")[: self.random.randrange(3)]},
                          ensure_ascii=self.one_in(2))

    def name(self):
        return self.random.choice(["f", "get_weather", "display_answers", "browser.search", "a b"])

    def output(self):
        if self.one_in(3):
            return self.plain()
        return json.dumps(self.value(), ensure_ascii=False)

    def calls(self):
        return [{"name": self.name(), "arguments": self.arguments()}
                for _ in range(self.random.randrange(1, 4))]

    def system(self):
        text = self.text()
        return {"role": "system", "content": text if self.one_in(2) else {"text": text}}

    def user(self):
        if self.one_in(2):
            return {"role": "user", "content": self.text()}
        parts = [{"type": "text", "text": self.text()} for _ in range(self.random.randrange(3))]
        return {"role": "user", "content": {"parts": parts}}

    def turn(self, blocks):
        """The turn of the assistant, as several messages or as one."""
        messages = []
        if not blocks:
            for _ in range(self.random.randrange(1, 3)):
                message = {"role": "assistant", "content": self.text()}
                if self.one_in(3):
                    calls = self.calls()
                    message["tool_calls"] = [{"type": "function", "function": call} for call in calls]
                    messages.append(message)
                    messages += [{"role": "tool", "content": self.output()} for _ in calls]
                else:
                    messages.append(message)
            return messages
        made = []

        def flush():
            if made or self.one_in(8):
                messages.append({"role": "assistant", "content": {"blocks": list(made)}})
            made.clear()

        for _ in range(self.random.randrange(1, 5)):
            kind = self.random.randrange(4)
            if kind == 0:
                made.append({"type": "thoughts", "text": self.text()})
            elif kind == 1:
                made.append({"type": "response", "text": self.text()})
            else:
                calls = self.calls()
                made.append({"type": "tool_calls", "calls": calls})
                outputs = [self.output() for _ in range(self.random.choice([len(calls)] * 5 + [0, 1]))]
                if self.one_in(2) and outputs:
                    flush()
                    messages += [{"role": "tool", "content": it} for it in outputs]
                elif outputs:
                    made.append({"type": "tool_outputs", "outputs": [{"output": it} for it in outputs]})
            if self.one_in(4):
                flush()
        flush()
        return messages

    def schema(self, depth=0):
        spec = {}
        kind = self.random.randrange(9)
        if kind == 0:
            spec["type"] = "string"
            if self.one_in(2):
                spec["enum"] = self.random.choice([["a", "b"], ["é"], [1, 2.5, None, True], []])
        elif kind == 1:
            spec["type"] = self.random.choice(["number", "integer", "boolean"])
        elif kind == 2:
            spec["type"] = "array"
            if not self.one_in(4):
                spec["items"] = self.schema(depth + 1)
        elif kind == 3:
            spec["type"] = self.random.choice(
                [["string", "null"], ["object", "object"], ["string"], [], ["array", "integer"]])
        elif kind == 4 and depth < 3:
            spec["oneOf"] = [self.schema(depth + 1) for _ in range(self.random.randrange(4))]
        elif kind == 5:
            spec["anyOf"] = [{"type": "string"}]
        elif depth < 3:
            spec["type"] = "object"
            names = ["x", "why", "é"][: self.random.randrange(4)]
            spec["properties"] = {name: self.schema(depth + 1) for name in names}
            if self.one_in(2):
                spec["required"] = self.random.choice([["x"], ["x", "why"], [], "x y"])
        if self.one_in(3):
            spec["nullable"] = self.one_in(2)
        if self.one_in(3):
            spec["description"] = self.random.choice(["What it is.", "", "é <b> & 'c'"])
        if self.one_in(3):
            spec["default"] = self.value(1) if self.one_in(2) else "d"
        return spec

    def tool(self):
        tool = {"name": self.name().replace(" ", "_"), "description": "Does it. é"}
        if self.one_in(12):
            del tool["description"]
        if not self.one_in(6):
            names = ["city", "é", "n"][: self.random.randrange(4)]
            tool["parameters"] = {"type": "object",
                                  "properties": {name: self.schema() for name in names}}
            if self.one_in(2):
                tool["parameters"]["required"] = ["city"]
        return tool

    def case(self):
        blocks = self.one_in(2)
        messages = [] if self.one_in(4) else [self.system()]
        for _ in range(self.random.randrange(3)):
            messages.append(self.user())
            if not self.one_in(8):
                messages += self.turn(blocks)
        if self.one_in(20) and messages:
            self.spoil(messages)
        case = {"messages": messages, "thinking": self.one_in(2), "prompt": self.one_in(3)}
        if self.one_in(3):
            case["tools"] = [self.tool() for _ in range(self.random.randrange(3))]
        return case

    def spoil(self, messages):
        """Breaks a rule."""
        at = self.random.randrange(len(messages))
        broken = [
            {"role": "assistant", "content": {"blocks": [{"type": "poem", "text": "x"}]}},
            {"role": "assistant"},
            {"role": "assistant", "content": None},
            {"role": "user", "content": {"parts": [{"type": "image", "text": "x"}]}},
            {"role": "user", "content": 4},
            {"role": "system", "content": "again"},
            {"role": "developer", "content": "x"},
            {"role": "tool", "content": "x"},
            {"role": "poet", "content": "x"},
        ]
        messages.insert(at, self.random.choice(broken))


def main(path, count, seed):
    engines = environments(path)
    maker = Maker(seed)
    for index in range(count):
        case = maker.case()
        name = ["reference", "transformers"][index % 2]
        given = dict(messages=case["messages"], enable_thinking=case["thinking"],
                     add_generation_prompt=case["prompt"])
        if "tools" in case:
            given["tools"] = case["tools"]
        try:
            case["text"] = engines[name](**given)
        except Exception as error:
            case["refused"] = f"{type(error).__name__}: {error}"
        case["date"] = DATE
        case["engine"] = name
        messages = case.pop("messages")
        tools = {"tools": case.pop("tools")} if "tools" in case else None
        whole = {"messages": messages, **tools} if tools else messages
        case["input"] = json.dumps(whole, ensure_ascii=False)
        print(json.dumps(case, ensure_ascii=False))


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))

"""What a server with a model of Harmony answers, compared with what its completions say.

    answers.py URL [COUNT]

Asks `/v1/chat/completions` with seeds 1 to COUNT (default: 50), with and without a tool, as a whole and as
a stream. The model is the tiny one that often writes malformed Harmony. vLLM returns the ids of each
completion; this package reads them, and counts how the answer differs:

- error: the server answers with an error
- empty: the completion has visible text, and the answer has none
- cut: the answer has only a part of the visible text
- leaked: the answer has text that is not visible: reasoning, text of calls, control tokens
- calls: the answer has a call that the completion does not have, or lacks one
- reasoning: the answer lacks reasoning, or has text that is no reasoning
- same: none of these

Exits with 1 if any answer differs and `--strict` is given.
"""

from __future__ import annotations

import collections
import json
import sys
import urllib.error
import urllib.request
from typing import Any

import openchatml

TOKENIZER = openchatml.Tokenizer("harmony")
TOOL = {
    "type": "function",
    "function": {
        "name": "weather",
        "description": "The weather of a city.",
        "parameters": {
            "type": "object",
            "properties": {"city": {"type": "string"}},
            "required": ["city"],
        },
    },
}


def ask(url: str, body: dict[str, Any]) -> dict[str, Any]:
    """Returns an answer: its content, reasoning and calls, and the ids of the completion."""
    request = urllib.request.Request(
        url + "/v1/chat/completions", json.dumps(body).encode(), {"Content-Type": "application/json"}
    )
    found: dict[str, Any] = {"content": "", "reasoning": "", "calls": {}, "ids": []}
    with urllib.request.urlopen(request) as answer:
        if body["stream"]:
            lines = [line[6:] for line in answer if line.startswith(b"data: {")]
            for data in map(json.loads, lines):
                if "error" in data:
                    raise ValueError(data["error"])
                for choice in data["choices"]:
                    found["ids"] += choice.get("token_ids") or []
                    take(found, choice["delta"])
        else:
            choice = json.load(answer)["choices"][0]
            found["ids"] = choice["token_ids"]
            take(found, choice["message"])
    return found


def take(found: dict[str, Any], message: dict[str, Any]) -> None:
    found["content"] += message.get("content") or ""
    found["reasoning"] += message.get("reasoning") or message.get("reasoning_content") or ""
    for at, call in enumerate(message.get("tool_calls") or []):
        name, text = found["calls"].get(call.get("index", at), ("", ""))
        function = call["function"]
        name = name + (function.get("name") or "")
        found["calls"][call.get("index", at)] = (name, text + (function.get("arguments") or ""))


def judge(found: dict[str, Any]) -> str:
    """How an answer differs from its completion."""
    chat = TOKENIZER.parse(found["ids"], completion=True).conversation
    own = [it for it in chat if it.role == "assistant" and not it.foreign]
    visible = squeezed("".join(it.text for it in chat.user_view() if it.role == "assistant"))
    # A call with a guessed part is not made.
    guessed = [it for it in own if it.is_call and it.recovered]
    hidden = squeezed("".join(it.text for it in own if it.is_reasoning or it in guessed))
    calls = sorted((it.tool or "", squeezed(it.text)) for it in own if it.is_call and not it.recovered)
    said = squeezed(found["content"])
    if visible and not said:
        return "empty"
    if said != visible:
        return "cut" if said and visible.startswith(said) else "leaked"
    if sorted((name, squeezed(text)) for name, text in found["calls"].values()) != calls:
        return "calls"
    return "same" if squeezed(found["reasoning"]) == hidden else "reasoning"


def squeezed(text: str) -> str:
    """A text without white space, which servers join and write anew."""
    return "".join(text.split())


def main() -> int:
    arguments = [it for it in sys.argv[1:] if it != "--strict"]
    url, count = arguments[0], int(arguments[1]) if len(arguments) > 1 else 50
    counts: dict[str, collections.Counter[str]] = collections.defaultdict(collections.Counter)
    for seed in range(1, count + 1):
        for tools in ([TOOL], []):
            for stream in (False, True):
                body: dict[str, Any] = {
                    "model": "tiny",
                    "seed": seed,
                    "temperature": 1,
                    "top_p": 1,
                    "min_p": 0,
                    "top_k": -1,
                    "max_tokens": 120,
                    "messages": [{"role": "user", "content": "What's the weather in Tokyo?"}],
                    "return_token_ids": True,
                    "stream": stream,
                }
                if tools:
                    body["tools"] = tools
                found: dict[str, Any] = {}
                try:
                    found = ask(url, body)
                    verdict = judge(found)
                    if not tools and verdict == "calls" and not found["calls"]:
                        verdict = "same"
                except (urllib.error.HTTPError, ValueError) as error:
                    verdict, found = "error", {"error": str(error)}
                counts["stream" if stream else "whole"][verdict] += 1
                if verdict != "same":
                    text = TOKENIZER.decode(found["ids"]) if "ids" in found else ""
                    print(json.dumps({"verdict": verdict, "stream": stream, "text": text, **found}))
    for kind, verdicts in counts.items():
        print(kind, dict(verdicts.most_common()), file=sys.stderr)
    has_others = any(set(verdicts) != {"same"} for verdicts in counts.values())
    return 1 if "--strict" in sys.argv and has_others else 0


if __name__ == "__main__":
    sys.exit(main())

"""Records what `transformers` reads with response templates, for `recorded.rs` beside this script.

    pip install transformers==5.24.0
    python record.py > recorded.json

Each case has a template, a prompt, an output and, if any, the tools. `message` is the message of
`transformers`; `error` says that it raises one. `differs` says why this crate gives another result on
purpose.
"""

import json
import random

import transformers
from transformers.utils.chat_parsing import parse_response

CALL = {"type": "function", "function": "{content}"}
NAMED = {"type": "function", "function": {"name": "{name}", "arguments": "{content}"}}

TEMPLATES = {
    "think": {
        "defaults": {"role": "assistant"},
        "start_anchor": "<|im_start|>assistant\n",
        "fields": {
            "thinking": {"open": "<think>", "close": "</think>"},
            "tool_calls": {
                "open": "<tool_call>", "close": "</tool_call>", "repeats": True, "content": "json", "transform": CALL,
            },
            "content": {"close": "<|im_end|>"},
        },
    },
    "harmony": {
        "defaults": {"role": "assistant"},
        "start_anchor": "<|start|>assistant",
        "fields": {
            "thinking": {
                "open_pattern": r"<\|channel\|>analysis.*?<\|message\|>", "close": ["<|end|>", "<|return|>"],
                "repeats": True, "join": "\n\n",
            },
            "tool_calls": {
                "open_pattern": r"<\|channel\|>commentary to=functions\.(?P<name>\w+).*?<\|message\|>",
                "close": "<|call|>", "repeats": True, "content": "json", "transform": NAMED,
            },
            "content": {
                "open_pattern": r"<\|channel\|>final.*?<\|message\|>", "close": ["<|end|>", "<|return|>"],
            },
        },
    },
    "glm": {
        "defaults": {"role": "assistant"},
        "start_anchor_pattern": r"<\|assistant\|>\n?",
        "fields": {
            "reasoning_content": {"open": "<think>", "close": "</think>"},
            "tool_calls": {
                "open_pattern": r"<tool_call>(?P<name>[\w.-]+)\s*", "close": "</tool_call>", "repeats": True,
                "content": "xml-inline",
                "content_args": {
                    "tag_pattern": r"<arg_key>(?P<key>.*?)</arg_key>\s*<arg_value>(?P<value>.*?)</arg_value>",
                    "value_parser": {"name": "json", "args": {"allow_non_json": True}},
                },
                "transform": NAMED,
            },
            "content": {"close": ["<|user|>", "<|observation|>"]},
        },
    },
    "parameters": {
        "start_anchor": "<|im_start|>assistant\n",
        "fields": {
            "tool_calls": {
                "open_pattern": r"<tool_call>\s*<function=(?P<name>\w+)>", "close": "</tool_call>", "repeats": True,
                "content": "xml-inline",
                "content_args": {
                    "tag_pattern": r"<parameter=(?P<key>\w+)>\n?(?P<value>.*?)\n?</parameter>",
                    "merge_duplicates": True,
                },
                "transform": NAMED,
            },
            "content": {},
        },
    },
    "actions": {
        "start_anchor": "<|CHATBOT_TOKEN|>",
        "fields": {
            "thinking": {"open": "<|START_THINKING|>", "close": "<|END_THINKING|>"},
            "tool_calls": {
                "open": "<|START_ACTION|>", "close": "<|END_ACTION|>", "content": "json", "transform_each": True,
                "transform": {
                    "type": "function", "function": {"name": "{tool_name}", "arguments": "{args}"},
                },
            },
            "content": {"open": "<|START_RESPONSE|>", "close": "<|END_RESPONSE|>"},
        },
    },
    "gemma": {
        "start_anchor": "<|turn>model\n",
        "fields": {
            "thinking": {"open_pattern": r"<\|channel>thought\n?", "close": "<channel|>"},
            "tool_calls": {
                "open_pattern": r"<\|tool_call>call:(?P<name>\w+)", "close": "<tool_call|>", "repeats": True,
                "content": "json",
                "content_args": {"unquoted_keys": True, "string_delims": [["<|\"|>", "<|\"|>"]]},
                "transform": NAMED,
            },
            "content": {"close_pattern": r"<turn\|>|<\|tool_response>"},
        },
    },
    "python": {
        "start_anchor": "<|im_start|>assistant\n",
        "fields": {
            "tool_calls": {
                "open": "<|tool_call_start|>", "close": "<|tool_call_end|>", "content": "python-call-list",
                "transform_each": True,
                "transform": {"type": "function", "function": {"name": "{name}", "arguments": "{arguments}"}},
            },
            "content": {"close": "<|im_end|>"},
        },
    },
    "lines": {
        "start_anchor": "Bot:",
        "fields": {
            "tool_calls": {
                "open_pattern": r"@call (?P<name>\w+)\n", "close_pattern": r"\n@end|\Z", "repeats": True,
                "content": "kv-lines", "content_args": {"kv_sep": "="}, "transform": NAMED,
            },
            "content": {"content_args": {"strip": False}},
        },
    },
    "literals": {
        "start_anchor": "A:",
        "fields": {
            "thinking": {"open": ["<a", "<abc"], "close": ["x", "xyz"]},
            "content": {"open": "<ab", "close_pattern": "y+"},
        },
    },
    "required": {
        "start_anchor": "A:",
        "fields": {
            "content": {"open": "<c>", "close": "</c>", "optional": False},
            "score": {"open": "<n>", "close": "</n>", "content": "int"},
        },
    },
    "end_of_text": {
        "start_anchor": "[BOT]",
        "fields": {
            "thinking": {"open": "[T]", "close": "[/T]", "repeats": True, "join": "|"},
            "tool_calls": {
                "open_pattern": r"\[CALL\](?P<name>\w+)\[ARGS\]", "close_pattern": r"(?:\[/CALL\]|\Z)",
                "repeats": True, "content": "json", "transform": NAMED,
            },
            "content": {"close": "</s>"},
        },
    },
    "close_group": {
        "start_anchor": "A:",
        "fields": {
            "tool_calls": {
                "open": "<args>", "close_pattern": r"</args:(?P<name>\w+)>", "repeats": True, "content": "json",
                "transform": NAMED,
            },
            "content": {},
        },
    },
}

TEMPLATES |= {
    "beginning": {
        "start_anchor": "Bot>",
        "fields": {
            "thinking": {"open_pattern": r"(?:^|<think>\s*)", "close": "</think>"},
            "content": {"open": "<say>\n", "close_pattern": r"\n?</say>"},
            "tool_calls": {
                "open": "<tool_call>", "close_pattern": r"</tool_call>\s*", "repeats": True, "content": "json",
                "transform": CALL,
            },
        },
    },
    "author": {
        "start_anchor": "<|part|>",
        "fields": {
            "thinking": {
                "open_pattern": r"(?:<\|part\|>)?[^<|]*<\|as_thought\|>", "close": "<|over|>",
                "repeats": True, "join": "", "content_args": {"strip": False},
            },
            "content": {
                "open_pattern": r"(?:<\|part\|>)?[^<|]*<\|as_answer\|>", "close": "<|over|>",
                "repeats": True, "join": "", "content_args": {"strip": False},
            },
            "tool_calls": {
                "open_pattern": r"(?:<\|part\|>)?[^<|]*<\|as_call\|>",
                "close": "<|over|>", "repeats": True, "content": "json",
                "transform": {
                    "type": "function", "function": {"name": "{content.name}", "arguments": "{content.args}"},
                },
            },
        },
    },
    "braces": {
        "start_anchor": "[bot]",
        "fields": {
            "tool_calls": {
                "open_pattern": r'\{"name":\s*"(?P<name>[^"]+)",\s*"args":\s*',
                "close_pattern": r"\}<\|done\|>\s*", "repeats": True, "content": "json", "transform": NAMED,
            },
            "content": {"close_pattern": r"<\|done\|>\s*|$"},
        },
    },
}

TOOLS = [
    {
        "type": "function",
        "function": {
            "name": "get",
            "parameters": {
                "type": "object",
                "properties": {
                    "i": {"type": "integer"},
                    "n": {"type": "number"},
                    "b": {"type": "boolean"},
                    "o": {"anyOf": [{"type": "object"}, {"type": "null"}]},
                    "a": {"type": "array"},
                    "s": {"type": "string"},
                },
            },
        },
    },
]

KEPT = "text outside of all fields is kept in a hidden message"
BROKEN = "the text is kept in a hidden message, and the call does not run"
LATER = "every region is a message; transformers keeps the last one"
PROMPT = "a prompt without the anchor is not read"

CASES = [
    ("think", "", "Hello!<|im_end|>"),
    ("think", "", "  Hello!\n\n"),
    ("think", "", "<think>\nHm.\n</think>\n\nHello!"),
    ("think", "<|im_start|>assistant\n<think>\n", "Hm.\n</think>\n\nHello!<|im_end|>"),
    ("think", "<|im_start|>assistant\nOld<|im_end|>\n<|im_start|>user\nQ<|im_end|>\n<|im_start|>assistant\n", "New"),
    ("think", "<|im_start|>assistant\nSure: ", "yes"),
    ("think", "no anchor ", "yes", PROMPT),
    ("think", "", '<tool_call>\n{"name": "get", "arguments": {"a": [1, 2.5, null], "é": "ü"}}\n</tool_call>'),
    ("think", "", '<think>x</think>A<tool_call>{"name": "f", "arguments": {}}</tool_call>\n<tool_call>{"name": "g", "arguments": {"b": true}}</tool_call>', LATER),
    ("think", "", "<think>a<tool_call>b</think>c"),
    ("think", "", "<think>never ends"),
    ("think", "", "a < b <thin"),
    ("think", "", "before<think>x</think>after", LATER),
    ("think", "", "one<|im_end|>two", LATER),
    ("think", "", "<think></think>"),
    ("think", "", ""),
    ("think", "", "<tool_call>{\"name\": </tool_call>", BROKEN),
    ("think", "", "</think>x</tool_call>"),
    ("harmony", "<|start|>user<|message|>Hi<|end|><|start|>assistant", "<|channel|>analysis<|message|>Hm.<|end|><|start|>assistant<|channel|>final<|message|>Hello!<|return|>"),
    ("harmony", "<|start|>assistant", "<|channel|>analysis<|message|>1<|end|><|start|>assistant<|channel|>analysis<|message|>2<|end|><|start|>assistant<|channel|>commentary to=functions.get <|constrain|>json<|message|>{\"s\":\"x\"}<|call|>"),
    ("harmony", "<|start|>assistant", "<|channel|>commentary to=functions.f<|message|>{}<|call|><|start|>assistant<|channel|>commentary to=functions.g code<|message|>{\"a\": {\"b\": []}}<|call|>"),
    ("harmony", "<|start|>assistant", "<|channel|>final <|constrain|>json<|message|>{\"a\": 1}<|return|>"),
    ("harmony", "<|start|>assistant", "stray<|channel|>final<|message|>x<|return|>", KEPT),
    ("harmony", "<|start|>assistant", "<|channel|>commentary to=functions.f<|message|>{\"a\"<|call|>", BROKEN),
    ("harmony", "<|start|>assistant<|channel|>final<|message|>", "x<|return|>"),
    ("glm", "<|assistant|>\n", "<think>x</think>\n<tool_call>get_weather\n<arg_key>city</arg_key>\n<arg_value>New York</arg_value>\n<arg_key>days</arg_key>\n<arg_value>3</arg_value>\n</tool_call>"),
    ("glm", "<|assistant|><think>", "y</think>Done.<|user|>"),
    ("glm", "", "<tool_call>a.b-c</tool_call><tool_call>f<arg_key>x</arg_key><arg_value>{\"y\": [1]}</arg_value></tool_call>"),
    ("glm", "", "Hi<|observation|>"),
    ("glm", "", "<tool_call>f<arg_key>x</arg_key><arg_value> 1 < 2 </arg_value><arg_key>x</arg_key><arg_value>2</arg_value></tool_call>"),
    ("parameters", "", "<tool_call>\n<function=get>\n<parameter=i>\n007\n</parameter>\n<parameter=n>\n1.50\n</parameter>\n<parameter=b>\nTrue\n</parameter>\n<parameter=s>\n12\n</parameter>\n</function>\n</tool_call>", None, TOOLS),
    ("parameters", "", "<tool_call><function=get><parameter=o>{\"a\": 1}</parameter><parameter=a>[1, \"x\"]</parameter><parameter=u>1</parameter></function></tool_call>", None, TOOLS),
    ("parameters", "", "<tool_call><function=get><parameter=o>null</parameter><parameter=a>{}</parameter><parameter=i>3.0</parameter><parameter=n>1e3</parameter></function></tool_call>", None, TOOLS),
    ("parameters", "", "<tool_call><function=get><parameter=i>x</parameter><parameter=n>inf</parameter><parameter=b>yes</parameter></function></tool_call>", None, TOOLS),
    ("parameters", "", "<tool_call><function=get><parameter=i>1</parameter><parameter=i>2</parameter><parameter=s>a</parameter></function></tool_call>", None, TOOLS),
    ("parameters", "", "Text.\n<tool_call><function=f><parameter=x>\n a\n\nb \n</parameter></function></tool_call>"),
    ("actions", "<|CHATBOT_TOKEN|>", "<|START_THINKING|>Plan.<|END_THINKING|><|START_ACTION|>[{\"tool_name\": \"a\", \"args\": {\"x\": 1}}, {\"tool_name\": \"b\", \"args\": {}}]<|END_ACTION|>"),
    ("actions", "<|CHATBOT_TOKEN|>", "<|START_RESPONSE|>Hello!<|END_RESPONSE|>"),
    ("actions", "<|CHATBOT_TOKEN|>", "<|START_ACTION|>{}<|END_ACTION|>", BROKEN),
    ("actions", "<|CHATBOT_TOKEN|>", "<|START_ACTION|>[{\"tool_name\": \"a\"}]<|END_ACTION|>", BROKEN),
    ("gemma", "<|turn>model\n", "<|channel>thought\nHm.<channel|>Hello!<turn|>"),
    ("gemma", "<|turn>model\n", "<|tool_call>call:get{city:<|\"|>Paris, \"F\" {x:1}<|\"|>,n:[1,{ok:true}]}<tool_call|><|tool_response>"),
    ("gemma", "<|turn>model\n", "<|tool_call>call:get{ city : <|\"|><|\"|> , \"a:b\":\"{c:1}\" }<tool_call|>"),
    ("python", "<|im_start|>assistant\n", "<|tool_call_start|>[get(city=\"Paris\", n=[1, -2.5], d={'a': None}), now()]<|tool_call_end|>Checking.<|im_end|>"),
    ("python", "", "<|tool_call_start|>[f(a='\\u00e9\\n', b=True)]<|tool_call_end|>"),
    ("python", "", "<|tool_call_start|>[f(1)]<|tool_call_end|>", BROKEN),
    ("python", "", "<|tool_call_start|>f(x=1)<|tool_call_end|>", BROKEN),
    ("lines", "Bot:", "@call get\ncity = Paris\nempty\n\nurl=a=b\n@end"),
    ("lines", "Bot:", " Hi \n"),
    ("lines", "Bot:", "@call f\na=1"),
    ("literals", "A:", "<abc1x"),
    ("literals", "A:", "<ab2yyy"),
    ("literals", "A:", "<a 3xyz"),
    ("literals", "A:", "<ab4y<a5xy"  , KEPT),
    ("required", "A:", "<c>x</c>"),
    ("required", "A:", "<n>1</n>", "a missing field is reported"),
    ("required", "A:", "<c>x</c><n>one</n>", "the text is kept in a hidden message"),
    ("end_of_text", "[BOT]", "[T]a[/T][T]b[/T]Hi</s>"),
    ("end_of_text", "[BOT]", "[CALL]f[ARGS]{\"x\": 1}[CALL]g[ARGS]{}", BROKEN),
    ("end_of_text", "[BOT]", "[CALL]f[ARGS]{\"x\": 1}[/CALL][CALL]g[ARGS]{}"),
    ("end_of_text", "[BOT]", "[T]a"),
    ("beginning", "", "<think>a</think>\n\n<tool_call>\n{\"name\": \"f\", \"arguments\": {}}\n</tool_call>\n</s>"),
    ("beginning", "Bot>", "a</think><say>\nHi\n</say>"),
    ("beginning", "Bot>", "a</think><think>\n b</think><say>\nHi", LATER),
    ("beginning", "", ""),
    ("author", "<|part|>", "<|as_thought|>Hm. <|over|><|part|><|as_thought|>So<|over|><|part|>bot<|as_answer|> Hi<|over|><|stop|>"),
    ("author", "<|part|>", "get<|as_call|>{\"name\": \"get\", \"args\": {\"s\": \"x\"}}<|over|>"),
    ("author", "<|part|>", "no message", KEPT),
    ("braces", "", "{\"name\": \"f\", \"args\": {\"a\": {\"b\": 1}}}<|done|>"),
    ("braces", "", "A {\"name\": 1}<|done|>"),
    ("braces", "", "A"),
    ("close_group", "A:", "x<args>{\"a\": 1}</args:f>"),
]


# Each field is a list of texts, so that every region is in the message.
REGIONS = {
    "start_anchor": "A:",
    "fields": {
        "thinking": {
            "open_pattern": r"<a\s*b?>|<aa", "close": ["</a", "</ab>", "x</a"], "repeats": True,
        },
        "reasoning": {
            "open": ["<a", "<ab>", "<b"], "close_pattern": r"</b+>|y\Z|c{2,3}", "repeats": True,
        },
        "reasoning_content": {"open_pattern": r"<c.*?>", "close_pattern": r"</c\s*>", "repeats": True},
        "content": {"close_pattern": r"<e+>", "repeats": True},
    },
}
WORDS = ["<a", "<a>", "<ab>", "<b", ">", "b", "a", "<aa", "</a", "</ab>", "x", "</b>", "</bb", "y", "c", "<c", "</c",
         " ", "\n", "<e", "<ee>", "<", "é"]


def random_cases():
    """Writes outputs made of the anchors of a template."""
    chance = random.Random(7)
    for _ in range(400):
        text = "".join(chance.choice(WORDS) for _ in range(chance.randrange(1, 16)))
        message = parse_response(text, REGIONS, prefix="")
        texts = {name: [it for it in message.get(name, []) if it] for name in REGIONS["fields"]}
        hidden = sum((texts[name] for name in texts if name != "content"), [])
        yield {"text": text, "content": texts["content"], "reasoning": sorted(hidden)}


def main():
    cases = []
    for name, prompt, text, *rest in CASES:
        differs, tools = (list(rest) + [None, None])[:2]
        case = {"template": name, "prompt": prompt, "text": text}
        if tools:
            case["tools"] = tools
        try:
            case["message"] = parse_response(text, TEMPLATES[name], prefix=prompt, tools=tools)
        except (ValueError, KeyError):
            case["error"] = True
        if differs:
            case["differs"] = differs
        cases.append(case)
    recorded = {"transformers": transformers.__version__, "templates": TEMPLATES, "regions": REGIONS}
    print(json.dumps(recorded, ensure_ascii=False)[:-1] + ', "cases": [')
    print(",\n".join(json.dumps(case, ensure_ascii=False) for case in cases) + '], "random": [')
    print(",\n".join(json.dumps(case, ensure_ascii=False) for case in random_cases()) + "]}")


main()

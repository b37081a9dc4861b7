"""Renders conversations by the chat template of Apertus in jinja2, and says how long that takes.

    python3 apertus.py TEMPLATE

Says what it is made of, then answers requests, one a line: `load FILE` reads messages JSON line by
line, `render JOB` gives the texts, `time JOB` does it once and gives the nanoseconds of the processor.
"""

import hashlib
import json
import platform
import sys
import time

import jinja2
import jinja2.sandbox


def tojson(value, ensure_ascii=False, indent=None, separators=None, sort_keys=False):
    return json.dumps(value, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)


def given(line):
    """What the template is given."""
    whole = json.loads(line)
    whole["tools"] = [tool["function"] for tool in whole.get("tools", [])]
    return whole


def say(answer):
    print(json.dumps(answer), flush=True)


def main(path):
    source = open(path, encoding="utf-8").read()
    # As the reference formatter runs it, and as `transformers` does.
    plain = jinja2.Template(source)
    sandbox = jinja2.sandbox.ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True)
    sandbox.filters["tojson"] = tojson
    sandboxed = sandbox.from_string(source)
    lines, parsed = [], []
    jobs = {
        "plain": lambda: [plain.render(bos_token="<s>", **it) for it in parsed],
        "json": lambda: [plain.render(bos_token="<s>", **given(line)) for line in lines],
        "sandboxed": lambda: [sandboxed.render(bos_token="<s>", **it) for it in parsed],
    }
    digest = hashlib.sha256(source.encode()).hexdigest()
    say({"python": platform.python_version(), "jinja2": jinja2.__version__, "template": digest})
    for request in sys.stdin:
        command, argument = request.rstrip("\n").split(" ", 1)
        if command == "load":
            lines = open(argument, encoding="utf-8").read().split("\n")
            parsed = [given(line) for line in lines]
            say(len(parsed))
        elif command == "render":
            say(jobs[argument]())
        else:
            before = time.process_time_ns()
            jobs[argument]()
            say(time.process_time_ns() - before)


if __name__ == "__main__":
    main(sys.argv[1])

#!/usr/bin/env python3
"""Runs `ocml run` many times against a server, and says how it went.

    runs.py OCML URL COUNT                  sessions: the model says what it likes
    runs.py OCML URL COUNT --grammar LANG   a call is required, and completions are held to a grammar

Each run has a transcript of its own, one tool, and another seed. What must hold: no panic; each call is
made once, and none that is uncertain. A second run accepts every transcript. Each prompt begins with the
ids of the prompt before it and, if nothing was found in the completion, in 90 of 100 with those of the
completion: what is told the user at its end, before there is a call or an answer, is not kept. With a
grammar, 99 of 100 required calls are well-formed. Otherwise the status is 1. Standard library
only.
"""

import argparse
import collections
import concurrent.futures
import json
import os
import re
import subprocess
import sys
import tempfile

TOOLS = """[tools.weather]
command = "echo"
args = ['{"celsius": 20, "sky": "clear"}']
description = "The weather of a city."
parameters = { type = "object", properties = { city = { type = "string" } }, required = ["city"] }
"""
CHAT = '[{"role":"user","content":"What is the weather in Tokyo?"}]'
# All that the model may say, not only what is likely. Servers do not all know `top_k` -1.
SAMPLING = {"temperature": 1, "top_p": 1, "min_p": 0, "max_tokens": 400}
# So many of 100 required calls are well-formed.
WELL_FORMED = 99
# So many of 100 completions in which nothing was found are sent again as they were.
WHOLE = 90

parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
parser.add_argument("ocml")
parser.add_argument("url")
parser.add_argument("count", type=int)
parser.add_argument("--grammar")
parser.add_argument("--first", type=int, default=1, help="the first seed")
parser.add_argument("--steps", default="6")
parser.add_argument("--sampling", type=json.loads, default={})
options = parser.parse_args()


def run(folder, chat, seed, steps):
    held = ["--grammar", options.grammar, "--choice", "required"] if options.grammar else []
    sampling = json.dumps(SAMPLING | options.sampling | {"seed": seed})
    return subprocess.run(
        [options.ocml, "run", "--tools", os.path.join(folder, "tools.toml"), "--upstream", options.url,
         "-t", "harmony", "--ids", "--model", "tiny", "--sampling", sampling, "--max-steps", steps,
         "--json", "--in-place", *held, chat],
        capture_output=True, text=True, errors="replace")


def one(folder, seed):
    """One run: what is counted, and what is wrong."""
    counts, wrong = collections.Counter(), []
    chat = os.path.join(folder, f"{seed}.json")
    with open(chat, "w") as file:
        file.write(CHAT)
    done = run(folder, chat, seed, "1" if options.grammar else options.steps)
    counts["status", done.returncode] += 1
    if done.returncode not in (0, 1) or "panicked" in done.stderr:
        wrong.append(f"status {done.returncode}: {done.stderr.strip()[-300:]}")
    for line in done.stderr.splitlines():
        if line.startswith("error"):
            counts["error", re.sub(r"\d+", "N", line)[:100]] += 1
    started, made, uncertain, before, begins = set(), 0, set(), 0, True
    said, found = 0, False
    for line in done.stdout.splitlines():
        event = json.loads(line)
        kind = event["type"]
        if kind == "diagnostic":
            counts["finding", event["code"]] += 1
            found = found or event["code"] != "W-RETURN"
        elif kind == "message.done" and event.get("message", {}).get("recovered"):
            uncertain.add(event["message"].get("call_id"))
        elif kind == "tool.start":
            if event["call_id"] in started:
                wrong.append(f"{event['call_id']} was made twice")
            started.add(event["call_id"])
        elif kind == "tool.done":
            counts["call", event.get("code", "made")] += 1
            made += "code" not in event
        elif kind == "run.prompt":
            counts["prompt", "ids"] += event["ids"]
            counts["prompt", "shared"] += event["shared"]
            begins = begins and event["shared"] >= before
            # The last token may end a completion otherwise than it ends a message. What is uncertain
            # is not kept as it was said.
            if said and not found:
                counts["completions sent again whole", event["shared"] >= before + said - 1] += 1
            before, said, found = event["ids"], 0, False
        elif kind == "run.usage":
            said = event.get("completion_tokens", 0)
    counts["prompts begin with those before", begins] += 1
    if uncertain & started:
        wrong.append("a call that is uncertain was made")
    if options.grammar:
        counts["well-formed", made == 1 and done.returncode == 1] += 1
    again = run(folder, chat, seed, "1")
    counts["accepted again", again.returncode in (0, 1)] += 1
    if again.returncode not in (0, 1):
        wrong.append(f"not accepted by a second run: {again.stderr.strip()[-300:]}")
    os.remove(chat)
    return counts, [f"seed {seed}: {what}" for what in wrong]


total, faults = collections.Counter(), []
with tempfile.TemporaryDirectory() as folder:
    with open(os.path.join(folder, "tools.toml"), "w") as file:
        file.write(TOOLS)
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        seeds = range(options.first, options.first + options.count)
        for counts, wrong in pool.map(lambda seed: one(folder, seed), seeds):
            total.update(counts)
            faults += wrong
print(f"== {options.count} runs{f' with a grammar ({options.grammar})' if options.grammar else ''}")
for name in dict.fromkeys(key[0] for key in total):
    of_kind = [(key[1], times) for key, times in total.most_common() if key[0] == name]
    print(f"{name}:", ", ".join(f"{what}: {times}" for what, times in of_kind))
if total["prompts begin with those before", False]:
    faults.append("prompts do not begin with those before them")
again, changed = (total["completions sent again whole", it] for it in (True, False))
if again * 100 < (again + changed) * WHOLE:
    faults.append(f"{changed} of {again + changed} completions are changed when they are sent again")
if options.grammar and total["well-formed", True] * 100 < options.count * WELL_FORMED:
    faults.append(f"{total['well-formed', True]} of {options.count} required calls are well-formed")
for fault in faults[:10]:
    print(fault, file=sys.stderr)
if len(faults) > 10:
    print(f"and {len(faults) - 10} more", file=sys.stderr)
sys.exit(1 if faults else 0)

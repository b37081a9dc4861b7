"""Checks grammars with the engines that read them.

    check.py xgrammar CASES        structural tags, with the package xgrammar
    check.py llama.cpp CASES LIB   GBNF, with the shared library of llama.cpp

CASES is what `cargo run -p openchatml-grammars --example cases` writes.
"""

import json
import pathlib
import sys


class Xgrammar:
    """Reads structural tags."""

    def __init__(self, _library):
        self.xgrammar = import_xgrammar()

    def matcher(self, case):
        x = self.xgrammar
        tokens = [token.encode() for token in case["tokens"]]
        vocabulary = [bytes([byte]) for byte in range(256)] + tokens + [b"<|eos|>"]
        stops = [256 + case["tokens"].index(stop) for stop in case["stops"]]
        # The first is the one that ends a text.
        stops = stops or [len(vocabulary) - 1]
        info = x.TokenizerInfo(vocabulary, vocab_type=x.VocabType.RAW, stop_token_ids=stops)
        grammar = x.GrammarCompiler(info).compile_structural_tag(case["grammar"])
        return grammar

    def accepts(self, grammar, ids, stops):
        matcher = self.xgrammar.GrammarMatcher(grammar)
        for place, token in enumerate(ids):
            if not matcher.accept_token(token):
                return place
            if token in stops:
                return place + 1
        return len(ids) if matcher.is_completed() else len(ids) - 0.5


def import_xgrammar():
    """The package without torch, which it asks for and which matching does not need."""
    try:
        import torch  # noqa: F401
    except ImportError:
        import types

        import tvm_ffi  # noqa: F401  # It looks for torch, too: before there is one.

        class Nothing:
            def __init__(self, *args, **keys):
                pass

            @staticmethod
            def is_available():
                return False

        torch = types.ModuleType("torch")
        for name in ["Tensor", "LongTensor", "FloatTensor", "dtype", "device", "tensor", "full"]:
            setattr(torch, name, Nothing)
        torch.int32, torch.cuda = "int32", Nothing
        transformers = types.ModuleType("transformers")
        for name in ["PreTrainedTokenizerBase", "PreTrainedTokenizerFast", "LogitsProcessor"]:
            setattr(transformers, name, Nothing)
        sys.modules.update(torch=torch, transformers=transformers)
    import xgrammar

    return xgrammar


class LlamaCpp:
    """Reads GBNF."""

    def __init__(self, library):
        import llama

        self.llama = llama.Llama(library)
        self.vocabularies = {}

    def matcher(self, case):
        key = tuple(case["tokens"] + case["stops"])
        if key not in self.vocabularies:
            self.vocabularies[key] = self.llama.vocabulary(case["tokens"], case["stops"])
        grammar = self.llama.grammar(self.vocabularies[key], case["grammar"])
        return grammar, 256 + len(case["tokens"])

    def accepts(self, grammar, ids, stops):
        grammar, end = grammar
        return self.llama.accepts(grammar, ids, stops, end)


def text(ids, tokens):
    words = [bytes([id]) if id < 256 else f"⟦{tokens[id - 256]}⟧".encode() for id in ids]
    return b"".join(words).decode(errors="replace")


def main(engine, cases, library=None):
    engine = {"xgrammar": Xgrammar, "llama.cpp": LlamaCpp}[engine](library)
    accepted = refused = 0
    wrong = []
    for line in pathlib.Path(cases).read_text().splitlines():
        case = json.loads(line)
        stops = {256 + case["tokens"].index(stop) for stop in case["stops"]}
        grammar = engine.matcher(case)
        show = lambda ids: text(ids, case["tokens"])  # noqa: E731
        for ids in case["good"]:
            count = engine.accepts(grammar, ids, stops)
            accepted += 1
            if count != len(ids):
                at = int(count)
                wrong.append((case, f"refused:\n{show(ids[:at])}\n--- at\n{show(ids[at:])}"))
        for bad in case["bad"]:
            refused += 1
            if engine.accepts(grammar, bad["ids"], stops) == len(bad["ids"]):
                wrong.append((case, f"{bad['what']}, accepted:\n{show(bad['ids'])}"))
    for case, what in wrong[:3]:
        print(f"{case['format']}: {what}\n{case['grammar']}\n", file=sys.stderr)
    print(f"{accepted} accepted, {refused} refused, {len(wrong)} wrong")
    return 1 if wrong or not accepted else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))

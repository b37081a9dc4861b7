"""Makes small encodings, and records the ids that the libraries they are files of give.

    pip install tokenizers==0.23.3 tiktoken==0.14.0
    python record.py                     # writes the files beside it
    python record.py 20000 1 > more.jsonl     # ids of so many texts, of another seed, of the same files

Each line of `ids.jsonl` has a text and its ids in one of the encodings: `file`, with `patch` put
into its JSON (RFC 7386). Nothing in the files is looked for in text but what is recorded so: added
tokens that are not white space are taken out before, and what is put before text, too.
"""

import json
import pathlib
import random
import sys

import tiktoken
from tokenizers import Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers

HERE = pathlib.Path(__file__).parent
PATTERN = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*"
    r"|\s*[\r\n]+|\s+(?!\S)|\s+"
)
RANKS_PATTERN = r"""'(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"""

WORDS = """the of and to in is that for it was on are as with his they at be this from have or by one
had not but what all were when we there can an your which their said if do will each about how up out
them then she many some so these would other into has more her two like him see time could no make than
return self import class None True lambda async await struct user assistant system developer final
analysis message content role channel name call functions json start end don't I'm you're it's""".split()
OTHERS = ["日本語", "中文", "한국어", "Привет", "Ελλάδα", "עברית", "हिन्दी", "ไทย", "é", "e\u0301", "ﬁne", "😀", "👩‍👩‍👧", "\u200d",
    "\ufeff", "\u0000", "12", "1234567", "٣٤٥", "½", "▁", "▁▁", "Ġ", "Ċ", "\u00ad", "\u00a0", "\x7f", "ÿ", "ı", "İ", "Å", "\U0010ffff"]
SIGNS = list("!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~") + ["...", "->", "//", "¿", "—", "€"]
SPACES = [" ", "  ", "   ", "    ", "\n", "\n\n", "\r\n", "\t", "\u3000", " \n", "\n ", "        "]
CONTROLS = ["<|start|>", "<|message|>", "<|end|>", "<|channel|>", "<|call|>", "<|return|>", "<|constrain|>",
    "<|im_start|>", "<|im_end|>", "<|endoftext|>"]
SPELLED = CONTROLS + ["<s>", "</s>", "<unk>", "<tool_call>", "<0x41>", "<0x0A>", "<|end", "end|>"]
BLANKS = ["  ", "    ", "\n\n\n"]


def text(rand: random.Random) -> str:
    pools = [WORDS, SPACES, SIGNS, OTHERS, SPELLED]
    weights = rand.choice([[8, 6, 1, 1, 1], [3, 2, 3, 1, 0], [1, 1, 1, 4, 0], [1, 4, 1, 0, 1], [1, 1, 1, 1, 6]])
    parts = []
    for _ in range(rand.randint(1, 30)):
        part = rand.choice(rand.choices(pools, weights)[0])
        kind = rand.random()
        if kind < 0.05:
            part = part.upper()
        elif kind < 0.15:
            part = part.capitalize()
        elif kind < 0.18:
            part = part * rand.randint(2, 20)
        elif kind < 0.2:
            part = chr(rand.choice([rand.randint(0, 0x2FF), rand.randint(0x300, 0xD7FF), rand.randint(0xE000, 0x10FFFF)]))
        parts.append(part)
    return "".join(parts)


def corpus() -> list[str]:
    rand = random.Random(7)
    return [" ".join(rand.choices(WORDS, k=12)) + rand.choice([".", "?", "!\n", " 42"]) for _ in range(3000)]


def save(name: str, tokenizer: Tokenizer, special: list[str], plain: list[str], **model) -> None:
    file = json.loads(tokenizer.to_str())
    file["model"].update(model)
    first = len(file["model"]["vocab"])
    known = {added["content"] for added in file["added_tokens"]}
    for content in special + plain:
        if content not in known:
            file["added_tokens"].append(dict(id=first, content=content, single_word=False, lstrip=False,
                rstrip=False, normalized=False, special=content in special))
            first += 1
    lines = json.dumps(file, ensure_ascii=True, separators=(",", ":"))
    (HERE / f"{name}.json").write_text(lines + "\n")


def byte_level() -> None:
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([
        pre_tokenizers.Split(Regex(PATTERN), behavior="isolated"),
        pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
    ])
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(vocab_size=500, initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()))
    tokenizer.train_from_iterator(corpus(), trainer)
    save("byte_level", tokenizer, CONTROLS, ["<tool_call>", *BLANKS])


def sentencepiece() -> None:
    tokenizer = Tokenizer(models.BPE(byte_fallback=True, fuse_unk=True, unk_token="<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    special = ["<unk>", "<s>", "</s>", *(f"<0x{byte:02X}>" for byte in range(256))]
    trainer = trainers.BpeTrainer(vocab_size=560, special_tokens=special)
    tokenizer.train_from_iterator(corpus(), trainer)
    tokenizer.pre_tokenizer = None
    tokenizer.normalizer = normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])
    tokenizer.decoder = decoders.Sequence([decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", 1, 0)])
    save("sentencepiece", tokenizer, [], [])
    # Files of this kind list three of them, and not the bytes.
    file = json.loads((HERE / "sentencepiece.json").read_text())
    file["added_tokens"] = file["added_tokens"][:3]
    first = len(file["model"]["vocab"])
    for at, content in enumerate(["<|im_start|>", "<|im_end|>"]):
        file["added_tokens"].append({**file["added_tokens"][0], "id": first + at, "content": content})
    (HERE / "sentencepiece.json").write_text(json.dumps(file, ensure_ascii=True, separators=(",", ":")) + "\n")


def unigram() -> None:
    tokenizer = Tokenizer(models.Unigram())
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    tokenizer.train_from_iterator(corpus(), trainers.UnigramTrainer(vocab_size=150, unk_token="<unk>", special_tokens=["<unk>", "<s>", "</s>"]))
    pieces = json.loads(tokenizer.to_str())["model"]["vocab"]
    pieces = pieces[:3] + [[f"<0x{byte:02X}>", 0.0] for byte in range(256)] + pieces[3:]
    tokenizer.decoder = decoders.Sequence([decoders.ByteFallback(), decoders.Metaspace()])
    save("unigram", tokenizer, [], [], vocab=pieces, byte_fallback=True)


def ranks() -> None:
    """The ranks of the byte-level encoding."""
    letters = {letter: byte for byte, letter in zip(range(256), byte_letters())}
    vocab = json.loads((HERE / "byte_level.json").read_text())["model"]["vocab"]
    import base64
    lines = [f"{base64.b64encode(bytes(letters[c] for c in token)).decode()} {rank}\n"
        for token, rank in sorted(vocab.items(), key=lambda item: item[1])]
    (HERE / "ranks.tiktoken").write_text("".join(lines))


def byte_letters() -> list[str]:
    shown = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = iter(range(0x100, 0x200))
    return [chr(byte if byte in shown else next(others)) for byte in range(256)]


def patched(value, patch):
    if not isinstance(patch, dict):
        return patch
    value = dict(value) if isinstance(value, dict) else {}
    for key, part in patch.items():
        value[key] = patched(value.get(key), part)
        if part is None:
            del value[key]
    return value


NEVER = {"pre_tokenizer": {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "never", "split": True}}
REPLACE = {"type": "Replace", "pattern": {"String": " "}, "content": "▁"}
LEVEL = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}


def split(pattern: str, behavior: str, invert: bool) -> dict:
    return {"type": "Split", "pattern": {"Regex": pattern}, "behavior": behavior, "invert": invert}


def sequence(*steps: dict) -> dict:
    return {"type": "Sequence", "pretokenizers": list(steps)}


REST = {**LEVEL, "use_regex": False}
# An encoding, what of it is changed, and what of that the library is not given.
VARIANTS = [
    ("byte_level", {}, {}),
    ("byte_level", {"model": {"ignore_merges": True}}, {}),
    ("byte_level", {"pre_tokenizer": LEVEL}, {}),
    ("byte_level", {"pre_tokenizer": {**LEVEL, "add_prefix_space": True}}, {"pre_tokenizer": LEVEL}),
    ("byte_level", {"pre_tokenizer": REST}, {}),
    ("byte_level", {"normalizer": {"type": "NFC"}}, {}),
    ("byte_level", {"normalizer": {"type": "Sequence", "normalizers": [{"type": "NFKC"}, {"type": "Lowercase"}]}}, {}),
    ("byte_level", {"pre_tokenizer": sequence(split(PATTERN, "Removed", True), REST)}, {}),
    ("byte_level", {"pre_tokenizer": sequence({"type": "Digits", "individual_digits": True}, LEVEL)}, {}),
    ("byte_level", {"pre_tokenizer": sequence({"type": "Punctuation", "behavior": "Contiguous"}, REST)}, {}),
    ("byte_level", {"pre_tokenizer": sequence(split(r"\p{N}{1,3}", "Isolated", False), split(r"[一-龥぀-ゟ゠-ヿ]+", "Isolated", False), REST)}, {}),
    ("sentencepiece", {}, {"normalizer": REPLACE}),
    ("sentencepiece", {"normalizer": None, "pre_tokenizer": NEVER["pre_tokenizer"]}, {}),
    ("unigram", {}, NEVER),
    ("unigram", {"normalizer": REPLACE, "pre_tokenizer": None}, {}),
    ("ranks", {}, {}),
]


def reference(name: str, patch: dict):
    """The encoder of a library for ordinary text."""
    if name == "ranks":
        lines = (line.split() for line in (HERE / "ranks.tiktoken").read_text().splitlines())
        import base64
        table = {base64.b64decode(token): int(rank) for token, rank in lines}
        return tiktoken.Encoding(name, pat_str=RANKS_PATTERN, mergeable_ranks=table, special_tokens={}).encode_ordinary
    file = patched(json.loads((HERE / f"{name}.json").read_text()), patch)
    file["added_tokens"] = [added for added in file["added_tokens"] if added["content"] in BLANKS]
    # The library gives them other ids if those before them are gone.
    ids = {at: added["id"] for at, added in zip(range(len(file["model"]["vocab"]), 1 << 20), file["added_tokens"])}
    tokenizer = Tokenizer.from_str(json.dumps({**file, "added_tokens": [{**added, "id": at} for at, added in zip(ids, file["added_tokens"])]}))
    return lambda text: [ids.get(id, id) for id in tokenizer.encode(text, add_special_tokens=False).ids]


def record(count: int, seed: int, out) -> None:
    rand = random.Random(seed)
    fixed = [c * n for c in ["a", " ", "\n", "0", "!", "中", "the "] for n in [1, 3, 65]]
    for name, patch, hidden in VARIANTS:
        encode = reference(name, patched(patch, hidden))
        for one in fixed + [text(rand) for _ in range(count)]:
            if name == "unigram" and spells(one):
                continue
            line = {"file": name, "patch": patch, "text": one, "ids": encode(one)}
            print(json.dumps(line, ensure_ascii=True, separators=(",", ":")), file=out)


def spells(text: str) -> bool:
    """Whether the library would find a control token or a byte in text: here it is not found."""
    return any(spelling in text for spelling in ["<unk>", "<s>", "</s>", "<0x"])


def main() -> None:
    if len(sys.argv) > 1:
        return record(int(sys.argv[1]), int(sys.argv[2]), sys.stdout)
    byte_level()
    sentencepiece()
    unigram()
    ranks()
    with open(HERE / "ids.jsonl", "w") as out:
        record(50, 1, out)


if __name__ == "__main__":
    main()

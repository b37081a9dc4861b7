"""Records the ids that a reference encoder gives for random texts, for `reference.rs`.

    pip install oss-harmony==0.0.11
    python record_ids.py > ids.jsonl
    python record_ids.py 100000 1 > more.jsonl     # so many texts, of another seed
"""

import json
import random
import sys

from openai_harmony import load_harmony_encoding

WORDS = """the of and to in is that for it was on are as with his they at be this from have or by one
had not but what all were when we there can an your which their said if do will each about how up out
them then she many some so these would other into has more her two like him see time could no make than
def return self import class None True lambda async await fn let mut pub struct impl match use mod
HTTPServer camelCaseName snake_case_name kebab-case-name XMLHttpRequest iPhone McDonald's
don't I'm you're we've he'd she'll it's IT'S Don'T I'Ve ſ 'ſ 'ſt K's""".split()
SPACES = [" ", "  ", "   ", "\n", "\n\n", "\r\n", "\t", "\u00a0", "\u0085", "\u2028", "\u3000", " \n", "\n ", "        "]
SIGNS = list("!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~") + ["...", "---", "//", "/*", "*/", "->", "=>", "<|end|>", "<|start|>", "¿", "«", "—", "…", "€", "°"]
OTHERS = [
    "日本語", "中文字符", "한국어", "ひらがな", "カタカナ", "Привет", "Ελληνικά", "עברית", "العربية", "हिन्दी", "ไทย",
    "ǅungla", "ǈ", "İstanbul", "straße", "ﬁne", "é", "e\u0301", "\u0301", "a\u0308\u0323", "ʰ", "ª", "𝔘𝔫𝔦", "𐐀𐐨",
    "😀", "👩‍👩‍👧‍👦", "🏳️‍🌈", "👍🏽", "🇨🇭", "\u200d", "\ufe0f", "\u200b", "\ufeff", "\u0000", "\u001b[31m",
    "１２３", "٣٤٥", "½", "Ⅷ", "²", "12", "1234567", "3.14159", "0x1F", "1,000,000",
]


def text(rand: random.Random) -> str:
    pools = [WORDS, SPACES, SIGNS, OTHERS]
    weights = rand.choice([[6, 6, 1, 1], [3, 2, 3, 1], [1, 1, 1, 4], [1, 4, 1, 0], [1, 0, 4, 1]])
    parts = []
    for _ in range(rand.randint(1, 40)):
        part = rand.choice(rand.choices(pools, weights)[0])
        kind = rand.random()
        if kind < 0.1:
            part = part.upper()
        elif kind < 0.2:
            part = part.capitalize()
        elif kind < 0.23:
            part = part * rand.randint(2, 30)
        elif kind < 0.26:
            part = chr(rand.choice([rand.randint(0, 0x2FF), rand.randint(0x300, 0xD7FF), rand.randint(0xE000, 0x1FFFF)]))
        parts.append(part)
    return "".join(parts)


def main() -> None:
    encoding = load_harmony_encoding("HarmonyGptOss")
    count, seed = (int(argument) for argument in [*sys.argv[1:], "1200", "200000"][:2])
    rand = random.Random(seed)
    texts = [c * n for c in ["a", " ", "\n", "0", "!", "中", "A", "\t", "ab"] for n in [1, 2, 3, 7, 64, 65, 300, 1000]]
    texts += [text(rand) for _ in range(count)]
    for one in texts:
        ids = encoding.encode(one, disallowed_special=())
        print(json.dumps({"text": one, "ids": ids}, ensure_ascii=True, separators=(",", ":")))


if __name__ == "__main__":
    main()

"""As much of the C interface of llama.cpp as it takes to ask a grammar what it accepts.

A model is a vocabulary alone: a file in the format GGUF with an id for each byte and each token.
"""

import contextlib
import ctypes
import os
import struct
import tempfile


class Params(ctypes.Structure):
    """`llama_model_params`: as many bytes as any version has."""

    _fields_ = [("raw", ctypes.c_uint8 * 256)]


class Candidate(ctypes.Structure):
    _fields_ = [("id", ctypes.c_int32), ("logit", ctypes.c_float), ("p", ctypes.c_float)]


class Candidates(ctypes.Structure):
    _fields_ = [
        ("data", ctypes.POINTER(Candidate)),
        ("size", ctypes.c_size_t),
        ("selected", ctypes.c_int64),
        ("sorted", ctypes.c_bool),
    ]


# Where `vocab_only` is in `llama_model_params`, by what follows it in the defaults of a version.
VOCAB_ONLY = 72

LOG = ctypes.CFUNCTYPE(None, ctypes.c_int, ctypes.c_char_p, ctypes.c_void_p)


class Llama:
    def __init__(self, path):
        lib = self.lib = ctypes.CDLL(path)
        pointer = ctypes.c_void_p
        for name, result, arguments in [
            ("llama_backend_init", None, []),
            ("llama_log_set", None, [LOG, pointer]),
            ("llama_model_default_params", Params, []),
            ("llama_model_load_from_file", pointer, [ctypes.c_char_p, Params]),
            ("llama_model_get_vocab", pointer, [pointer]),
            ("llama_vocab_n_tokens", ctypes.c_int32, [pointer]),
            ("llama_sampler_init_grammar", pointer, [pointer, ctypes.c_char_p, ctypes.c_char_p]),
            ("llama_sampler_clone", pointer, [pointer]),
            ("llama_sampler_apply", None, [pointer, ctypes.POINTER(Candidates)]),
            ("llama_sampler_accept", None, [pointer, ctypes.c_int32]),
            ("llama_sampler_free", None, [pointer]),
        ]:
            function = getattr(lib, name)
            function.restype, function.argtypes = result, arguments
        self.errors = []
        self.log = LOG(lambda level, text, data: self.errors.append(text))
        lib.llama_log_set(self.log, None)
        lib.llama_backend_init()

    def vocabulary(self, tokens, stops):
        params = self.lib.llama_model_default_params()
        params.raw[VOCAB_ONLY] = 1
        with tempfile.NamedTemporaryFile(suffix=".gguf", delete=False) as file:
            file.write(gguf(tokens, stops))
        model = self.lib.llama_model_load_from_file(file.name.encode(), params)
        os.unlink(file.name)
        assert model, b"".join(self.errors[-9:]).decode()
        vocabulary = self.lib.llama_model_get_vocab(model)
        assert self.lib.llama_vocab_n_tokens(vocabulary) == 257 + len(tokens)
        return vocabulary

    def grammar(self, vocabulary, text):
        with quiet() as said:
            grammar = self.lib.llama_sampler_init_grammar(vocabulary, text.encode(), b"root")
        if not grammar:
            raise ValueError(said()[-300:] + text)
        return grammar

    def accepts(self, grammar, ids, stops, end):
        """How many ids are accepted; a text that may not end where it does lacks a half. `end` ends any text."""
        sampler = self.lib.llama_sampler_clone(grammar)
        try:
            for place, token in enumerate(ids):
                if not self.allows(sampler, token):
                    return place
                if token in stops:
                    return place + 1
                self.lib.llama_sampler_accept(sampler, token)
            return len(ids) if self.allows(sampler, end) else len(ids) - 0.5
        finally:
            self.lib.llama_sampler_free(sampler)

    def allows(self, sampler, token):
        one = (Candidate * 1)(Candidate(token, 1.0, 0.0))
        candidates = Candidates(one, 1, -1, False)
        self.lib.llama_sampler_apply(sampler, ctypes.byref(candidates))
        return one[0].logit > 0.0


def gguf(tokens, stops):
    """A vocabulary: an id for each byte, then `tokens`, and one that ends a text."""
    words = [letter(byte) for byte in range(256)] + tokens + ["<|eos|>"]
    normal, control = 1, 3
    kinds = [normal] * 256 + [control] * (len(tokens) + 1)
    eot = 256 + tokens.index(stops[0]) if stops else len(words) - 1
    keys = [
        string("general.architecture", "llama"),
        *(number(f"llama.{key}", 8) for key in [
            "context_length", "embedding_length", "block_count", "feed_forward_length",
            "attention.head_count", "rope.dimension_count",
        ]),
        real("llama.attention.layer_norm_rms_epsilon", 1e-5),
        string("tokenizer.ggml.model", "gpt2"),
        string("tokenizer.ggml.pre", "gpt-2"),
        array("tokenizer.ggml.tokens", STRING, [text(word) for word in words]),
        array("tokenizer.ggml.token_type", INT32, [struct.pack("<i", kind) for kind in kinds]),
        array("tokenizer.ggml.merges", STRING, []),
        number("tokenizer.ggml.eos_token_id", len(words) - 1),
        number("tokenizer.ggml.eot_token_id", eot),
        number("tokenizer.ggml.bos_token_id", len(words) - 1),
    ]
    head = b"GGUF" + struct.pack("<IQQ", 3, 0, len(keys))
    return head + b"".join(keys)


UINT32, INT32, FLOAT32, STRING, ARRAY = 4, 5, 6, 8, 9


def text(value):
    value = value.encode()
    return struct.pack("<Q", len(value)) + value


def entry(key, kind, value):
    return text(key) + struct.pack("<I", kind) + value


def string(key, value):
    return entry(key, STRING, text(value))


def number(key, value):
    return entry(key, UINT32, struct.pack("<I", value))


def real(key, value):
    return entry(key, FLOAT32, struct.pack("<f", value))


def array(key, kind, values):
    head = struct.pack("<IQ", kind, len(values))
    return entry(key, ARRAY, head + b"".join(values))


def letter(byte):
    """The character that stands for a byte in vocabularies of this kind: itself where it shows."""
    shows = [*range(33, 127), *range(161, 173), *range(174, 256)]
    hidden = [one for one in range(256) if one not in shows]
    return chr(byte if byte in shows else 256 + hidden.index(byte))


@contextlib.contextmanager
def quiet():
    """What the library writes to standard error, which it does when it refuses a grammar."""
    with tempfile.TemporaryFile() as file:
        kept = os.dup(2)
        os.dup2(file.fileno(), 2)
        said = []
        try:
            yield lambda: "".join(said)
        finally:
            os.dup2(kept, 2)
            os.close(kept)
            file.seek(0)
            said.append(file.read().decode(errors="replace"))

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
        assert grammar, said() + text
        return grammar

    def accepts(self, grammar, ids, stops):
        """How many ids are accepted; a text that may not end where it does lacks a half."""
        sampler = self.lib.llama_sampler_clone(grammar)
        try:
            for place, token in enumerate(ids):
                if not self.allows(sampler, token):
                    return place
                if token in stops:
                    return place + 1
                self.lib.llama_sampler_accept(sampler, token)
            return len(ids) if self.allows(sampler, self.eos) else len(ids) - 0.5
        finally:
            self.lib.llama_sampler_free(sampler)

    def allows(self, sampler, token):
        one = (Candidate * 1)(Candidate(token, 1.0, 0.0))
        candidates = Candidates(one, 1, -1, False)
        self.lib.llama_sampler_apply(sampler, ctypes.byref(candidates))
        return one[0].logit > 0.0

    eos = 256


def gguf(tokens, stops):
    """A vocabulary of bytes, a token that ends a text, and `tokens`."""
    raise NotImplementedError


@contextlib.contextmanager
def quiet():
    yield lambda: ""

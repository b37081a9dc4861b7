"""What works without NumPy. Run it where NumPy is not installed."""

from __future__ import annotations

import openchatml

tokenizer = openchatml.Tokenizer("harmony")
chat = openchatml.Conversation([openchatml.Message.user("Hi!"), openchatml.Message.answer("Hello.")])
sample = tokenizer.sample(chat)
assert len(sample.tolist()) == len(sample.mask_list() or []) == len(sample)
assert tokenizer.parse(sample.tolist()).conversation[-1].text == "Hello."
assert sample.span_list()[-1].end
assert openchatml.Stream(tokenizer).feed(sample.tolist())
for name in ("ids", "mask", "weights", "spans"):
    try:
        getattr(sample, name)
    except ImportError as error:
        assert "openchatml[numpy]" in str(error)
    else:
        raise AssertionError(f"`{name}` is an array without NumPy")
for bad in (object(), "x", 3):
    try:
        tokenizer.parse(bad)
    except openchatml.ArgumentTypeError:
        pass

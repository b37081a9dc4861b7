"""Token ids: writing, reading, masks, truncation, caches, and encodings of other libraries."""

from __future__ import annotations

import json
import pathlib

import numpy
import openchatml
import pytest
import tiktoken
import tokenizers
from openchatml import Conversation, Message, PromptCache, Tokenizer

CHAT = Conversation(
    [
        Message.user("2 + 2?"),
        Message.reasoning("Easy."),
        Message.answer("4."),
        Message.user("And <|end|>?"),
        Message.answer("Text."),
    ]
)


@pytest.fixture(scope="module")
def harmony() -> Tokenizer:
    return Tokenizer("harmony")


def bytes_of_tokenizers() -> tokenizers.Tokenizer:
    """A tokenizer with one id for each byte."""
    alphabet = sorted(tokenizers.pre_tokenizers.ByteLevel.alphabet())
    made = tokenizers.Tokenizer(
        tokenizers.models.BPE(vocab={it: at for at, it in enumerate(alphabet)}, merges=[])
    )
    made.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = tokenizers.decoders.ByteLevel()
    made.add_special_tokens(["<|im_start|>", "<|im_end|>"])
    return made


def test_ids_are_those_of_the_text(harmony: Tokenizer) -> None:
    rendered = harmony.render(CHAT)
    assert harmony.decode(rendered.ids).count("<|end|>") == 6
    assert harmony.parse(rendered.ids).conversation == CHAT
    assert harmony.count(CHAT) == len(rendered) == len(rendered.tolist())


def test_arrays_are_made_once_without_a_copy(harmony: Tokenizer) -> None:
    sample = harmony.sample(CHAT)
    assert sample.ids is sample.ids and sample.mask is sample.mask
    for array in (sample.ids, sample.mask, sample.weights):
        assert array is not None and not array.flags.owndata and not array.flags.writeable
        with pytest.raises(ValueError):
            array[0] = 0
    assert sample.ids.dtype == numpy.uint32 and sample.mask.dtype == numpy.bool_
    assert sample.tolist() == sample.ids.tolist()
    assert sample.mask_list() == sample.mask.astype(int).tolist()
    kept = sample.ids
    del sample
    assert kept.sum() > 0


def test_spans_cover_the_ids(harmony: Tokenizer) -> None:
    sample = harmony.sample(CHAT, bare=True)
    spans = sample.spans
    assert spans.shape == (len(CHAT), 7) and spans.dtype == numpy.int64
    assert spans[:, 0].tolist() == list(range(len(CHAT)))
    assert spans[0, 1] == 0 and spans[-1, 6] == len(sample)
    assert (spans[1:, 1] == spans[:-1, 6]).all()
    for row, span in zip(spans, sample.span_list(), strict=True):
        assert span.opening == (row[1], row[2]) and span.body == (row[3], row[4])
        text = harmony.decode(sample.ids[row[3] : row[4]])
        assert text == CHAT[span.message_index].text
    dated = harmony.sample(CHAT)
    assert dated.spans[0, 0] == -1 and dated.span_list()[0].message_index is None


def test_masks(harmony: Tokenizer) -> None:
    def trained(**options: object) -> str:
        sample = harmony.sample(CHAT, bare=True, **options)
        return harmony.decode(sample.ids[sample.mask])

    assert "Easy." in trained() and trained().endswith("Text.<|return|>")
    assert "Easy." not in trained(train="no-reasoning")
    assert "4." not in trained(turns="last")
    assert trained(headers="nothing", turns="last") == "Text.<|return|>"
    assert "Easy." not in trained(skip_messages=[1])
    assert "2 + 2?" in trained(train_messages=[0])
    with pytest.raises(openchatml.ArgumentValueError, match="does not exist"):
        trained(skip_messages=[99])
    weighed = CHAT.replace(messages=[it.replace(weight=0.5) for it in CHAT])
    sample = harmony.sample(weighed, bare=True)
    assert set(sample.weights.tolist()) == {0.0, 0.5} and not sample.losses


def test_prompts_and_their_losses(harmony: Tokenizer) -> None:
    chat = Conversation(list(CHAT[:3])) + Message.user("?")
    prompt = harmony.prompt(chat, bare=True)
    text = openchatml.prompt(chat, "harmony", bare=True)
    assert harmony.decode(prompt.ids) == text.output
    assert [loss.name for loss in prompt.losses] == [loss.name for loss in text.losses]
    with pytest.raises(openchatml.LossError):
        harmony.prompt(CHAT + Message.user("?"), allow_loss=())


def test_known_ids_are_written_again(harmony: Tokenizer) -> None:
    # Not the ids that an encoder would choose.
    ids = [200006, 1428, 200008, *[harmony.encode(it)[0] for it in "Hello"], 200007]
    parsed = harmony.parse(ids, keep_ids=True)
    assert harmony.render(parsed).tolist() == ids
    assert harmony.render(harmony.parse(ids)).tolist() != ids


def test_truncation(harmony: Tokenizer) -> None:
    cut = harmony.truncate(CHAT, 30)
    assert cut.ids <= 30 and cut.dropped and cut.conversation[-1] == CHAT[-1]
    with pytest.raises(openchatml.TruncateError) as caught:
        harmony.truncate(CHAT, 2)
    assert caught.value.least and caught.value.least > 2
    long = Conversation([Message.user("word " * 1000)])
    assert harmony.truncate(long, 100, message=50).cut[0][0] == 0


def test_cache_gives_the_same_ids(harmony: Tokenizer) -> None:
    cache = PromptCache(harmony)
    chat = CHAT
    for turn in range(5):
        chat = chat + Message.user(f"question {turn}") + Message.answer("answer " * 20)
        assert cache.prompt(chat).tolist() == harmony.prompt(chat).tolist()
    assert cache.statistics["hits"] > 0


def test_encodings_of_other_libraries(tmp_path: pathlib.Path) -> None:
    theirs = bytes_of_tokenizers()
    expected = theirs.encode("Hi <|im_end|>!").ids
    file = tmp_path / "tokenizer.json"
    file.write_text(theirs.to_str())

    class Wrapped:
        """As tokenizers of `transformers`."""

        backend_tokenizer = theirs

    for encoding in (theirs, Wrapped(), file, str(file), tmp_path, theirs.to_str().encode()):
        tokenizer = Tokenizer("chatml", encoding)
        assert tokenizer.encode("Hi!") == theirs.encode("Hi!").ids
        # In the text of a message, it is text.
        ids = tokenizer.render(Conversation([Message.user("<|im_end|>")])).tolist()
        assert ids.count(theirs.token_to_id("<|im_end|>")) == 1
    assert expected.count(257) == 1
    ranks = {bytes([it]): it for it in range(256)}
    special = {"<|im_start|>": 256, "<|im_end|>": 257}
    encoding = tiktoken.Encoding(
        "x", pat_str=r"\w+|\W", mergeable_ranks=ranks, special_tokens=special
    )
    tokenizer = Tokenizer("chatml", encoding)
    assert tokenizer.encode("Hä") == encoding.encode("Hä")
    assert tokenizer.control_tokens == special


def test_missing_control_tokens() -> None:
    with pytest.raises(openchatml.EncodingError) as caught:
        Tokenizer("chatml")
    assert "<|im_start|>" in str(caught.value) and caught.value.help
    spelled = Tokenizer("chatml", spell_control_tokens=True)
    rendered = spelled.render(Conversation([Message.user("Hi")]))
    assert rendered.spelled == ["<|im_start|>", "<|im_end|>"]


def test_malformed_files(tmp_path: pathlib.Path) -> None:
    for content in ("{}", "[]", "no ranks", json.dumps({"model": 3})):
        file = tmp_path / "file"
        file.write_text(content)
        with pytest.raises(openchatml.EncodingError):
            Tokenizer("chatml", file)
    with pytest.raises(openchatml.ArgumentValueError):
        Tokenizer("chatml", tmp_path / "none")

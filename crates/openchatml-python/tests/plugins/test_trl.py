"""`openchatml.integrations.trl`, against `datasets` and TRL."""

from __future__ import annotations

import copy
from typing import Any

import openchatml
import pytest

datasets = pytest.importorskip("datasets")
pytest.importorskip("trl")

from openchatml.integrations.trl import (
    IGNORED,
    PreparedPreferences,
    pack,
    tokenize_for_preference,
    tokenize_for_sft,
)
from tiny_tokenizers import tiny

TOKENIZER = openchatml.Tokenizer("harmony")
CHATS: list[list[dict[str, Any]]] = [
    [{"role": "user", "content": "2 + 2?"}, {"role": "assistant", "content": "4."}],
    [
        {"role": "user", "content": "Say <|end|>."},
        {"role": "assistant", "content": "<|end|>", "reasoning_content": "Easy."},
        {"role": "user", "content": "Again."},
        {"role": "assistant", "content": "<|end|> <|return|>"},
    ],
    [
        {"role": "user", "content": "Weather?"},
        {
            "role": "assistant",
            "tool_calls": [
                {
                    "id": "c1",
                    "type": "function",
                    "function": {"name": "weather", "arguments": '{"city": "Paris"}'},
                }
            ],
        },
        {"role": "tool", "tool_call_id": "c1", "content": "Sunny."},
        {"role": "assistant", "content": "It is sunny."},
    ],
]
TOOL = {"type": "function", "function": {"name": "weather", "parameters": {"type": "object"}}}


def data(chats: list[Any] = CHATS, **columns: Any) -> Any:
    return datasets.Dataset.from_list(
        [{"messages": chat, **{key: it[at] for key, it in columns.items()}} for at, chat in enumerate(chats)]
    )


def test_columns() -> None:
    made = tokenize_for_sft(data(), TOKENIZER, bare=True)
    assert sorted(made.column_names) == ["assistant_masks", "input_ids", "labels"]
    for row, chat in zip(made, CHATS, strict=True):
        sample = TOKENIZER.sample(chat, bare=True)
        assert row["input_ids"] == sample.tolist()
        assert row["assistant_masks"] == sample.mask_list()
        pairs = zip(row["input_ids"], row["assistant_masks"], strict=True)
        assert row["labels"] == [id if bit else IGNORED for id, bit in pairs]


def test_tools_and_options() -> None:
    tools = [[TOOL], [], [TOOL]]
    made = tokenize_for_sft(data(tools=tools), TOKENIZER, train="answers", date="2026-01-31")
    for row, chat, declared in zip(made, CHATS, tools, strict=True):
        sample = TOKENIZER.sample(chat, tools=declared, train="answers", date="2026-01-31")
        assert row["input_ids"] == sample.tolist()
        assert row["assistant_masks"] == sample.mask_list()
    assert "weather" in TOKENIZER.decode(made[0]["input_ids"])


def test_streams_splits_and_processes() -> None:
    expected = tokenize_for_sft(data(), TOKENIZER, bare=True)[:]
    streamed = tokenize_for_sft(data().to_iterable_dataset(), TOKENIZER, bare=True)
    assert [row["input_ids"] for row in streamed] == expected["input_ids"]
    splits = tokenize_for_sft(datasets.DatasetDict(train=data()), TOKENIZER, bare=True)
    assert splits["train"][:] == expected
    assert tokenize_for_sft(data(), TOKENIZER, bare=True, num_proc=2)[:] == expected


def test_too_long() -> None:
    sizes = [len(TOKENIZER.sample(chat, bare=True)) for chat in CHATS]
    most = sorted(sizes)[1]
    kept = tokenize_for_sft(data(), TOKENIZER, bare=True, max_length=most)
    assert [len(row["input_ids"]) for row in kept] == [size for size in sizes if size <= most]
    for limit in range(1, max(sizes) + 1):
        for row in tokenize_for_sft(data(), TOKENIZER, bare=True, max_length=limit, too_long="cut"):
            assert len(row["input_ids"]) <= limit
            # The last message is whole, and something is trained.
            assert TOKENIZER.decode(row["input_ids"][-1:]) in ("<|end|>", "<|return|>", "<|call|>")
            assert any(label != IGNORED for label in row["labels"])


def test_bad_arguments_and_rows() -> None:
    with pytest.raises(openchatml.ArgumentTypeError):
        tokenize_for_sft(CHATS, TOKENIZER)
    with pytest.raises(openchatml.ArgumentTypeError):
        tokenize_for_sft(data(), "harmony")  # type: ignore[arg-type]
    with pytest.raises(openchatml.ArgumentTypeError):
        tokenize_for_sft(data(), TOKENIZER, max_length="3")  # type: ignore[arg-type]
    for options in ({"max_length": 0}, {"too_long": "maybe"}):
        with pytest.raises(openchatml.ArgumentValueError):
            tokenize_for_sft(data(), TOKENIZER, **options)
    chats = [CHATS[0], [{"role": "nobody", "content": "x"}]]
    for options in ({}, {"allow_loss": []}):
        with pytest.raises(openchatml.LossError, match="row 1: "):
            tokenize_for_sft(data(chats), TOKENIZER, **options)
    # Nothing of it is left to train.
    assert len(tokenize_for_sft(data(chats), TOKENIZER, allow_loss="all")) == 1
    with pytest.raises(openchatml.ArgumentValueError, match="the columns are `messages`"):
        tokenize_for_sft(data(), TOKENIZER, messages="chats")
    with pytest.raises(openchatml.ArgumentValueError, match="row 1: "):
        tokenize_for_sft(data([CHATS[0], None]), TOKENIZER)
    with pytest.raises(openchatml.ArgumentTypeError):
        pack(CHATS, 3)
    with pytest.raises(openchatml.ArgumentValueError):
        pack(data(), 3)


def test_packing_cuts_nothing() -> None:
    chats = [CHATS[at % 3] for at in range(50)]
    made = tokenize_for_sft(data(chats), TOKENIZER, bare=True)
    length = 3 * max(len(ids) for ids in made["input_ids"])
    packed = pack(made, length)
    samples = []
    for row in packed:
        assert sum(row["seq_lengths"]) == len(row["input_ids"]) == len(row["labels"]) <= length
        at = 0
        for size in row["seq_lengths"]:
            samples.append((row["input_ids"][at : at + size], row["labels"][at : at + size]))
            at += size
    assert sorted(samples) == sorted(zip(made["input_ids"], made["labels"], strict=True))
    # No two rows fit into one.
    sizes = sorted(sum(row["seq_lengths"]) for row in packed)
    assert len(sizes) == 1 or sizes[0] + sizes[1] > length


def test_preference_pairs() -> None:
    prompt = CHATS[2][:3]
    pairs = [
        {"prompt": prompt, "chosen": [CHATS[0][1]], "rejected": [{"role": "assistant", "content": "4"}]},
        {
            "prompt": [],
            "chosen": CHATS[1],
            "rejected": [*CHATS[1][:3], {"role": "assistant", "content": "No."}],
        },
    ]
    made = tokenize_for_preference(datasets.Dataset.from_list(pairs), TOKENIZER, bare=True)
    assert sorted(made.column_names) == ["chosen_ids", "prompt_ids", "rejected_ids"]
    for row, pair in zip(made, pairs, strict=True):
        for side in ("chosen", "rejected"):
            sample = TOKENIZER.sample(pair["prompt"] + pair[side], bare=True)
            assert row["prompt_ids"] + row[f"{side}_ids"] == sample.tolist()
            mask = sample.mask_list()[len(row["prompt_ids"]) :]
            assert mask == [1] * len(mask)
        assert TOKENIZER.decode(row["prompt_ids"]).endswith("<|start|>assistant")
    same = datasets.Dataset.from_list([{**pairs[0], "rejected": pairs[0]["chosen"]}])
    with pytest.raises(openchatml.ArgumentValueError, match="row 0"):
        tokenize_for_preference(same, TOKENIZER)


@pytest.fixture
def model(monkeypatch: pytest.MonkeyPatch) -> Any:
    import torch
    from transformers import Qwen2Config, Qwen2ForCausalLM

    # The tests install PyTorch without the libraries of CUDA that this asks.
    monkeypatch.setattr(torch.cuda, "is_current_stream_capturing", lambda: False)

    size = len(tiny("qwen3").get_vocab())
    return Qwen2ForCausalLM(
        Qwen2Config(
            vocab_size=size,
            hidden_size=16,
            intermediate_size=16,
            num_hidden_layers=1,
            num_attention_heads=2,
            num_key_value_heads=2,
            tie_word_embeddings=True,
        )
    )


def trained(tmp_path: Any, **options: Any) -> Any:
    return dict(
        output_dir=str(tmp_path),
        max_steps=2,
        per_device_train_batch_size=2,
        use_cpu=True,
        bf16=False,
        report_to=[],
        save_strategy="no",
        pad_token="<|endoftext|>",
        **options,
    )


def test_sft_trainer_takes_the_labels(model: Any, tmp_path: Any) -> None:
    from trl import SFTConfig, SFTTrainer

    tokenizer = openchatml.Tokenizer("qwen3", tiny("qwen3"))
    made = tokenize_for_sft(data(CHATS[:2] * 2), tokenizer)
    trainer = SFTTrainer(
        model=model,
        args=SFTConfig(**trained(tmp_path, max_length=None, shuffle_dataset=False)),
        train_dataset=made,
        processing_class=tiny("qwen3"),
    )
    batch = next(iter(trainer.get_train_dataloader()))
    rows = [tuple(row) for row in made["labels"]]
    assert batch["labels"].shape[0] == 2
    for row in batch["labels"].tolist():
        assert any(tuple(row[: len(it)]) == it and set(row[len(it) :]) <= {IGNORED} for it in rows)
    assert 0 < trainer.train().training_loss < 100


def test_dpo_trainer_takes_the_pairs(model: Any, tmp_path: Any) -> None:
    from trl import DPOConfig, DPOTrainer

    tokenizer = openchatml.Tokenizer("qwen3", tiny("qwen3"))
    pair = {
        "prompt": CHATS[0][:1],
        "chosen": CHATS[0][1:],
        "rejected": [{"role": "assistant", "content": "5."}],
    }
    made = tokenize_for_preference(datasets.Dataset.from_list([pair] * 4), tokenizer)

    class Trainer(PreparedPreferences, DPOTrainer):  # type: ignore[misc]
        pass

    trainer = Trainer(
        model=model,
        ref_model=copy.deepcopy(model),
        args=DPOConfig(**trained(tmp_path, max_length=None)),
        train_dataset=made,
        processing_class=tiny("qwen3"),
    )
    batch = next(iter(trainer.get_train_dataloader()))
    whole = [made[0]["prompt_ids"] + made[0][f"{side}_ids"] for side in ("chosen", "rejected")]
    rows = [row[: len(whole[at // 2])] for at, row in enumerate(batch["input_ids"].tolist())]
    assert rows == [whole[0], whole[0], whole[1], whole[1]]
    assert 0 < trainer.train().training_loss < 100

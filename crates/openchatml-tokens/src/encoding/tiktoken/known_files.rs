//! Rank files whose pattern and control tokens are known.

/// A known rank file.
#[derive(Debug)]
pub(super) struct KnownFile {
    /// The SHA-256 of the file, in hexadecimal digits.
    pub(super) sha256: &'static str,
    pub(super) pattern: &'static str,
    pub(super) controls: &'static [(&'static str, u32)],
}

/// The pattern of `o200k_base`.
pub(super) const O200K: &str = concat!(
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?",
    r"|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?",
    r"|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+",
);

/// The pattern of `cl100k_base`; Llama 3 has the same.
const CL100K: &str = concat!(
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}",
    r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+",
);

/// The pattern of GPT-2 and its successors.
const GPT2: &str = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+";

/// All known rank files.
pub(super) const ALL: &[KnownFile] = &[
    // o200k_base
    KnownFile {
        sha256: "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d",
        pattern: O200K,
        controls: &[("<|endoftext|>", 199_999), ("<|endofprompt|>", 200_018)],
    },
    // cl100k_base
    KnownFile {
        sha256: "223921b76ee99bde995b7ff738513eef100fb51d18c93597a113bcffe865b2a7",
        pattern: CL100K,
        controls: &[
            ("<|endoftext|>", 100_257),
            ("<|fim_prefix|>", 100_258),
            ("<|fim_middle|>", 100_259),
            ("<|fim_suffix|>", 100_260),
            ("<|endofprompt|>", 100_276),
        ],
    },
    // p50k_base
    KnownFile {
        sha256: "94b5ca7dff4d00767bc256fdd1b27e5b17361d7b8a5f968547f9f23eb70d2069",
        pattern: GPT2,
        controls: &[("<|endoftext|>", 50_256)],
    },
    // r50k_base
    KnownFile {
        sha256: "306cd27f03c1a714eca7108e03d66b7dc042abe8c258b44c199a7ed9838dd930",
        pattern: GPT2,
        controls: &[("<|endoftext|>", 50_256)],
    },
    // Llama 3. Versions from 3.1 on name more of the control tokens.
    KnownFile {
        sha256: "82e9d31979e92ab929cd544440f129d9ecd797b69e327f80f17e1c50d5551b55",
        pattern: CL100K,
        controls: &[
            ("<|begin_of_text|>", 128_000),
            ("<|end_of_text|>", 128_001),
            ("<|finetune_right_pad_id|>", 128_004),
            ("<|start_header_id|>", 128_006),
            ("<|end_header_id|>", 128_007),
            ("<|eom_id|>", 128_008),
            ("<|eot_id|>", 128_009),
            ("<|python_tag|>", 128_010),
        ],
    },
];

//! The registry of dialects. Each dialect has its own folder.
//!
//! A dialect consists of data and a few functions. To add one, add a folder and a line in [`ALL`].

mod anthropic;
mod apertus;
mod canonical;
mod chatml;
pub(crate) mod chatml_wire;
mod deepseek_dsml;
mod deepseek_v3;
mod deepseek_v3_1;
mod gemini;
mod gemma_4;
mod glm;
mod granite_4;
mod harmony;
mod hy_3;
mod kimi_k2;
mod kimi_k3;
mod lfm2;
mod llama;
mod minimax_m2;
mod minimax_m3;
mod mistral;
mod nemotron_3;
mod older;
mod olmo_3;
mod openai;
mod openchatml_0_1;
pub(crate) mod openchatml_2_0;
pub(crate) mod openchatml_2_2;
mod phi_4_mini;
mod qwen3;
mod qwen_xml;
mod records;
mod responses;
mod seed_oss;
mod sharegpt;

pub use self::anthropic::DIALECT as ANTHROPIC;
pub use self::apertus::DIALECT as APERTUS;
pub use self::canonical::DIALECT as JSON;
pub use self::chatml::DIALECT as CHATML;
pub use self::chatml_wire::DIALECT as CHATML_WIRE;
pub use self::deepseek_dsml::V3_2 as DEEPSEEK_V3_2;
pub use self::deepseek_dsml::V4 as DEEPSEEK_V4;
pub use self::deepseek_dsml::V4_1 as DEEPSEEK_V4_1;
pub use self::deepseek_v3::DIALECT as DEEPSEEK_V3;
pub use self::deepseek_v3_1::DIALECT as DEEPSEEK_V3_1;
pub use self::gemini::DIALECT as GEMINI;
pub use self::gemma_4::DIALECT as GEMMA_4;
pub use self::glm::V4_5 as GLM_4_5;
pub use self::glm::V4_7 as GLM_4_7;
pub use self::granite_4::DIALECT as GRANITE_4;
pub use self::harmony::DIALECT as HARMONY;
pub use self::hy_3::DIALECT as HY_3;
pub use self::kimi_k2::DIALECT as KIMI_K2;
pub use self::kimi_k3::DIALECT as KIMI_K3;
pub use self::lfm2::V2 as LFM2;
pub use self::lfm2::V2_5 as LFM2_5;
pub use self::llama::V3 as LLAMA_3;
pub use self::llama::V4 as LLAMA_4;
pub use self::minimax_m2::DIALECT as MINIMAX_M2;
pub use self::minimax_m3::DIALECT as MINIMAX_M3;
pub use self::mistral::V7 as MISTRAL_V7;
pub use self::mistral::V11 as MISTRAL_V11;
pub use self::mistral::V13 as MISTRAL_V13;
pub use self::nemotron_3::NANO as NEMOTRON_3;
pub use self::nemotron_3::ULTRA as NEMOTRON_3_ULTRA;
pub use self::olmo_3::DIALECT as OLMO_3;
pub use self::openai::DIALECT as OPENAI;
pub use self::openchatml_0_1::DIALECT as OPENCHATML_0_1;
pub use self::openchatml_2_0::DIALECT as OPENCHATML_2_0;
pub use self::openchatml_2_2::DIALECT as OPENCHATML_2_2;
pub use self::phi_4_mini::DIALECT as PHI_4_MINI;
pub use self::qwen_xml::CODER as QWEN3_CODER;
pub use self::qwen_xml::V3_5 as QWEN3_5;
pub use self::qwen_xml::V3_6 as QWEN3_6;
pub use self::qwen_xml::V3_8 as QWEN3_8;
pub use self::qwen3::DIALECT as QWEN3;
pub use self::records::DIALECT as RECORDS;
pub use self::responses::DIALECT as RESPONSES;
pub use self::seed_oss::DIALECT as SEED_OSS;
pub use self::sharegpt::DIALECT as SHAREGPT;

pub use crate::dialect::{Carrier, Dialect, Format};
pub use crate::rules::{
    Array, CallAttributes, CallForm, CallPiece, Calls, Completion, Elements, Framed, Guard,
    InnerCalls, Literals, Mark, NoReasoning, ParameterAttributes, Parameters, PromptEnd, Prompts,
    Reasoning, Sections, Tag, Tree, Words,
};

use std::str::FromStr;

use crate::check::CheckRules;
use crate::diagnostic::{FormatError, UnknownName};
use crate::model::FormId;
use crate::rules::Carries;
use crate::text_format::TextFormat;

/// All dialects, with the newest of a family first.
///
/// ```
/// use openchatml::dialects;
///
/// let names: Vec<_> = dialects::ALL.iter().map(|dialect| dialect.id).collect();
/// assert_eq!(names[..3], ["openchatml-2.2", "openchatml-2.0", "openchatml-0.1"]);
/// assert_eq!(names[3..7], ["chatml", "chatml-wire", "harmony", "apertus"]);
/// assert_eq!(names[7..9], ["qwen3", "qwen3-coder"]);
/// assert!(names.ends_with(&["gemini", "sharegpt", "records"]));
/// ```
pub static ALL: &[&Dialect] = &[
    &OPENCHATML_2_2,
    &OPENCHATML_2_0,
    &OPENCHATML_0_1,
    &CHATML,
    &CHATML_WIRE,
    &HARMONY,
    &APERTUS,
    &QWEN3,
    &QWEN3_CODER,
    &QWEN3_8,
    &QWEN3_6,
    &QWEN3_5,
    &DEEPSEEK_V4_1,
    &DEEPSEEK_V4,
    &DEEPSEEK_V3_2,
    &DEEPSEEK_V3_1,
    &DEEPSEEK_V3,
    &GLM_4_7,
    &GLM_4_5,
    &MISTRAL_V13,
    &MISTRAL_V11,
    &MISTRAL_V7,
    &GEMMA_4,
    &KIMI_K3,
    &KIMI_K2,
    &MINIMAX_M2,
    &MINIMAX_M3,
    &NEMOTRON_3,
    &NEMOTRON_3_ULTRA,
    &SEED_OSS,
    &HY_3,
    &GRANITE_4,
    &PHI_4_MINI,
    &LLAMA_4,
    &LLAMA_3,
    &LFM2_5,
    &LFM2,
    &OLMO_3,
    &JSON,
    &OPENAI,
    &RESPONSES,
    &ANTHROPIC,
    &GEMINI,
    &SHAREGPT,
    &RECORDS,
];

/// Returns what a form can carry, if the form exists.
pub(crate) fn carried_by(form: FormId) -> Option<&'static Carries> {
    ALL.iter().find_map(|dialect| {
        let text = dialect.text.filter(|it| it.id == form).map(|_| dialect.carries);
        let json = || dialect.json.as_ref().filter(|it| it.id == form).map(|it| it.carries);
        text.or_else(json)
    })
}

/// Returns the rules for conversations with a header of this version, or those of the newest
/// dialect with headers for other versions.
pub(crate) fn book_of(version: &str) -> Option<&'static CheckRules> {
    let all = ALL.iter().filter_map(|dialect| Some(&dialect.text?.checks));
    let mut all = all.filter(|rules| !rules.versions.is_empty());
    let newest = all.clone().next();
    all.find(|rules| rules.versions.first() == Some(&version)).or(newest)
}

/// Returns the dialect of a layout's form.
pub(crate) fn of_layout(form: FormId) -> Option<&'static Dialect> {
    ALL.iter().copied().find(|dialect| dialect.form() == form)
}

impl Format {
    /// Canonical JSON, which can express every conversation.
    ///
    /// ```
    /// use openchatml::Format;
    ///
    /// assert_eq!(Format::JSON, "json".parse()?);
    /// # Ok::<(), openchatml::UnknownName>(())
    /// ```
    pub const JSON: Self = Self { dialect: &JSON, carrier: Carrier::Json };

    /// OpenChatML 2.2, as text: [`dialects::OPENCHATML_2_2`](OPENCHATML_2_2).
    pub const OPENCHATML_2_2: Self = Self { dialect: &OPENCHATML_2_2, carrier: Carrier::Text };

    /// OpenChatML 2.0, as text: [`dialects::OPENCHATML_2_0`](OPENCHATML_2_0).
    pub const OPENCHATML_2_0: Self = Self { dialect: &OPENCHATML_2_0, carrier: Carrier::Text };

    /// OpenChatML 0.1, as text: [`dialects::OPENCHATML_0_1`](OPENCHATML_0_1).
    pub const OPENCHATML_0_1: Self = Self { dialect: &OPENCHATML_0_1, carrier: Carrier::Text };

    /// ChatML, the `<|im_start|>` framing, as text: [`dialects::CHATML`](CHATML).
    pub const CHATML: Self = Self { dialect: &CHATML, carrier: Carrier::Text };

    /// The wire list of OpenAI's first ChatML document: [`dialects::CHATML_WIRE`](CHATML_WIRE).
    pub const CHATML_WIRE: Self = Self { dialect: &CHATML_WIRE, carrier: Carrier::Json };

    /// Harmony, the format of the gpt-oss models, as text: [`dialects::HARMONY`](HARMONY).
    pub const HARMONY: Self = Self { dialect: &HARMONY, carrier: Carrier::Text };

    /// Apertus, as text: [`dialects::APERTUS`](APERTUS).
    pub const APERTUS: Self = Self { dialect: &APERTUS, carrier: Carrier::Text };

    /// Qwen 3, as text: [`dialects::QWEN3`](QWEN3).
    pub const QWEN3: Self = Self { dialect: &QWEN3, carrier: Carrier::Text };

    /// Qwen3-Coder, as text: [`dialects::QWEN3_CODER`](QWEN3_CODER).
    pub const QWEN3_CODER: Self = Self { dialect: &QWEN3_CODER, carrier: Carrier::Text };

    /// Qwen 3.5, as text: [`dialects::QWEN3_5`](QWEN3_5).
    pub const QWEN3_5: Self = Self { dialect: &QWEN3_5, carrier: Carrier::Text };

    /// Qwen 3.6, as text: [`dialects::QWEN3_6`](QWEN3_6).
    pub const QWEN3_6: Self = Self { dialect: &QWEN3_6, carrier: Carrier::Text };

    /// Qwen 3.8, as text: [`dialects::QWEN3_8`](QWEN3_8).
    pub const QWEN3_8: Self = Self { dialect: &QWEN3_8, carrier: Carrier::Text };

    /// DeepSeek V4.1, as text: [`dialects::DEEPSEEK_V4_1`](DEEPSEEK_V4_1).
    pub const DEEPSEEK_V4_1: Self = Self { dialect: &DEEPSEEK_V4_1, carrier: Carrier::Text };

    /// DeepSeek V4, as text: [`dialects::DEEPSEEK_V4`](DEEPSEEK_V4).
    pub const DEEPSEEK_V4: Self = Self { dialect: &DEEPSEEK_V4, carrier: Carrier::Text };

    /// DeepSeek V3.2, as text: [`dialects::DEEPSEEK_V3_2`](DEEPSEEK_V3_2).
    pub const DEEPSEEK_V3_2: Self = Self { dialect: &DEEPSEEK_V3_2, carrier: Carrier::Text };

    /// DeepSeek V3.1, as text: [`dialects::DEEPSEEK_V3_1`](DEEPSEEK_V3_1).
    pub const DEEPSEEK_V3_1: Self = Self { dialect: &DEEPSEEK_V3_1, carrier: Carrier::Text };

    /// DeepSeek V3, as text: [`dialects::DEEPSEEK_V3`](DEEPSEEK_V3).
    pub const DEEPSEEK_V3: Self = Self { dialect: &DEEPSEEK_V3, carrier: Carrier::Text };

    /// GLM 4.5, as text: [`dialects::GLM_4_5`](GLM_4_5).
    pub const GLM_4_5: Self = Self { dialect: &GLM_4_5, carrier: Carrier::Text };

    /// GLM 4.7, as text: [`dialects::GLM_4_7`](GLM_4_7).
    pub const GLM_4_7: Self = Self { dialect: &GLM_4_7, carrier: Carrier::Text };

    /// Mistral v13, as text: [`dialects::MISTRAL_V13`](MISTRAL_V13).
    pub const MISTRAL_V13: Self = Self { dialect: &MISTRAL_V13, carrier: Carrier::Text };

    /// Gemma 4, as text: [`dialects::GEMMA_4`](GEMMA_4).
    pub const GEMMA_4: Self = Self { dialect: &GEMMA_4, carrier: Carrier::Text };

    /// Kimi K3, as text: [`dialects::KIMI_K3`](KIMI_K3).
    pub const KIMI_K3: Self = Self { dialect: &KIMI_K3, carrier: Carrier::Text };

    /// Kimi K2, as text: [`dialects::KIMI_K2`](KIMI_K2).
    pub const KIMI_K2: Self = Self { dialect: &KIMI_K2, carrier: Carrier::Text };

    /// MiniMax M2, as text: [`dialects::MINIMAX_M2`](MINIMAX_M2).
    pub const MINIMAX_M2: Self = Self { dialect: &MINIMAX_M2, carrier: Carrier::Text };

    /// MiniMax M3, as text: [`dialects::MINIMAX_M3`](MINIMAX_M3).
    pub const MINIMAX_M3: Self = Self { dialect: &MINIMAX_M3, carrier: Carrier::Text };

    /// Nemotron 3, as text: [`dialects::NEMOTRON_3`](NEMOTRON_3).
    pub const NEMOTRON_3: Self = Self { dialect: &NEMOTRON_3, carrier: Carrier::Text };

    /// Nemotron 3 Ultra, as text: [`dialects::NEMOTRON_3_ULTRA`](NEMOTRON_3_ULTRA).
    pub const NEMOTRON_3_ULTRA: Self = Self { dialect: &NEMOTRON_3_ULTRA, carrier: Carrier::Text };

    /// Seed-OSS, as text: [`dialects::SEED_OSS`](SEED_OSS).
    pub const SEED_OSS: Self = Self { dialect: &SEED_OSS, carrier: Carrier::Text };

    /// Hy3, as text: [`dialects::HY_3`](HY_3).
    pub const HY_3: Self = Self { dialect: &HY_3, carrier: Carrier::Text };

    /// Granite 4, as text: [`dialects::GRANITE_4`](GRANITE_4).
    pub const GRANITE_4: Self = Self { dialect: &GRANITE_4, carrier: Carrier::Text };

    /// Phi-4-mini, as text: [`dialects::PHI_4_MINI`](PHI_4_MINI).
    pub const PHI_4_MINI: Self = Self { dialect: &PHI_4_MINI, carrier: Carrier::Text };

    /// Llama 4, as text: [`dialects::LLAMA_4`](LLAMA_4).
    pub const LLAMA_4: Self = Self { dialect: &LLAMA_4, carrier: Carrier::Text };

    /// Llama 3.1, 3.2 and 3.3, as text: [`dialects::LLAMA_3`](LLAMA_3).
    pub const LLAMA_3: Self = Self { dialect: &LLAMA_3, carrier: Carrier::Text };

    /// LFM2.5, as text: [`dialects::LFM2_5`](LFM2_5).
    pub const LFM2_5: Self = Self { dialect: &LFM2_5, carrier: Carrier::Text };

    /// LFM2, as text: [`dialects::LFM2`](LFM2).
    pub const LFM2: Self = Self { dialect: &LFM2, carrier: Carrier::Text };

    /// Olmo 3, as text: [`dialects::OLMO_3`](OLMO_3).
    pub const OLMO_3: Self = Self { dialect: &OLMO_3, carrier: Carrier::Text };

    /// Mistral v11, as text: [`dialects::MISTRAL_V11`](MISTRAL_V11).
    pub const MISTRAL_V11: Self = Self { dialect: &MISTRAL_V11, carrier: Carrier::Text };

    /// Mistral v7, as text: [`dialects::MISTRAL_V7`](MISTRAL_V7).
    pub const MISTRAL_V7: Self = Self { dialect: &MISTRAL_V7, carrier: Carrier::Text };

    /// The messages of OpenAI's Chat Completions: [`dialects::OPENAI`](OPENAI).
    pub const OPENAI: Self = Self { dialect: &OPENAI, carrier: Carrier::Json };

    /// The items of OpenAI's Responses API: [`dialects::RESPONSES`](RESPONSES).
    pub const RESPONSES: Self = Self { dialect: &RESPONSES, carrier: Carrier::Json };

    /// The messages of Anthropic's Messages API: [`dialects::ANTHROPIC`](ANTHROPIC).
    pub const ANTHROPIC: Self = Self { dialect: &ANTHROPIC, carrier: Carrier::Json };

    /// The contents of Google's Gemini API: [`dialects::GEMINI`](GEMINI).
    pub const GEMINI: Self = Self { dialect: &GEMINI, carrier: Carrier::Json };

    /// ShareGPT: [`dialects::SHAREGPT`](SHAREGPT).
    pub const SHAREGPT: Self = Self { dialect: &SHAREGPT, carrier: Carrier::Json };

    /// Records of a prompt and its completion: [`dialects::RECORDS`](RECORDS).
    pub const RECORDS: Self = Self { dialect: &RECORDS, carrier: Carrier::Json };

    /// Returns all formats.
    ///
    /// ```
    /// use openchatml::Format;
    ///
    /// assert!(Format::all().any(|format| format == Format::HARMONY));
    /// let wire = Format::all().filter(|format| format.dialect().id == "chatml-wire");
    /// let names: Vec<_> = wire.map(|format| format.to_string()).collect();
    /// assert_eq!(names, ["chatml-wire", "chatml-wire:text"]);
    /// ```
    pub fn all() -> impl Iterator<Item = Self> {
        ALL.iter().flat_map(|dialect| dialect.carriers().map(|carrier| Self { dialect, carrier }))
    }
}

impl FromStr for Format {
    type Err = UnknownName;

    fn from_str(name: &str) -> Result<Self, UnknownName> {
        let (id, carrier) = match name.split_once(':') {
            Some((id, carrier)) => (id, Some(carrier)),
            None => (name, None),
        };
        let dialect = ALL.iter().find(|dialect| dialect.is_named(id));
        let dialect = dialect.ok_or_else(|| {
            let names = ALL.iter().flat_map(|dialect| dialect.aliases.iter().chain([&dialect.id]));
            UnknownName::new("format", name).among(&names.copied().collect::<Vec<_>>())
        })?;
        let mut carriers = dialect.carriers();
        let found = match carrier {
            Some(word) => carriers.find(|carrier| carrier.as_str() == word),
            None => carriers.next(),
        };
        let carrier = found.ok_or_else(|| UnknownName::new("format", name))?;
        Ok(Self { dialect, carrier })
    }
}

impl TextFormat {
    /// OpenChatML 2.2.
    pub const OPENCHATML_2_2: Self = Self::of(&OPENCHATML_2_2);

    /// OpenChatML 2.0.
    pub const OPENCHATML_2_0: Self = Self::of(&OPENCHATML_2_0);

    /// OpenChatML 0.1.
    pub const OPENCHATML_0_1: Self = Self::of(&OPENCHATML_0_1);

    /// ChatML, the `<|im_start|>` framing.
    pub const CHATML: Self = Self::of(&CHATML);

    /// The text of OpenAI's first ChatML document.
    pub const CHATML_WIRE: Self = Self::of(&CHATML_WIRE);

    /// Harmony, the format of the gpt-oss models.
    pub const HARMONY: Self = Self::of(&HARMONY);

    /// Apertus.
    pub const APERTUS: Self = Self::of(&APERTUS);

    /// Qwen 3.
    pub const QWEN3: Self = Self::of(&QWEN3);

    /// Qwen3-Coder.
    pub const QWEN3_CODER: Self = Self::of(&QWEN3_CODER);

    /// Qwen 3.5: [`dialects::QWEN3_5`](QWEN3_5).
    pub const QWEN3_5: Self = Self::of(&QWEN3_5);

    /// Qwen 3.6: [`dialects::QWEN3_6`](QWEN3_6).
    pub const QWEN3_6: Self = Self::of(&QWEN3_6);

    /// Qwen 3.8: [`dialects::QWEN3_8`](QWEN3_8).
    pub const QWEN3_8: Self = Self::of(&QWEN3_8);

    /// DeepSeek V4.1.
    pub const DEEPSEEK_V4_1: Self = Self::of(&DEEPSEEK_V4_1);

    /// DeepSeek V4.
    pub const DEEPSEEK_V4: Self = Self::of(&DEEPSEEK_V4);

    /// DeepSeek V3.2.
    pub const DEEPSEEK_V3_2: Self = Self::of(&DEEPSEEK_V3_2);

    /// DeepSeek V3.1.
    pub const DEEPSEEK_V3_1: Self = Self::of(&DEEPSEEK_V3_1);

    /// DeepSeek V3.
    pub const DEEPSEEK_V3: Self = Self::of(&DEEPSEEK_V3);

    /// GLM 4.5.
    pub const GLM_4_5: Self = Self::of(&GLM_4_5);

    /// GLM 4.7: [`dialects::GLM_4_7`](GLM_4_7).
    pub const GLM_4_7: Self = Self::of(&GLM_4_7);

    /// Mistral v13.
    pub const MISTRAL_V13: Self = Self::of(&MISTRAL_V13);

    /// Gemma 4.
    pub const GEMMA_4: Self = Self::of(&GEMMA_4);

    /// Kimi K3.
    pub const KIMI_K3: Self = Self::of(&KIMI_K3);

    /// Kimi K2.
    pub const KIMI_K2: Self = Self::of(&KIMI_K2);

    /// MiniMax M2.
    pub const MINIMAX_M2: Self = Self::of(&MINIMAX_M2);

    /// MiniMax M3.
    pub const MINIMAX_M3: Self = Self::of(&MINIMAX_M3);

    /// Nemotron 3: [`dialects::NEMOTRON_3`](NEMOTRON_3).
    pub const NEMOTRON_3: Self = Self::of(&NEMOTRON_3);

    /// Nemotron 3 Ultra: [`dialects::NEMOTRON_3_ULTRA`](NEMOTRON_3_ULTRA).
    pub const NEMOTRON_3_ULTRA: Self = Self::of(&NEMOTRON_3_ULTRA);

    /// Seed-OSS.
    pub const SEED_OSS: Self = Self::of(&SEED_OSS);

    /// Hy3.
    pub const HY_3: Self = Self::of(&HY_3);

    /// Granite 4.
    pub const GRANITE_4: Self = Self::of(&GRANITE_4);

    /// Phi-4-mini.
    pub const PHI_4_MINI: Self = Self::of(&PHI_4_MINI);

    /// Llama 4.
    pub const LLAMA_4: Self = Self::of(&LLAMA_4);

    /// Llama 3.1, 3.2 and 3.3.
    pub const LLAMA_3: Self = Self::of(&LLAMA_3);

    /// LFM2.5: [`dialects::LFM2_5`](LFM2_5).
    pub const LFM2_5: Self = Self::of(&LFM2_5);

    /// LFM2: [`dialects::LFM2`](LFM2).
    pub const LFM2: Self = Self::of(&LFM2);

    /// Olmo 3: [`dialects::OLMO_3`](OLMO_3).
    pub const OLMO_3: Self = Self::of(&OLMO_3);

    /// Mistral v11.
    pub const MISTRAL_V11: Self = Self::of(&MISTRAL_V11);

    /// Mistral v7.
    pub const MISTRAL_V7: Self = Self::of(&MISTRAL_V7);

    /// Returns all text formats.
    ///
    /// ```
    /// use openchatml::TextFormat;
    ///
    /// let names: Vec<_> = TextFormat::all().map(|format| format.to_string()).collect();
    /// assert_eq!(names[..3], ["openchatml-2.2", "openchatml-2.0", "openchatml-0.1"]);
    /// assert_eq!(names[3..7], ["chatml", "chatml-wire:text", "harmony", "apertus"]);
    /// assert_eq!(names[7..9], ["qwen3", "qwen3-coder"]);
    /// ```
    pub fn all() -> impl Iterator<Item = Self> {
        Format::all().filter_map(|format| Self::try_from(format).ok())
    }
}

impl FromStr for TextFormat {
    type Err = FormatError;

    fn from_str(name: &str) -> Result<Self, FormatError> {
        Self::try_from(name.parse::<Format>()?)
    }
}

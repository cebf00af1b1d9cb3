//! The forms in which models write tool calls.

use std::fmt;

/// A form of tool calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Form {
    /// `tool_calls` or `function_call` of a message (OpenAI).
    OpenAi,
    /// `tool_use` parts of a message (Anthropic).
    Anthropic,
    /// `<tool_call>{"name": …, "arguments": {…}}</tool_call>` with one or several objects
    /// (Hermes, Qwen 2.5 and 3, ToolRL).
    Hermes,
    /// `<function=f><parameter=a>1</parameter></function>`, usually in `<tool_call>`
    /// (Qwen3-Coder).
    Qwen3Coder,
    /// `<tools>{…}</tools>` (Qwen2.5-Coder).
    Qwen25Coder,
    /// `<|python_tag|>{"name": …, "parameters": {…}}`, `<|python_tag|>f.call(a="b")`,
    /// `<function=f>{…}</function>` (Llama 3).
    Llama,
    /// `[TOOL_CALLS][{…}]`, `[TOOL_CALLS]f[ARGS]{…}` (Mistral).
    Mistral,
    /// `<|tool_call|>[{…}]<|/tool_call|>`, `functools[{…}]` (Phi 4); the end may be missing.
    Phi,
    /// A name and its JSON on the next line, or
    /// `<tool_call>f<arg_key>a</arg_key><arg_value>1</arg_value></tool_call>` (GLM).
    Glm,
    /// `<|tool_call_start|>[f(a=1)]<|tool_call_end|>`, possibly in a fence (MiniCPM, LFM).
    MiniCpm,
    /// `<tool_call>[{…}]`, `<function_call>{…}`; the end may be missing (Granite).
    Granite,
    /// `<｜tool▁call▁begin｜>function<｜tool▁sep｜>f` and fenced JSON, or `f<｜tool▁sep｜>{…}`
    /// (DeepSeek).
    DeepSeek,
    /// `<|tool_call_begin|>functions.f:0<|tool_call_argument_begin|>{…}<|tool_call_end|>` (Kimi
    /// K2).
    Kimi,
    /// `<|channel|>commentary to=functions.f <|constrain|>json<|message|>{…}<|call|>` (gpt-oss).
    Harmony,
    /// `<invoke name="f"><parameter name="a">1</parameter></invoke>` (MiniMax, Claude).
    Invoke,
    /// A fenced block named `tool_code` or `tool_call` (Gemma 3).
    Gemma,
    /// `[f(a=1), g(b="x")]` as the whole text (Llama 3.2 and 4, BFCL).
    Pythonic,
    /// A JSON object, an array or several objects as the whole text.
    Json,
}

impl Form {
    /// Every form.
    pub const ALL: &[Self] = &[
        Self::OpenAi,
        Self::Anthropic,
        Self::Hermes,
        Self::Qwen3Coder,
        Self::Qwen25Coder,
        Self::Llama,
        Self::Mistral,
        Self::Phi,
        Self::Glm,
        Self::MiniCpm,
        Self::Granite,
        Self::DeepSeek,
        Self::Kimi,
        Self::Harmony,
        Self::Invoke,
        Self::Gemma,
        Self::Pythonic,
        Self::Json,
    ];

    /// The stable name, used in tasks and evidence.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::OpenAi => "openai",
            Self::Anthropic => "anthropic",
            Self::Hermes => "hermes",
            Self::Qwen3Coder => "qwen3_coder",
            Self::Qwen25Coder => "qwen25_coder",
            Self::Llama => "llama",
            Self::Mistral => "mistral",
            Self::Phi => "phi",
            Self::Glm => "glm",
            Self::MiniCpm => "minicpm",
            Self::Granite => "granite",
            Self::DeepSeek => "deepseek",
            Self::Kimi => "kimi",
            Self::Harmony => "harmony",
            Self::Invoke => "invoke",
            Self::Gemma => "gemma",
            Self::Pythonic => "pythonic",
            Self::Json => "json",
        }
    }

    /// Returns the form with this name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|form| form.as_str() == name)
    }
}

impl fmt::Display for Form {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

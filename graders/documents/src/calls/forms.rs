//! The forms in which models write tool calls, and the forms that the models of each family write.

use std::fmt;

/// Defines [`Form`] with the name of each form, and the other forms that its models write.
macro_rules! forms {
    ($($(#[$doc:meta])* $form:ident = $name:literal $(+ $other:ident)*;)*) => {
        /// A form of tool calls.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum Form {
            $($(#[$doc])* $form,)*
        }

        impl Form {
            /// Every form.
            pub const ALL: &[Self] = &[$(Self::$form),*];

            /// The stable name, used in tasks and evidence.
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$form => $name,)*
                }
            }

            /// Other forms that the models of this form's family write.
            const fn others(self) -> &'static [Self] {
                match self {
                    $(Self::$form => &[$(Self::$other),*],)*
                }
            }
        }
    };
}

forms! {
    /// `tool_calls` or `function_call` of a message (OpenAI).
    OpenAi = "openai";
    /// `function_call` and `mcp_call` items (OpenAI's Responses).
    Responses = "responses";
    /// `tool_use`, `server_tool_use` and `mcp_tool_use` parts of a message (Anthropic).
    Anthropic = "anthropic";
    /// `functionCall` parts (Gemini).
    Gemini = "gemini";
    /// `toolUse` parts (Bedrock).
    Bedrock = "bedrock";
    /// `tool_calls` with `args`, and `tool_call` parts (LangChain).
    LangChain = "langchain";
    /// `tool-call` parts (AI SDK).
    AiSdk = "ai_sdk";
    /// `<tool_call>{"name": …, "arguments": {…}}</tool_call>` with one or several objects
    /// (Hermes, Qwen 2.5 and 3, Granite 4, ToolRL).
    Hermes = "hermes";
    /// `<function=f><parameter=a>1</parameter></function>`, usually in `<tool_call>`
    /// (Qwen3-Coder, Seed, Nemotron 3).
    Qwen3Coder = "qwen3_coder";
    /// `<tools>{…}</tools>` (Qwen2.5-Coder).
    Qwen25Coder = "qwen25_coder" + Hermes + Json;
    /// `✿FUNCTION✿: f` and `✿ARGS✿: {…}` (Qwen-Agent).
    QwenAgent = "qwen_agent";
    /// `<|python_tag|>{"name": …, "parameters": {…}}`, `<|python_tag|>f.call(a="b")`,
    /// `<|python_start|>[f(a=1)]<|python_end|>`, `<function=f>{…}</function>` (Llama 3 and 4).
    Llama = "llama" + Json + Pythonic;
    /// `[TOOL_CALLS][{…}]`, `[TOOL_CALLS]f[ARGS]{…}` (Mistral).
    Mistral = "mistral";
    /// `<|tool_call|>[{…}]<|/tool_call|>`, `functools[{…}]` (Phi 4); the end may be missing.
    Phi = "phi";
    /// A name and its JSON on the next line, or
    /// `<tool_call>f<arg_key>a</arg_key><arg_value>1</arg_value></tool_call>` (GLM).
    Glm = "glm";
    /// `<|tool_call_start|>[f(a=1)]<|tool_call_end|>`, possibly in a fence (MiniCPM, LFM).
    MiniCpm = "minicpm";
    /// `<tool_call>[{…}]`, `<function_call>{…}`; the end may be missing (Granite).
    Granite = "granite" + Hermes + Phi;
    /// `<｜tool▁call▁begin｜>function<｜tool▁sep｜>f` and fenced JSON, or `f<｜tool▁sep｜>{…}`, or
    /// `<｜DSML｜invoke name="f">` with parameters (DeepSeek).
    DeepSeek = "deepseek";
    /// `<|tool_call_begin|>functions.f:0<|tool_call_argument_begin|>{…}<|tool_call_end|>` (Kimi
    /// K2).
    Kimi = "kimi";
    /// `<|channel|>commentary to=functions.f <|constrain|>json<|message|>{…}<|call|>` (gpt-oss).
    Harmony = "harmony";
    /// `<invoke name="f"><parameter name="a">1</parameter></invoke>` (MiniMax, Claude).
    Invoke = "invoke" + Jamba;
    /// A fenced block named `tool_code` or `tool_call` (Gemma 3),
    /// `<start_function_call>call:f{a:<escape>b<escape>}<end_function_call>` (FunctionGemma), or
    /// `<|tool_call>call:f{a:<|"|>b<|"|>}<tool_call|>` (Gemma 4).
    Gemma = "gemma" + Pythonic + Json;
    /// `<TOOLCALL>[{…}]</TOOLCALL>` (Nemotron).
    Nemotron = "nemotron" + Qwen3Coder;
    /// `<|START_ACTION|>[{"tool_name": …, "parameters": {…}}]<|END_ACTION|>`, or the same array in
    /// a fence after `Action:` (Command).
    Cohere = "cohere";
    /// `<|action_start|><|plugin|>{"name": …, "parameters": {…}}<|action_end|>` (InternLM).
    InternLm = "internlm";
    /// `<tool_calls>[{…}]</tool_calls>` (Jamba, Hunyuan A13B, MiniMax M1).
    Jamba = "jamba";
    /// `<tool_call>f<tool_sep><arg_key>a</arg_key><arg_value>1</arg_value></tool_call>`
    /// (Hunyuan).
    Hunyuan = "hunyuan" + Jamba;
    /// `<steptml:invoke name="f">` with parameters (Step 3).
    Step = "step" + Qwen3Coder;
    /// `<longcat_tool_call>{…}</longcat_tool_call>` (LongCat).
    LongCat = "longcat";
    /// `<|tools_prefix|>[{"f": {…}}]<|tools_suffix|>` (Apertus).
    Apertus = "apertus";
    /// `>>>f` and JSON on the next line, or `<|recipient|>f<|content|>{…}` (Functionary).
    Functionary = "functionary" + Glm + Llama;
    /// `<function_calls>f(a=1)</function_calls>` (Olmo 3).
    Olmo = "olmo";
    /// An element with the name of a tool: `<f><a>1</a></f>` (Cline).
    Xml = "xml";
    /// `Action: f` and `Action Input: {…}` (ReAct).
    React = "react";
    /// `[f(a=1), g(b="x")]` as the whole text (Llama 3.2 and 4, BFCL).
    Pythonic = "pythonic";
    /// A JSON object, an array or several objects as the whole text.
    Json = "json";
}

impl Form {
    /// Returns the form with this name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|form| form.as_str() == name)
    }

    /// Whether the models of this form's family write calls in the form `written`.
    #[must_use]
    pub fn includes(self, written: Self) -> bool {
        self == written || self.others().contains(&written)
    }
}

impl fmt::Display for Form {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

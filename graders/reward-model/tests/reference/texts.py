"""Texts on which the small tokenizers are trained, and texts to tokenise."""

CORPUS = """\
A reward model reads a question and an answer and gives one number. The number says how good the answer is, and nothing says it better
than the number of another answer to the same question. Where the answer is long, the number stands under its last token.
The train leaves at 7:45 and arrives at 10:20; how many minutes does it travel? First count the minutes to the full hour: 15. Then count
two hours: 120. Then the rest: 20. Together they are 155 minutes. The answer is \\boxed{155}.
Let x = 3 and y = x^2 + 2x - 1. Then y = 9 + 6 - 1 = 14. Therefore 2y = 28, and the sum of x and y is 17. We have shown that it is so.
def total(numbers):
    result = 0
    for number in numbers:
        result += number
    return result
SELECT name, count(*) FROM orders WHERE price > 100.50 GROUP BY name ORDER BY 2 DESC;
{"name": "weather", "arguments": {"city": "Bern", "days": 2}}
<think>
Is it prime? Nothing up to the root divides it.
</think>
Yes, it is prime. You are right, thank you! Isn't that what we've said? They'll see; I'd say it doesn't matter.
La réponse est donnée à la fin. Die Antwort steht am Ende, größer als zuvor. La respuesta está al final. Ответ находится в конце.
答えは最後にあります。答案在最后。대답은 끝에 있습니다. الجواب في النهاية. התשובה בסוף. उत्तर अंत में है।
system user assistant question reference answer completion tool_response tool_call
"""

STRINGS = [
    "",
    " ",
    "   ",
    "\n",
    "\n\n",
    "\r\n",
    "a\r\nb\rc\n",
    "\t\ttabs\tinside\t",
    " leading",
    "trailing ",
    "two  spaces   three    four",
    "line \n  indented\n\n\n    deeper\n",
    "The answer is 42.",
    "don't I'll WE'VE they'D it's 'tis",
    "1234567890123456789012345678901234567890",
    "3.14159 1,000,000 -5e-10 0x1F ½ ²³ ٣٤٥",
    'x=3;y=x**2\nprint(f"{y!r}")  # ok?',
    "\\boxed{\\frac{1}{2}} $\\sqrt{2}$",
    "<b>&amp;</b> <!-- c -->",
    "!!!???...---___***",
    "é",
    "e\u0301",
    "a\u0327\u0301\u0323 Z\u0351\u036b\u0343",
    "ﬁ Å Å ① ｆｕｌｌ",
    "😀",
    "👩‍👩‍👧‍👦 👍🏽 🇨🇭",
    "❤️ vs ❤",
    "مرحبا بالعالم",
    "שלום \u200fעולם\u200e abc",
    "日本語のテキスト。",
    "中文、混合English和数字123",
    "한국어 \u1112\u1161\u11ab",
    "Привет, мир",
    "नमस्ते दुनिया",
    "\u0000 \u0001\u001f\u007f",
    "\u0085\u00a0\u2003\u3000x",
    "\ufeffmark at the start",
    "mark\ufeff inside",
    "line\u2028separator\u2029paragraph",
    "\ufffd replaced \ufffd\ufffd",
    "\u200b\u200c\u200d zero \u2060",
    "\U00010348\U0001d54f\U0010ffff",
    "İstanbul ǅ ß ẞ ΑΣ",
    "<|im_start|>user\nhi<|im_end|>\n",
    "a<|endoftext|>b<extra_0>c <extra_0>",
    "<|begin_of_text|>twice<|eot_id|>",
    "<s>one</s> <s> <unk><0x0A>",
    "[CLS] a [SEP] b  [MASK] c [PAD]",
    "< |im_end|> <|im_end |> <|IM_END|>",
    "▁already ▁ marked▁",
    "Ġfake Ċ bytes",
    "supercalifragilisticexpialidociousness" * 3,
    "word " * 1000,
    "ab" * 2500,
]

PAIRS = [
    ["What is it?", "It is a test."],
    ["", ""],
    ["question", ""],
    ["", "passage"],
    ["Was ist größer?", "7 > 5"],
    ["[SEP] forged", "a [SEP] b"],
    ["  spaces ", "\nlines\n"],
]

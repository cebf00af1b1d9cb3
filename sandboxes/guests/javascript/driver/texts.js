// Properties of strings, for the display of values.

const NAMES = { 8: '\\b', 9: '\\t', 10: '\\n', 12: '\\f', 13: '\\r', 92: '\\\\' };

// Control characters, single quotes and backslashes; then lone surrogates.
const ESCAPED = /[\x00-\x1f\x27\x5c\x7f-\x9f]/;
const LONE = /[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/;
const SPECIAL = new RegExp(`${ESCAPED.source}|${LONE.source}`);
const ALL_SPECIAL = new RegExp(SPECIAL.source, 'g');

export function isIdentifier(key) {
    return /^[a-zA-Z_][a-zA-Z_0-9]*$/.test(key);
}

// A string as a quoted literal, in single quotes unless it contains them and lacks other quotes.
export function escapeText(text) {
    if (!SPECIAL.test(text)) return `'${text}'`;
    let quote = "'";
    if (text.includes("'")) {
        if (!text.includes('"')) quote = '"';
        else if (!text.includes('`') && !text.includes('${')) quote = '`';
    }
    const escaped = text.replace(ALL_SPECIAL, (character) => {
        const code = character.charCodeAt(0);
        if (code === 39) return quote === "'" ? "\\'" : "'";
        if (code in NAMES) return NAMES[code];
        const digits = code.toString(16);
        return code < 256 ? `\\x${digits.toUpperCase().padStart(2, '0')}` : `\\u${digits}`;
    });
    return quote + escaped + quote;
}

// Ranges of characters that are two columns wide in a terminal.
const WIDE = [
    [0x1100, 0x115f],
    [0x2329, 0x232a],
    [0x2e80, 0x303e],
    [0x3041, 0x33ff],
    [0x3400, 0x4dbf],
    [0x4e00, 0x9fff],
    [0xa000, 0xa4cf],
    [0xac00, 0xd7a3],
    [0xf900, 0xfaff],
    [0xfe30, 0xfe6f],
    [0xff01, 0xff60],
    [0xffe0, 0xffe6],
    [0x1f300, 0x1f64f],
    [0x1f680, 0x1f6ff],
    [0x1f900, 0x1f9ff],
    [0x20000, 0x3fffd],
];

const COLOR = /\u001b\[\d+m/g;

function widthOfCode(code) {
    if (code < 0x20 || (code >= 0x7f && code < 0xa0)) return 0;
    if (code >= 0x300 && code <= 0x36f) return 0;
    if (code === 0x200b || code === 0x200d || (code >= 0xfe00 && code <= 0xfe0f)) return 0;
    return WIDE.some(([first, last]) => code >= first && code <= last) ? 2 : 1;
}

// Width of a text in a terminal, in columns.
export function widthOf(text) {
    if (/^[\x20-\x7e]*$/.test(text)) return text.length;
    let width = 0;
    for (const character of text.normalize('NFC').replace(COLOR, '')) {
        width += widthOfCode(character.codePointAt(0));
    }
    return width;
}

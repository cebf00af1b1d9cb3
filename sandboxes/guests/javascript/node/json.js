// `JSON.parse` and `JSON.stringify` with the messages of V8, which programs print.

const original = JSON.parse;

// The message about an unexpected character, by what the parser expects.
const EXPECTED = {
    firstKey: "Expected property name or '}' in JSON",
    key: 'Expected double-quoted property name in JSON',
    colon: "Expected ':' after property name in JSON",
    element: "Expected ',' or ']' after array element in JSON",
    member: "Expected ',' or '}' after property value in JSON",
    end: 'Unexpected non-whitespace character after JSON',
};

// Texts that result from converting other values to a string. V8 has a special message for them.
const SPECIAL = ['undefined', 'NaN', 'Infinity', '[object Object]'];

const END = 'Unexpected end of JSON input';

// Number of characters that the message shows on each side of an unexpected one.
const CONTEXT = 10;

class Fault extends Error {}

function fail(message, at) {
    throw new Fault(at === undefined ? message : `${message} at position ${at}`);
}

function unexpected(text, at) {
    if (at >= text.length) fail(END);
    if (text[at] === '"') fail('Unexpected string in JSON', at);
    if (/[-0-9]/.test(text[at])) fail('Unexpected number in JSON', at);
    if (SPECIAL.includes(text)) fail(`"${text}" is not valid JSON`);
    const isShort = text.length <= 2 * CONTEXT;
    const start = isShort || at < CONTEXT ? 0 : at - CONTEXT;
    const end = isShort || at >= text.length - CONTEXT ? text.length : at + CONTEXT;
    const shown = `${start > 0 ? '...' : ''}"${text.slice(start, end)}"${end < text.length ? '...' : ''}`;
    fail(`Unexpected token '${text[at]}', ${shown} is not valid JSON`);
}

function endOfString(text, start) {
    for (let at = start + 1; at < text.length; at++) {
        if (text[at] === '"') return at + 1;
        if (text[at] < ' ') fail('Bad control character in string literal in JSON', at);
        if (text[at] !== '\\') continue;
        at++;
        if (text[at] === 'u') {
            if (!/^[0-9a-fA-F]{4}/.test(text.slice(at + 1)))
                fail('Bad Unicode escape in JSON', at + 1);
        } else if (at < text.length && !'"\\/bfnrt'.includes(text[at])) {
            fail('Bad escaped character in JSON', at);
        }
    }
    return fail('Unterminated string in JSON', text.length);
}

function endOfNumber(text, start) {
    const digits = (at) => {
        let end = at;
        while (end < text.length && text[end] >= '0' && text[end] <= '9') end++;
        return end;
    };
    let at = text[start] === '-' ? start + 1 : start;
    let end = digits(at);
    if (end === at) fail('No number after minus sign in JSON', at);
    if (text[at] === '0' && end > at + 1) fail('Unexpected number in JSON', at + 1);
    at = end;
    if (text[at] === '.') {
        end = digits(at + 1);
        if (end === at + 1) fail('Unterminated fractional number in JSON', end);
        at = end;
    }
    if (text[at] === 'e' || text[at] === 'E') {
        at += text[at + 1] === '+' || text[at + 1] === '-' ? 2 : 1;
        end = digits(at);
        if (end === at) fail('Exponent part is missing a number in JSON', at);
        at = end;
    }
    return at;
}

function endOfWord(text, start) {
    const word = ['true', 'false', 'null'].find(([first]) => first === text[start]);
    if (word === undefined) unexpected(text, start);
    for (let i = 0; i < word.length; i++)
        if (text[start + i] !== word[i]) unexpected(text, start + i);
    return start + word.length;
}

function endOfValue(text, at) {
    if (text[at] === '"') return endOfString(text, at);
    return /[-0-9]/.test(text[at] ?? '') ? endOfNumber(text, at) : endOfWord(text, at);
}

// Throws the error for a text that is not JSON.
function check(text) {
    const open = [];
    const after = () => (open.length === 0 ? 'end' : open.at(-1) === '{' ? 'member' : 'element');
    let state = 'value';
    for (let at = 0; ;) {
        while (at < text.length && ' \t\n\r'.includes(text[at])) at++;
        const character = text[at];
        if (state === 'end' && character === undefined) return;
        if (state === 'value' || state === 'first') {
            if (character === '{' || character === '[') {
                open.push(character);
                state = character === '{' ? 'firstKey' : 'first';
                at++;
            } else if (character === ']' && state === 'first') {
                open.pop();
                state = after();
                at++;
            } else {
                at = endOfValue(text, at);
                state = after();
            }
        } else if ((state === 'firstKey' || state === 'key') && character === '"') {
            at = endOfString(text, at);
            state = 'colon';
        } else if (state === 'colon' && character === ':') {
            state = 'value';
            at++;
        } else if (state === 'member' && character === ',') {
            state = 'key';
            at++;
        } else if (state === 'element' && character === ',') {
            state = 'value';
            at++;
        } else if (
            character === (open.at(-1) === '{' ? '}' : ']') &&
            !['key', 'colon', 'end'].includes(state)
        ) {
            open.pop();
            state = after();
            at++;
        } else {
            fail(EXPECTED[state], at);
        }
    }
}

function messageFor(text, usual) {
    try {
        check(text);
        return usual;
    } catch (fault) {
        return fault instanceof Fault ? fault.message : usual;
    }
}

function parse(text, reviver) {
    try {
        return original(text, reviver);
    } catch (error) {
        if (!(error instanceof SyntaxError)) throw error;
        throw new SyntaxError(messageFor(`${text}`, error.message));
    }
}

export function installJson() {
    Object.defineProperty(JSON, 'parse', { value: parse, writable: true, configurable: true });
}

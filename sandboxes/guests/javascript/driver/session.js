// Sessions: calls that share the global scope, as the cells of a notebook do.

import { compile, decode, encode, mayUnwind, published, write } from 'host';

import { describe } from './failures.js';
import { inspect } from './inspect.js';
import * as messages from './messages.js';
import { evaluate } from './program.js';

const library = published();

// Longest displayed value in characters. The rest is cut and counted.
const DISPLAYED = 64 << 10;

// A script, or else code that awaits. The variables of the latter are its own.
const FORMS = [
    (text) => text,
    (text) => `(async () => (${text}\n))()`,
    (text) => `(async () => {${text}\n})()`,
];

function compiled(text, name) {
    let first;
    for (const form of /\bawait\b/.test(text) ? FORMS : FORMS.slice(0, 1)) {
        try {
            return compile(form(text), name, 1, false, true)[0];
        } catch (error) {
            first ??= error;
        }
    }
    throw first;
}

// Runs the code of a call, and returns its value, if that is defined and the code does not end with
// a semicolon.
export function session(header, blobs) {
    mayUnwind(true);
    const name = `call${header.number}.js`;
    const text = decode(blobs[0], 0, blobs[0].length);
    library.globals.require ??= library.requireModule;
    let code;
    try {
        code = compiled(text, name);
    } catch (error) {
        const message = describe(error, text, name);
        write(2, `${message}\n`);
        return messages.write({ end: 'raised', message });
    }
    const { ended, value } = evaluate(code, text);
    if (ended.end !== 'finished' || value === undefined || text.trimEnd().endsWith(';')) {
        return messages.write(ended);
    }
    const shown = evaluate(() => inspect(value), text);
    if (shown.ended.end !== 'finished') return messages.write(shown.ended);
    const rest = shown.value.length - DISPLAYED;
    const displayed =
        rest > 0 ? `${shown.value.slice(0, DISPLAYED)}… (${rest} more characters)` : shown.value;
    return messages.write({ end: 'returned' }, encode(displayed));
}

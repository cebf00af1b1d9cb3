// Compiles the parts of a program.
//
// A program is a CommonJS module: the body of a function. If it compiles only as an ES module, it
// is an ES module, as in Node. Tests call functions of a program by name. A second
// version of the function therefore begins with a call that passes functions which read its
// top-level variables. Other tests use the first version, because captured variables are slower.

import { compile, decode } from 'host';

import { describe } from './failures.js';
import * as messages from './messages.js';

const PRELUDE = /^prelude\./;

const PARAMETERS = 'exports, require, module, __filename, __dirname';

// Name of the function that receives the readers of variables.
export const SCOPE = '__assay_scope';

// Maximum number of variables that can be read.
const NAMES = 2000;

const isName = (name) => /^[\p{ID_Start}$_][\p{ID_Continue}$]*$/u.test(name);
const RESERVED = new Set('arguments this new eval exports require module await yield'.split(' '));

// The statement that passes the readers, on the line before the text.
function readers(names) {
    const chosen = new Set(names.filter((name) => isName(name) && !RESERVED.has(name)));
    const entries = [...chosen]
        .slice(0, NAMES)
        .map((name) => `${JSON.stringify(name)}:()=>${name}`);
    return `${SCOPE}({${entries.join(',')}});`;
}

function compileFunction(text, name) {
    const body = `\n${text}\n})`;
    const [code, [isStrict, ...names]] = compile(
        `(function (${PARAMETERS}) {${body}`,
        name,
        0,
        false,
    );
    const start = `(function (${PARAMETERS}, ${SCOPE}) {${isStrict ? '"use strict";' : ''}`;
    const [scoped] = compile(start + readers(names) + body, name, 0, false);
    return { kind: 'function', codes: [code, scoped] };
}

function compileModule(text, name) {
    const [, [, ...names]] = compile(text, name, 1, true);
    const [code] = compile(`${readers(names)}\n${text}`, name, 0, true);
    return { kind: 'module', codes: [code] };
}

// Whether a text looks like an ES module, in which case the error of that version is reported.
const looksLikeModule = (text) => /^\s*(?:import|export)\b(?!\s*\()|\bimport\.meta\b/m.test(text);

function compileMain(text, name) {
    try {
        return compileFunction(text, name);
    } catch (error) {
        const isModule = looksLikeModule(text);
        if (!/\b(?:await|export|import)\b/.test(text)) throw error;
        try {
            return compileModule(text, name);
        } catch (other) {
            throw isModule ? other : error;
        }
    }
}

// A part is a `script` (the task's prelude), a `function` with two versions, or a `module`.
function compilePart(text, name) {
    if (PRELUDE.test(name)) {
        return { kind: 'script', codes: [compile(text, name, 1, false, true)[0]] };
    }
    return compileMain(text, name);
}

export function compileParts(header, blobs) {
    const kinds = [];
    const codes = [];
    for (const [at, name] of header.names.entries()) {
        // A byte order mark is removed, and a shebang line becomes a comment.
        const text = decode(blobs[at], 0, blobs[at].length)
            .replace(/^\ufeff/, '')
            .replace(/^#!/, '//');
        try {
            const part = compilePart(text, name);
            kinds.push(part.kind);
            codes.push(...part.codes);
        } catch (error) {
            return messages.write({ end: 'refused', message: describe(error, text, name) });
        }
    }
    return messages.write({ end: 'compiled' }, messages.write({ kinds }, ...codes));
}

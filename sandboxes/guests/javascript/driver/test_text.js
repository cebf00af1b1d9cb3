// The text of a test: how it is compiled, and which names of the program it can use.

import { compile, decode, published } from 'host';

import { describe } from './failures.js';
import * as messages from './messages.js';
import { replaceable } from './overrides.js';

const library = published();

const WORD = /[\p{ID_Start}$_][\p{ID_Continue}$]*/gu;

// A name whose absence the test can examine without an error.
const EXAMINED = /\btypeof[\s(]+([\p{ID_Start}$_][\p{ID_Continue}$]*)/gu;

// Names that a test has besides globals.
const OWN = ['assert', 'require', 'module', 'exports', 'arguments'];

export const isRelative = (name) => /^\.{0,2}\//.test(`${name}`);

const NAME = '[\\p{ID_Start}$_][\\p{ID_Continue}$]*';
const IMPORT = new RegExp(
    `(^[ \\t]*|;[ \\t]*)import\\s*(?:(${NAME})\\s*,?\\s*)?` +
        `(?:\\*\\s*as\\s+(${NAME})\\s*|(\\{[^}]*\\})\\s*)?` +
        '(?:from\\s*)?(["\'][^"\'\\n]+["\'])',
    'gmu',
);

// Replaces import declarations, which a function cannot contain. Lines do not change.
function asBody(text) {
    return text.replace(IMPORT, (whole, space, standard, all, names, source) => {
        const isOfProgram = isRelative(source.slice(1, -1));
        const parts = [];
        const live = [];
        const isOwn = (name) => Object.hasOwn(library.standard, name);
        const bind = (local, name, value) => {
            if (isOfProgram && !isOwn(local)) live.push([local, name]);
            else parts.push(`const ${local} = ${value};`);
        };
        if (standard !== undefined) bind(standard, 'default', `require.default(${source})`);
        if (all !== undefined) parts.push(`const ${all} = require(${source});`);
        for (const item of (names ?? '{}').slice(1, -1).split(',')) {
            const [name, local = name] = item.trim().split(/\s+as\s+/);
            if (name === '') continue;
            if (name === 'default') bind(local, name, `require.default(${source})`);
            else bind(local, name, `require(${source})[${JSON.stringify(name)}]`);
        }
        if (live.length > 0) parts.unshift(`require.names(${source}, ${JSON.stringify(live)});`);
        if (parts.length === 0) parts.push(`require(${source});`);
        return space + parts.join(' ') + '\n'.repeat(whole.split('\n').length - 1);
    });
}

// The text that is compiled, and the number of its lines that belong to the setup.
export function textOf(blobs) {
    const [setup, text] = blobs.map((blob) => decode(blob, 0, blob.length));
    const isSetUp = setup.trim() !== '';
    const body = asBody(isSetUp ? `${setup}\n${text}` : text);
    return { body, setupLines: isSetUp ? setup.split('\n').length : 0 };
}

// A test that is defined with a name and a function, as with Mocha and Jest.
const DEFINED = new RegExp(
    '(?:^|[;{}])\\s*(describe|suite|it|test|specify)(?:\\.\\w+)*\\s*\\(\\s*' +
        '(["\'`])(?:(?!\\2).)*\\2\\s*,\\s*(?:async\\b\\s*)?(?:\\(|function\\b|[\\w$]+\\s*=>)',
    'm',
);
const EXPECTED = /\)\s*\.(?:not\.|resolves\.|rejects\.)*to[A-Z]\w*\(/;
const RUNNERS = /["'](?:node:test|@jest\/globals|vitest|mocha)["']/;

// The names of a test runner that a test uses. Programs can define the same names, and so can the
// test itself, so it must be written for a runner.
function runnerOf(body) {
    const isDeclared = (name) =>
        new RegExp(`\\b(?:const|let|var|function)\\s+${name}\\b`).test(body);
    const found = DEFINED.exec(body);
    const isDefined = found !== null && !isDeclared(found[1]);
    const isExpected = /\bexpect\s*\(/.test(body) && EXPECTED.test(body);
    // `after(3, f)` is a function of the program, `after(() => ...)` a hook.
    const call =
        '(?:\\.each\\b|(?:\\.\\w+)*\\s*\\(\\s*' +
        '(?:["\'`]|(?:async\\b\\s*)?(?:\\(|function\\b|\\w+\\s*=>)))';
    const isCalled = (name) => new RegExp(`\\b${name}${call}`).test(body);
    const names = Object.keys(library.testing.names).filter((name) => {
        if (!new RegExp(`\\b${name}\\b`).test(body) || isDeclared(name)) return false;
        if (name === 'expect') return isExpected;
        if (/^(?:jest|vi)$/.test(name)) return body.includes(`${name}.fn(`) || isExpected;
        return isDefined && isCalled(name);
    });
    return { names, isRun: isDefined || RUNNERS.test(body) };
}

// The request for the program's variables, which the program answers before the test begins. It
// does not depend on the text of the test, which the program must not learn.
const FIRST_REQUEST = { op: 'peer', do: 'variables', t: null, a: [], q: [0, 0] };

// Compiles a test. The first blob contains what the test needs, the second one the first request.
export function compileTest(header, blobs) {
    const { body } = textOf(blobs);
    const runner = runnerOf(body);
    const isOwn = (name) =>
        name in library.globals || OWN.includes(name) || runner.names.includes(name);
    const names = [...new Set(body.match(WORD) ?? [])].filter((name) => !isOwn(name));
    const examined = Array.from(body.matchAll(EXAMINED), ([, name]) => name);
    const found = {
        names,
        runner,
        examined: examined.filter((name) => names.includes(name)),
        replaceable: replaceable(body),
    };
    try {
        const [code] = compile(
            `(async function (require, module, exports) {\n${body}\n})`,
            'test.js',
            0,
            false,
        );
        const first = messages.write({ ...FIRST_REQUEST });
        return messages.write({ end: 'compiled' }, messages.write(found, code), first);
    } catch (error) {
        return messages.write({ end: 'refused', message: describe(error, body, 'test.js') });
    }
}

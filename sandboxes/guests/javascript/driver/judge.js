// The test's side: runs an `assert` test, in which the program's names are shared objects.
//
// The program's instance may be under an attacker's control. It can answer a request with any data,
// but cannot see this instance, in which no code of the program runs. It can use what the test has
// passed to it, as it could natively, except that it cannot change functions and classes.

import { compile, decode, exchange, kind, load, promise as promiseState, published } from 'host';

import { placeOf, describe, limitOf } from './failures.js';
import { inspect } from './inspect.js';
import { JointLoop, noteStatus } from './joint.js';
import { loop } from './loop.js';
import * as messages from './messages.js';
import { replaced, watch } from './overrides.js';
import { Recorder } from './recorder.js';
import { Packer, Unpacker, begin, carryOut, isLent, isOfProgram, numberOf } from './sharing.js';

const library = published();

const state = {
    isJudging: false,
    // Whether the test has ended. No requests are sent after that.
    isClosed: false,
    // Whether the test has used anything from the program.
    isUsed: false,
    // Status with which the test exits.
    status: undefined,
    // Time that the program knows, in milliseconds.
    time: 0,
    // Variables of the program that the test has read.
    variables: new Map(),
};

const recorder = new Recorder();

// Errors that the program raised, with the description from the program's instance and the limit.
const raised = new WeakMap();

class Exit {}

export const isJudging = () => state.isJudging;

// Marks an error as raised by the program.
function blame(error, reply) {
    const isObject = error !== null && typeof error === 'object';
    if (isObject) raised.set(error, reply);
    return error;
}

// Sends a request about an object of the program, or about the program as a whole, and returns the
// reply with its reader.
function exchangeWith(method, target, args) {
    if (state.isClosed) throw new Error('the test has ended');
    const packer = new Packer();
    let message;
    try {
        const packed = args.map((arg) => packer.pack(arg));
        message = { op: 'peer', do: method, t: target, a: packed };
        const changed = replaced(packer);
        if (changed.length > 0) message.o = changed;
        packer.finish(message);
    } catch (error) {
        packer.discard();
        throw error;
    }
    if (loop.time !== state.time) message.time = state.time = loop.time;
    const { header: reply } = messages.read(exchange(messages.write(message)));
    return reply;
}

function read(reply, record) {
    const unpacker = new Unpacker();
    let result;
    try {
        noteStatus(reply.s);
        state.time = loop.time;
        unpacker.begin(reply);
        for (const [name, packed] of reply.w ?? []) {
            if (state.variables.has(name)) state.variables.set(name, unpacker.unpack(packed));
        }
        result = unpacker.unpack('x' in reply ? reply.x : reply.v);
    } catch (error) {
        throw blame(error, {});
    }
    if ('x' in reply) {
        recorder.fail(record, reply.text);
        throw blame(result, reply);
    }
    recorder.end(record, result, isLent(result));
    return result;
}

// Uses an object of the program.
function ask(method, target, args) {
    state.isUsed = true;
    const isCall = method === 'call' || method === 'construct';
    const record = isCall ? recorder.begin(target, args.slice(1)) : undefined;
    const result = read(exchangeWith(method, target, args), record);
    if (method === 'get') recorder.nameProperty(target, args[0], numberOf(result));
    return result;
}

// Uses the program as a whole.
function tell(method, args) {
    return read(exchangeWith(method, null, args));
}

// Answers a request of the program.
export function answerProgram(header) {
    let packer = new Packer();
    try {
        const unpacker = new Unpacker();
        unpacker.begin(header);
        const args = header.a.map((arg) => unpacker.unpack(arg));
        const value = carryOut(header.do, header.t, args);
        return messages.write(packer.finish({ v: packer.pack(value) }));
    } catch (error) {
        packer.discard();
        packer = new Packer();
        return messages.write(packer.finish({ x: packer.pack(error) }));
    }
}

const WORD = /[\p{ID_Start}$_][\p{ID_Continue}$]*/gu;

// A name whose absence the test can examine without an error.
const EXAMINED = /\btypeof[\s(]+([\p{ID_Start}$_][\p{ID_Continue}$]*)/gu;

// Defines the program's names as globals of the test. A name is requested when the test reads it,
// so the program sees the names that the test evaluates, but not the words of its strings.
function defineNames(text) {
    const { globals } = library;
    const isOwn = (name) => name in globals || Object.hasOwn(library.standard, name);
    const names = [...new Set(text.match(WORD) ?? [])].filter((name) => !isOwn(name));
    const values = state.variables;
    const isKnown = (name) => {
        state.isUsed = true;
        if (!values.has(name)) {
            const reply = exchangeWith('name', null, [name]);
            const value = read(reply);
            if (!('v' in reply)) return false;
            values.set(name, value);
            const number = numberOf(value);
            if (number !== undefined) recorder.name(number, name, true);
        }
        return true;
    };
    for (const name of names) {
        Object.defineProperty(globals, name, {
            configurable: true,
            get: () => {
                if (isKnown(name)) return values.get(name);
                throw library.make.error('ReferenceError', `${name} is not defined`);
            },
            set: (changed) => {
                values.set(name, changed);
            },
        });
    }
    let isAbsenceExamined = false;
    for (const [, name] of text.matchAll(EXAMINED)) {
        if (!names.includes(name) || isKnown(name)) continue;
        delete globals[name];
        isAbsenceExamined = true;
    }
    state.isUsed = isAbsenceExamined;
    return { names, values };
}

const isRelative = (name) => /^\.{0,2}\//.test(`${name}`);

// Like `require`, but a relative name returns the exports of the program.
function requireOfTest(name) {
    if (!isRelative(name)) return library.requireModule(name);
    state.isUsed = true;
    return tell('exports', [`${name}`]);
}

// Defines the imports from the program as globals, so that they change when the program's variables
// do. The names are pairs of a local name and the name of an export.
requireOfTest.names = (source, pairs) => {
    const module = requireOfTest(source);
    for (const [local, name] of pairs) {
        Object.defineProperty(library.globals, local, {
            configurable: true,
            get: () => (name === 'default' ? defaultOf(module) : module[name]),
        });
    }
};

function defaultOf(module) {
    const isModule = module !== null && typeof module === 'object' && 'default' in module;
    return isModule ? module.default : module;
}

requireOfTest.default = (source) =>
    isRelative(source) ? defaultOf(requireOfTest(source)) : library.requireModule(source);

const NAME = '[\\p{ID_Start}$_][\\p{ID_Continue}$]*';
const IMPORT = new RegExp(
    `(^[ \\t]*|;[ \\t]*)import\\s*(?:(${NAME})\\s*,?\\s*)?(?:\\*\\s*as\\s+(${NAME})\\s*|(\\{[^}]*\\})\\s*)?` +
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

function prepareRealm() {
    const { globals, process, console, assert } = library;
    Object.defineProperty(globals, 'assert', { value: assert, writable: true, configurable: true });
    console.assert = (condition, ...args) => {
        if (condition) return;
        const message = args.length === 0 ? 'Assertion failed' : library.format(...args);
        throw new library.AssertionError({
            message,
            actual: condition,
            expected: true,
            operator: '==',
        });
    };
    process.exit = (status) => {
        state.status ??= Number(status ?? process.exitCode ?? 0);
        throw new Exit();
    };
}

// The text that is compiled, and the number of its lines that belong to the setup.
function textOf(blobs) {
    const [setup, text] = blobs.map((blob) => decode(blob, 0, blob.length));
    const isSetUp = setup.trim() !== '';
    const body = asBody(isSetUp ? `${setup}\n${text}` : text);
    return { body, setupLines: isSetUp ? setup.split('\n').length : 0 };
}

// Compiles a test. The names that it uses are requested while it runs, hence the empty blob.
export function compileTest(header, blobs) {
    const { body } = textOf(blobs);
    try {
        const [code] = compile(
            `(async function (require, module, exports) {\n${body}\n})`,
            'test.js',
            0,
            false,
        );
        return messages.write({ end: 'compiled' }, code, new Uint8Array(0));
    } catch (error) {
        return messages.write({ end: 'refused', message: describe(error, body, 'test.js') });
    }
}

// Runs a compiled test. The last two blobs are its texts.
export function judge(header, [code, , ...texts]) {
    const text = textOf(texts);
    state.isJudging = true;
    begin(true, ask);
    watch(body);
    prepareRealm();
    let words;
    try {
        words = defineNames(text.body);
    } catch (error) {
        return messages.write({
            end: 'raised',
            message: `the program's names cannot be read: ${describe(error)}`,
        });
    }
    const ended = run(load(code));
    if (ended === undefined) return messages.write({ end: 'finished' });
    state.isClosed = true;
    return messages.write(ending(ended.error, words, text));
}

// Runs the test. Returns the error with which it ended, or undefined.
function run(test) {
    const { make } = library;
    const failures = [];
    loop.uncaught = (error) => failures.push(error);
    loop.unhandled = (reason) => failures.push(reason);
    const module = make.object();
    module.exports = make.object();
    let promise;
    try {
        promise = make.call(test, undefined, [requireOfTest, module, module.exports]);
        new JointLoop(tell).run(
            () => failures.length > 0 || promiseState(promise)[0] === 2,
            () => promiseState(promise)[0] === 0,
        );
    } catch (error) {
        failures.push(error);
    }
    if (state.status !== undefined) {
        if (state.status === 0) return undefined;
        return { error: library.make.error('Error', `the test exits with status ${state.status}`) };
    }
    const [status, result] = promise === undefined ? [0] : promiseState(promise);
    if (status === 2) return { error: result };
    if (failures.length > 0) return { error: failures[0] };
    if (status === 0)
        return {
            error: library.make.error(
                'Error',
                'the test does not end: it waits for a promise that is never settled',
            ),
        };
    return undefined;
}

function isMissing(error, { names, values }) {
    const name = /^(\S+) is not defined$/.exec(error?.message)?.[1];
    return kind(error) === 'Error' && names.includes(name) && !values.has(name);
}

function ending(error, words, place) {
    const reply = raised.get(error) ?? (isOfProgram(error) ? {} : undefined);
    const limit = reply?.limit ?? limitOf(error);
    let end = 'refuted';
    let message = describe(error, place.body, 'test.js');
    if (reply !== undefined) {
        end = 'raised';
        if (typeof reply.text === 'string') message = `${reply.text.slice(0, 4000)}\n${message}`;
    } else if (limit !== undefined) {
        end = 'unjudgeable';
    } else if (isMissing(error, words)) {
        end = 'raised';
    } else if (!state.isUsed) {
        end = 'unjudgeable';
    }
    return { end, message, details: details(error, limit, place) };
}

function details(error, limit, { body, setupLines }) {
    const found = {};
    const at = kind(error) === 'Error' ? placeOf(error) : undefined;
    if (at?.file === 'test.js') {
        const isSetup = at.line <= setupLines;
        found.file = isSetup ? 'setup.js' : 'test.js';
        found.line = isSetup ? at.line : at.line - setupLines;
        found.source = (body.split('\n')[at.line - 1] ?? '').trim().slice(0, 400);
    }
    if (error instanceof library.AssertionError && !raised.has(error)) {
        found.operator = `${error.operator}`;
        found.left = recorder.shown(error.actual);
        found.right = recorder.shown(error.expected);
    }
    found.calls = recorder.report();
    if (limit !== undefined) found.limit = { cause: `${limit.cause}`, name: `${limit.name}` };
    return found;
}

// The test's side: runs an `assert` test, in which the program's names are stand-ins.
//
// The program's instance may be under an attacker's control. It can answer a request with any data,
// but cannot see this instance, in which no code of the program runs. Functions of the test can be
// lent to the program, which can only call them.

import { compile, decode, exchange, kind, load, promise as promiseState, published } from 'host';

import { placeOf, describe, limitOf } from './failures.js';
import { inspect } from './inspect.js';
import { loop, runLoop } from './loop.js';
import * as messages from './messages.js';
import { Recorder } from './recorder.js';
import { Packer, Unpacker } from './transfer.js';

const library = published();

const state = {
    isJudging: false,
    // Whether the test has ended. No requests are sent after that.
    isClosed: false,
    // Whether the test has used anything from the program.
    isUsed: false,
    // Status with which the test exits.
    status: undefined,
};

const recorder = new Recorder();

// Functions of the test that were lent to the program.
const lent = [];
const numbers = new Map();
const standIns = new Map();
const origins = new WeakMap();

// Errors that the program raised, with the description from the program's instance and the limit.
const raised = new WeakMap();

class Exit {}

export const isJudging = () => state.isJudging;

function lend(value) {
    if (!numbers.has(value)) {
        numbers.set(value, lent.length);
        lent.push(value);
    }
    return numbers.get(value);
}

function exportOwn(packer, value) {
    const theirs = origins.get(value);
    if (theirs !== undefined) return { $: 'yours', v: theirs };
    if (typeof value === 'function') return { $: 'function', v: lend(value) };
    // Instances of the test's own classes are copied as plain objects.
    return undefined;
}

const KINDS = ['function', 'thing', 'promise', 'yours'];

function reference(unpacker, packed) {
    const { $: tag, v: value } = packed;
    if (!KINDS.includes(tag)) throw new TypeError(`a value of kind \`${tag}\` cannot be read`);
    if (tag === 'yours') return lent[value];
    if (tag === 'promise') return promiseOf(unpacker, value);
    if (!Number.isInteger(value)) throw new TypeError('a reference has no number');
    if (!standIns.has(value)) {
        const standIn = new Proxy(
            tag === 'function' ? callable() : library.make.object(),
            new Handler(value),
        );
        standIns.set(value, standIn);
        origins.set(standIn, value);
        library.makeOpaque(standIn);
        recorder.name(value, packed.name);
    }
    return standIns.get(value);
}

// A target without own properties that cannot be redefined.
function callable() {
    return function target() {}.bind();
}

function promiseOf(unpacker, [status, packed]) {
    const result = unpacker.unpack(packed);
    return library.make.promise((resolve, reject) => {
        if (status === 1) resolve(result);
        else if (status === 2) reject(blame(result, {}));
    });
}

// Marks an error as raised by the program.
function blame(error, reply) {
    const isObject = error !== null && typeof error === 'object';
    const marked = isObject
        ? error
        : library.make.error('Error', `the program threw ${inspect(error)}`);
    raised.set(marked, reply);
    return isObject ? marked : error;
}

class Handler {
    constructor(number) {
        this.number = number;
    }

    get(target, key) {
        const value = ask(this.number, 'get', [key]);
        recorder.nameProperty(this.number, key, origins.get(value));
        return value;
    }

    set(target, key, value) {
        return Boolean(ask(this.number, 'set', [key, value]));
    }

    has(target, key) {
        return Boolean(ask(this.number, 'has', [key]));
    }

    deleteProperty(target, key) {
        return Boolean(ask(this.number, 'delete', [key]));
    }

    ownKeys() {
        return [...new Set(Array.from(ask(this.number, 'keys', []), (key) => `${key}`))];
    }

    getOwnPropertyDescriptor(target, key) {
        const found = ask(this.number, 'describe', [key]);
        if (!Array.isArray(found)) return undefined;
        return {
            value: found[0],
            enumerable: found[1] === true,
            writable: true,
            configurable: true,
        };
    }

    defineProperty(target, key, { value }) {
        return Boolean(ask(this.number, 'set', [key, value]));
    }

    getPrototypeOf() {
        const found = ask(this.number, 'prototype', []);
        return found !== null && (typeof found === 'object' || typeof found === 'function')
            ? found
            : null;
    }

    apply(target, self, args) {
        return ask(this.number, 'call', [origins.has(self) ? self : undefined, args]);
    }

    construct(target, args) {
        const made = ask(this.number, 'construct', [args]);
        return made !== null && typeof made === 'object' ? made : library.make.object();
    }
}

// Sends a request to the program and returns the result.
function ask(target, method, args) {
    if (state.isClosed) throw new Error('the test has ended');
    state.isUsed = true;
    const packer = new Packer(exportOwn);
    const packed = args.map((arg) => packer.pack(arg));
    const isCall = method === 'call' || method === 'construct';
    const record = isCall ? recorder.begin(target, args.at(-1)) : undefined;
    const { header: reply } = messages.read(
        exchange(messages.write({ op: 'peer', target, method, args: packed })),
    );
    return readReply(reply, [...packer.numbers.keys()], record);
}

function readReply(reply, containers, record) {
    const unpacker = new Unpacker(reference, containers);
    let result;
    try {
        for (const [at, content] of reply.changed ?? []) {
            const container = containers[at];
            if (container !== undefined && kindsMatch(container, content))
                unpacker.fill(container, content);
        }
        if (!('raised' in reply)) {
            result = unpacker.unpack(reply.value);
            recorder.end(record, result, origins.get(result));
            return result;
        }
        result = unpacker.unpack(reply.raised);
    } catch (error) {
        throw blame(error, {});
    }
    recorder.fail(record, reply.text);
    if (Number.isInteger(reply.raised?.thing) && typeof result === 'object') {
        origins.set(result, reply.raised.thing);
    }
    throw blame(result, reply);
}

// Whether these contents belong to a container of this kind.
function kindsMatch(container, content) {
    const kinds = {
        array: 'Array',
        object: 'Object',
        bare: 'Object',
        map: 'Map',
        set: 'Set',
        date: 'Date',
        error: 'Error',
    };
    const name = kind(container);
    return kinds[content?.$] === name || (content?.$ === 'view' && ArrayBuffer.isView(container));
}

// Answers a request of the program, which can only call functions that were lent to it.
export function answerProgram(header) {
    const containers = [];
    const unpacker = new Unpacker(reference, containers);
    const packer = new Packer(exportOwn);
    const reply = {};
    try {
        const target = lent[header.target];
        if (header.method !== 'call' || typeof target !== 'function') {
            throw library.make.error('TypeError', 'the test has not lent this');
        }
        const args = header.args.map((arg) => unpacker.unpack(arg));
        containers.forEach((container, at) => packer.numbers.set(container, at));
        reply.value = packer.pack(Reflect.apply(target, undefined, args));
    } catch (error) {
        reply.raised = packer.pack(error);
    }
    if (containers.length > 0) {
        reply.changed = containers.map((container, at) => [at, packer.contents(container)]);
    }
    return messages.write(reply);
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
    const values = new Map();
    const isKnown = (name) => {
        state.isUsed = true;
        if (!values.has(name)) {
            const found = ask(undefined, 'names', [[name]]);
            if (!Object.hasOwn(found, name)) return false;
            const value = found[name];
            values.set(name, value);
            if (origins.has(value)) recorder.name(origins.get(value), name, true);
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

// Like `require`, but a relative name returns the exports of the program.
function requireOfTest(name) {
    if (!/^\.{0,2}\//.test(`${name}`)) return library.requireModule(name);
    return ask(undefined, 'exports', []);
}

function asBody(text) {
    return text
        .replace(
            /^(\s*)import\s+(?:\*\s+as\s+)?([\w$]+)\s+from\s+(['"][^'"]+['"])/gm,
            '$1const $2 = require($3)',
        )
        .replace(
            /^(\s*)import\s*\{([^}]*)\}\s*from\s+(['"][^'"]+['"])/gm,
            (_, space, names, source) => {
                return `${space}const {${names.replace(/\bas\b/g, ':')}} = require(${source})`;
            },
        );
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
        runLoop(() => failures.length > 0 || promiseState(promise)[0] === 2);
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
    const reply = raised.get(error);
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

// The test's side: runs an `assert` test, in which the program's names are shared objects.

import { kind, load, promise as promiseState, published } from 'host';

import { ask, raised, readFirst, recorder, requestVariable, state, tell } from './connection.js';
import { describe, limitOf, placeOf } from './failures.js';
import { JointLoop } from './joint.js';
import { loop } from './loop.js';
import * as messages from './messages.js';
import { watch } from './overrides.js';
import { begin, isOfProgram } from './sharing.js';
import { isRelative, textOf } from './test_text.js';

const library = published();

class Exit {}

// Defines the program's names as globals of the test. The value of a name is requested when the
// test reads it, so the program sees the names that the test evaluates, but not the words of its
// strings.
function defineNames({ names, examined }) {
    const { globals } = library;
    const { variables } = state;
    const isKnown = (name) => {
        state.isUsed = true;
        return variables.has(name) || requestVariable(name);
    };
    for (const name of names) {
        Object.defineProperty(globals, name, {
            configurable: true,
            get: () => {
                if (isKnown(name)) return variables.get(name);
                throw library.make.error('ReferenceError', `${name} is not defined`);
            },
            set: (changed) => {
                variables.set(name, changed);
            },
        });
    }
    let isAbsenceExamined = false;
    for (const name of examined) {
        if (isKnown(name)) continue;
        delete globals[name];
        isAbsenceExamined = true;
    }
    state.isUsed = isAbsenceExamined;
}

// Like `require`, but a relative name returns the exports of the program.
function requireOfTest(name) {
    if (Object.hasOwn(library.testing.modules, name)) return library.testing.modules[name];
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
    isRelative(source) ? defaultOf(requireOfTest(source)) : requireOfTest(source);

function prepareRealm(runnerNames) {
    const { globals, process, console, assert } = library;
    Object.defineProperty(globals, 'assert', { value: assert, writable: true, configurable: true });
    for (const name of runnerNames) {
        const value = library.testing.names[name];
        Object.defineProperty(globals, name, { value, writable: true, configurable: true });
    }
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

// Runs a compiled test. The second blob is the program's reply to the first request, the last two
// are the texts of the test.
export function judge(header, [compiled, first, ...texts]) {
    const {
        header: words,
        blobs: [code],
    } = messages.read(compiled);
    state.isJudging = true;
    begin(true, ask);
    watch(words.replaceable);
    prepareRealm(words.runner.names);
    try {
        readFirst(first);
        defineNames(words);
    } catch (error) {
        return messages.write({
            end: 'raised',
            message: `the program's names cannot be read: ${describe(error)}`,
        });
    }
    const ended = run(load(code), words.runner.isRun);
    if (ended === undefined) return messages.writeFinished();
    state.isClosed = true;
    return messages.write(ending(ended.error, words, textOf(texts)));
}

// Runs the test. Returns the error with which it ended, or undefined.
function run(test, hasRunner) {
    const { make } = library;
    const failures = [];
    loop.uncaught = (error) => failures.push(error);
    loop.unhandled = (reason) => failures.push(reason);
    const module = make.object();
    module.exports = make.object();
    let promise;
    try {
        promise = make.call(test, undefined, [requireOfTest, module, module.exports]);
        if (hasRunner) promise = library.testing.finish(promise);
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

function isMissing(error, { names }) {
    const name = /^(\S+) is not defined$/.exec(error?.message)?.[1];
    return kind(error) === 'Error' && names.includes(name) && !state.variables.has(name);
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

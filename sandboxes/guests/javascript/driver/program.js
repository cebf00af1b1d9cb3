// Runs a program, and calls its functions.

import {
    decode,
    encode,
    load as loadCode,
    mayUnwind,
    promise as promiseState,
    published,
    write,
} from 'host';

import { SCOPE } from './compiler.js';
import { describe, limitOf } from './failures.js';
import { loop, runLoop, runTicks } from './loop.js';
import * as messages from './messages.js';
import { BYTES, TooLong, Writer } from './values.js';

const library = published();

// An uncaught exception.
class Uncaught {
    constructor(error) {
        this.error = error;
    }
}

loop.uncaught = (error) => {
    if (error instanceof Uncaught) throw error;
    if (!library.catches(error, 'uncaughtException')) throw new Uncaught(error);
};

loop.unhandled = (reason, promise) => {
    if (library.catchesRejection(reason, promise)) return;
    if (!library.catches(reason, 'unhandledRejection')) throw new Uncaught(reason);
};

const MAIN = '/main.js';

// The loaded program.
const program = {
    isMain: false,
    parts: [],
    // Readers of the top-level variables, by name.
    scope: {},
    module: undefined,
    // The object that the program can fill with its exports.
    exports: undefined,
    namespace: undefined,
    source: undefined,
    // A promise whose rejection is not reported, because the driver waits for it.
    awaited: undefined,
};

export function noteRejection(promise, reason, isHandled) {
    if (isHandled) loop.rejected.delete(promise);
    else if (promise !== program.awaited) loop.rejected.set(promise, reason);
}

export function load(header, blobs) {
    const { header: table, blobs: codes } = messages.read(blobs[0]);
    program.isMain = header.module === '__main__';
    program.parts = [];
    let at = 0;
    for (const kind of table.kinds) {
        const part = { kind, code: codes[at++] };
        if (kind === 'function') {
            const scoped = codes[at++];
            part.run = loadCode(program.isMain ? part.code : scoped);
        }
        program.parts.push(part);
    }
    if (table.kinds[0] !== 'script') return messages.writeFinished();
    return messages.write({ end: 'finished', prelude: true });
}

export function prelude() {
    const own = program.parts.filter(({ kind }) => kind === 'script');
    const ended = guarded(() => {
        for (const { code } of own) loadCode(code);
        runTicks();
    });
    return messages.write(ended);
}

// Runs a part of the program and returns how it ended.
function guarded(run) {
    try {
        run();
        return { end: 'finished' };
    } catch (thrown) {
        const error = thrown instanceof Uncaught ? thrown.error : thrown;
        const message = describe(error, program.source?.());
        write(2, `${message}\n\nNode.js ${library.process.version}\n`);
        const ended = { end: 'raised', message };
        const limit = limitOf(error);
        if (limit !== undefined) ended.details = { limit };
        return ended;
    }
}

function runFunction(part) {
    const { make, requireModule } = library;
    const module = make.module();
    requireModule.main = program.isMain ? module : undefined;
    program.module = module;
    program.source = () =>
        Function.prototype.toString.call(part.run).split('\n').slice(1).join('\n');
    const readers = (scope) => {
        program.scope = scope;
    };
    const { exports } = module;
    program.exports = exports;
    library.addModule(MAIN, module);
    try {
        make.call(part.run, exports, [exports, requireModule, module, MAIN, '/', readers]);
    } catch (error) {
        // Continues if the program has a listener for uncaught exceptions.
        loop.uncaught(error);
    }
    module.loaded = true;
}

function runModule(part) {
    const { globals } = library;
    Object.defineProperty(globals, SCOPE, {
        configurable: true,
        value: (scope) => {
            delete globals[SCOPE];
            program.scope = scope;
        },
    });
    const [promise, namespace] = loadCode(part.code);
    program.namespace = namespace;
    program.awaited = promise;
    loop.rejected.delete(promise);
    // An ES module is evaluated in a job, so jobs precede ticks.
    const isSettled = () => promiseState(promise)[0] !== 0;
    const { ticks } = loop;
    loop.ticks = [];
    runTicks();
    loop.ticks.unshift(...ticks);
    if (!isSettled()) runLoop(isSettled);
    const [state, result] = promiseState(promise);
    if (state === 2) throw new Uncaught(result);
    if (state === 0 && program.isMain) {
        write(2, 'Warning: Detected unsettled top-level await at /main.js\n');
        library.process.exit(13);
    }
}

function runMain() {
    for (const part of program.parts) {
        if (part.kind === 'function') runFunction(part);
        else if (part.kind === 'module') runModule(part);
    }
    runTicks();
}

function finish() {
    const { atExit, currentStatus, process } = library;
    runLoop();
    while (process.emit('beforeExit', currentStatus()) && loop.timers.length > 0) runLoop();
    atExit(currentStatus());
}

// Runs the `exit` listeners after an uncaught exception.
function finishRaised(ended) {
    const second = guarded(() => library.atExit(1));
    return second.end === 'finished' ? ended : second;
}

export function main() {
    mayUnwind(true);
    let ended = guarded(runMain);
    if (program.isMain) {
        if (ended.end === 'finished') ended = guarded(finish);
        if (ended.end !== 'finished') ended = finishRaised(ended);
        const status = library.currentStatus();
        if (ended.end === 'finished' && status !== 0) {
            ended = { end: 'exited', status: status & 255 };
        }
    }
    return ended.end === 'finished' ? messages.writeFinished() : messages.write(ended);
}

const isObject = (value) =>
    value !== null && (typeof value === 'object' || typeof value === 'function');

function read(object, name) {
    return isObject(object) && name in object ? object[name] : undefined;
}

// The global variables before the program began: they are not its own.
const standardGlobals = new Map(
    Object.entries(Object.getOwnPropertyDescriptors(library.globals)).map(([name, { value }]) => [
        name,
        value,
    ]),
);

// A top-level variable, an export or a global variable of the program, or `undefined`.
export function variable(name) {
    if (Object.hasOwn(program.scope, name)) {
        try {
            const value = program.scope[name]();
            if (value !== undefined) return { value };
        } catch {
            // The variable is not initialised, or belongs to an inner block.
        }
    }
    for (const object of [program.module?.exports, program.namespace]) {
        const value = read(object, name);
        // Every object has the methods of `Object.prototype`.
        const isInherited = standardGlobals.get('Object')?.prototype[name] === value;
        if (value !== undefined && !isInherited) return { value };
    }
    if (Object.hasOwn(library.globals, name)) {
        const value = library.globals[name];
        if (value !== undefined && value !== standardGlobals.get(name)) return { value };
    }
    const exported = program.module?.exports;
    if (typeof exported === 'function' && exported.name === name) return { value: exported };
    const standard = read(program.namespace, 'default') ?? read(exported, 'default');
    if (typeof standard === 'function' && standard.name === name) return { value: standard };
    return undefined;
}

// Like `variable`, but also finds a top-level variable whose value is `undefined`.
export function binding(name) {
    const found = variable(name);
    if (found !== undefined || !Object.hasOwn(program.scope, name)) return found;
    try {
        return { value: program.scope[name]() };
    } catch {
        return undefined;
    }
}

// Names of the top-level variables.
export const bindingNames = () => Object.keys(program.scope);

// What the program exports. If it exports nothing, its top-level variables.
export function exportsOfProgram() {
    if (program.namespace !== undefined) return program.namespace;
    const exported = program.module?.exports;
    if (!isObject(exported) || typeof exported === 'function' || Reflect.ownKeys(exported).length) {
        return exported;
    }
    if (exported !== program.exports) return exported;
    for (const name of Object.keys(program.scope)) {
        const found = binding(name);
        if (found !== undefined) exported[name] = found.value;
    }
    return exported;
}

// The module that a test requires by a relative name: a file of the task, or the program.
export function requireForTest(name) {
    const file = library.resolveFile(name);
    if (file !== undefined && file !== MAIN) return library.requireModule(file);
    return exportsOfProgram();
}

// The function to call, and its `this`: a function of the program, or a method of `Solution`.
function find(name) {
    const found = variable(name);
    if (found !== undefined) return [found.value, undefined];
    const solution = variable('Solution');
    if (solution !== undefined) {
        const self = library.make.construct(solution.value, []);
        if (typeof self[name] === 'function') return [self[name], self];
        if (typeof solution.value[name] === 'function')
            return [solution.value[name], solution.value];
    }
    throw new Error(`the program defines neither \`${name}\` nor \`Solution.${name}\``);
}

// Waits until a promise is settled, and returns its value.
export function settled(value) {
    let promise = value;
    if (promiseState(promise) === undefined) {
        if (!isObject(promise) || typeof promise.then !== 'function') return value;
        promise = library.make.promise((resolve) => resolve(value));
    }
    program.awaited = promise;
    loop.rejected.delete(promise);
    runLoop(() => promiseState(promise)[0] !== 0);
    const [state, result] = promiseState(promise);
    if (state === 0) throw new Error('the returned promise is never settled');
    if (state === 2) throw new Uncaught(result);
    return result;
}

// Evaluates a script in the global scope, or calls a function of the driver, and runs the event
// loop until nothing is left to do. A promise is awaited. Returns how it ended, and the value.
export function evaluate(code, text) {
    program.source = () => text;
    let value;
    const ended = guarded(() => {
        value = typeof code === 'function' ? code() : settled(loadCode(code));
        runTicks();
        runLoop();
    });
    return { ended, value };
}

export function call(header, blobs) {
    mayUnwind(true);
    const text = (blob) => decode(blob, 0, blob.length);
    const [positional, named] = blobs.map((blob) => library.parse(text(blob)));
    const args = Array.from(positional);
    // JavaScript has no named arguments. They are passed as an object instead.
    if (Object.keys(named).length > 0) args.push(named);
    let written;
    const ended = guarded(() => {
        const [target, self] = find(header.function);
        const value = settled(library.make.call(target, self, args));
        try {
            written = encode(new Writer().write(value));
        } catch (error) {
            if (!(error instanceof TooLong)) throw error;
        }
    });
    if (ended.end !== 'finished') return messages.write(ended);
    if (written === undefined || written.length > BYTES) return messages.write({ end: 'too_long' });
    return messages.write({ end: 'returned' }, written);
}

export function endOf(thrown) {
    return thrown instanceof Uncaught ? thrown.error : thrown;
}

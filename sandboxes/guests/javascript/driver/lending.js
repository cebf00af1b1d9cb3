// The program's side of an `assert` test: answers the requests of the test.

import { exchange, kind, mayUnwind, promise as promiseState, published } from 'host';

import { describe, limitOf } from './failures.js';
import { loop, runTicks } from './loop.js';
import * as messages from './messages.js';
import { endOf, exportsOfProgram, settled, variable } from './program.js';
import { Packer, Unpacker, isPlain, snapshot } from './transfer.js';

const library = published();

// What was lent to the test, and the functions of the test that were lent to the program.
const lent = [];
const numbers = new Map();
const standIns = new Map();
const origins = new WeakMap();

function lend(value) {
    if (!numbers.has(value)) {
        numbers.set(value, lent.length);
        lent.push(value);
    }
    return numbers.get(value);
}

const COPIED = ['Map', 'Set', 'Date', 'RegExp', 'Error'];

// Whether a value is copied. Of the instances of the program's classes, only errors are.
function isCopied(value) {
    const name = kind(value);
    const prototype = Object.getPrototypeOf(value);
    const { globals } = library;
    if (name === 'Error') return true;
    if (COPIED.includes(name)) return prototype === globals[name].prototype;
    if (Array.isArray(value)) return prototype === globals.Array.prototype;
    if (ArrayBuffer.isView(value)) {
        return prototype === globals.Buffer.prototype || prototype === globals[name]?.prototype;
    }
    return name === 'Object' && isPlain(value);
}

function export_(packer, value) {
    const theirs = origins.get(value);
    if (theirs !== undefined) return { $: 'yours', v: theirs };
    if (promiseState(value) !== undefined) return packPromise(packer, value);
    if (typeof value !== 'function' && isCopied(value)) {
        if (kind(value) !== 'Error') return undefined;
        return { ...packer.error(value), thing: lend(value) };
    }
    const name = typeof value === 'function' ? 'function' : 'thing';
    return { $: name, v: lend(value), name: nameOf(value) };
}

function nameOf(value) {
    try {
        const found = typeof value === 'function' ? value.name : value.constructor?.name;
        return typeof found === 'string' ? found.slice(0, 100) : '';
    } catch {
        return '';
    }
}

// Promises are awaited before they are sent.
function packPromise(packer, value) {
    try {
        return { $: 'promise', v: [1, packer.pack(settled(value))] };
    } catch (thrown) {
        const error = endOf(thrown);
        if (promiseState(value)[0] === 0) return { $: 'promise', v: [0, null] };
        return { $: 'promise', v: [2, packer.pack(error)] };
    }
}

function reference(unpacker, packed) {
    if (packed.$ === 'yours') return lent[packed.v];
    const number = packed.v;
    if (!standIns.has(number)) {
        const standIn = library.make.wrap((self, args) => callTest(number, args));
        standIns.set(number, standIn);
        origins.set(standIn, number);
    }
    return standIns.get(number);
}

// Calls a function of the test.
function callTest(number, args) {
    const packer = new Packer(export_);
    const request = {
        op: 'peer',
        target: number,
        method: 'call',
        args: args.map((arg) => packer.pack(arg)),
    };
    const containers = [...packer.numbers.keys()];
    const { header: reply } = messages.read(exchange(messages.write(request)));
    const unpacker = new Unpacker(reference, containers);
    for (const [at, content] of reply.changed ?? []) unpacker.fill(containers[at], content);
    if ('raised' in reply) throw unpacker.unpack(reply.raised);
    return unpacker.unpack(reply.value);
}

const METHODS = {
    names: ([names]) => {
        const found = library.make.object();
        for (const name of names) {
            const known = variable(name);
            if (known !== undefined && !Object.hasOwn(library.standard, name))
                found[name] = known.value;
        }
        return found;
    },
    exports: () => exportsOfProgram(),
    call: ([self, args], target) => library.make.call(target, self, args),
    construct: ([args], target) => library.make.construct(target, args),
    get: ([key], target) => target[key],
    set: ([key, value], target) => Reflect.set(target, key, value),
    has: ([key], target) => key in target,
    delete: ([key], target) => Reflect.deleteProperty(target, key),
    keys: (_, target) => Reflect.ownKeys(target).filter((key) => typeof key === 'string'),
    describe: ([key], target) => {
        const found = Object.getOwnPropertyDescriptor(target, key);
        return found && [target[key], found.enumerable];
    },
    prototype: (_, target) => Object.getPrototypeOf(target),
};

export function answerTest(header) {
    mayUnwind(false);
    const containers = [];
    const unpacker = new Unpacker(reference, containers);
    const args = header.args.map((arg) => unpacker.unpack(arg));
    const before = snapshot(containers, export_);
    const count = containers.length;
    const reply = {};
    const packer = new Packer(export_);
    containers.forEach((container, at) => packer.numbers.set(container, at));
    const target = header.target === undefined ? undefined : lent[header.target];
    try {
        const value = METHODS[header.method](args, target);
        runTicks();
        reply.value = packer.pack(value);
    } catch (thrown) {
        const error = endOf(thrown);
        loop.ticks.length = 0;
        // Discard what was packed before the failure: it is not sent.
        packer.numbers.clear();
        containers.forEach((container, at) => packer.numbers.set(container, at));
        reply.raised = packError(packer, error);
        reply.text = describe(error);
        const limit = limitOf(error);
        if (limit !== undefined) reply.limit = limit;
    }
    if (count > 0) {
        const after = snapshot(containers.slice(0, count), export_);
        reply.changed = [];
        for (let at = 0; at < count; at++) {
            if (before[at] !== after[at]) reply.changed.push([at, packer.contents(containers[at])]);
        }
    }
    return messages.write(reply);
}

function packError(packer, error) {
    try {
        return packer.pack(error);
    } catch {
        return { $: 'error', v: ['Error', 'the error cannot be sent', '', [], 'Error'] };
    }
}

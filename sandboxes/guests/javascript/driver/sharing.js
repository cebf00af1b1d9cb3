// Objects that the instances of a test and of a program share.
//
// Each instance numbers the objects that it introduces. Plain data and instances of classes are
// copied: both instances have an object with the same properties, and each message contains the
// changes since the last one. Only one instance runs at a time, so a program cannot tell a copy from
// the original. Functions, proxies and objects with hidden state are lent: the other instance gets a
// proxy that sends messages. Promises are linked: settling one settles the other.
//
// With each message, the test releases the copies that nothing else in its instance refers to, because
// a test that calls a function a thousand times would otherwise compare the arguments of all calls
// each time. The program holds copies until then: it may use them as keys of a `WeakMap`.

import {
    contents,
    giveNumber,
    hasContents,
    kind,
    lastNumber,
    promise as promiseState,
    proxy as proxyTarget,
    published,
} from 'host';

import { isCopiedClass, isIntrinsic, nameOf, objectOf } from './intrinsics.js';
import { loop } from './loop.js';

const library = published();

// Maximum number of parts of a message.
const PARTS = 2_000_000;

const VIEWS = /^(?:(?:Big)?(?:Int|Uint)(?:8|16|32|64)|Uint8Clamped|Float(?:32|64))Array$/;
const BOXED = ['Number', 'String', 'Boolean', 'Symbol', 'BigInt'];
const COPIED = ['Object', 'Array', 'Map', 'Set', 'Date', 'RegExp', 'Error', 'ArrayBuffer'].concat([
    ...BOXED,
    'Module',
]);

// Flags of properties in the engine.
const [CONFIGURABLE, WRITABLE, ENUMERABLE, ACCESSOR] = [1, 2, 4, 16];

const state = {
    isTest: false,
    // Sends a request for a stand-in.
    ask: undefined,
    count: 0,
    // Promises that were settled since the last message.
    settled: [],
};

// What is shared, by the number of the instance that introduced it.
const mine = new Map();
const theirs = new Map();
const known = new WeakMap();
const copies = new Set();
const symbols = new Map();

const SYMBOLS = new Map(
    Reflect.ownKeys(Symbol)
        .filter((key) => typeof Symbol[key] === 'symbol')
        .map((key) => [Symbol[key], key]),
);

// Whether another instance can use this number for an event. All of them are exact.
const isNumber = (value) => Number.isSafeInteger(value) && value >= 0 && value < 2 ** 50;

const typeError = (message) => library.make.error('TypeError', message);

export function begin(isTest, ask) {
    state.isTest = isTest;
    state.ask = ask;
}

const entryOf = (object) => known.get(object) ?? symbols.get(object);

class Entry {
    constructor(object, number, isMine, isCopy) {
        this.number = number;
        this.isMine = isMine;
        this.isCopy = isCopy;
        // Whether changes by the other instance are ignored.
        this.isSealed = false;
        this.contents = undefined;
        this.object = object;
    }

    // Releases the object. Returns whether nothing else refers to it.
    isGone() {
        const weak = new WeakRef(this.object);
        this.object = undefined;
        this.object = weak.deref();
        return this.object === undefined;
    }
}

function remember(object, number, isMine, isCopy) {
    const entry = new Entry(object, number, isMine, isCopy);
    (isMine ? mine : theirs).set(number, entry);
    if (typeof object === 'symbol') symbols.set(object, entry);
    else known.set(object, entry);
    if (isCopy) copies.add(entry);
    return entry;
}

// Writes a message: what it introduces, and which copies have changed.
export class Packer {
    left = PARTS;
    introduced = [];
    queue = [];

    pack(value) {
        switch (typeof value) {
            case 'boolean':
                return value;
            case 'string':
                this.spend(1 + value.length / 64);
                return value.isWellFormed()
                    ? value
                    : ['t', ...Array.from(value, (c) => c.codePointAt(0))];
            case 'number':
                if (Number.isFinite(value) && !Object.is(value, -0)) return value;
                return ['n', Object.is(value, -0) ? '-0' : `${value}`];
            case 'bigint':
                this.spend(1);
                return ['b', `${value}`];
            case 'undefined':
                return ['u'];
            case 'symbol':
                return this.symbol(value);
            default:
                return value === null ? null : this.object(value);
        }
    }

    spend(parts) {
        this.left -= parts;
        if (this.left < 0) throw library.make.error('RangeError', 'the value is too large to be sent');
    }

    symbol(value) {
        const wellKnown = SYMBOLS.get(value);
        if (wellKnown !== undefined) return ['w', wellKnown];
        const key = Symbol.keyFor(value);
        if (key !== undefined) return ['r', key];
        const entry = symbols.get(value);
        if (entry !== undefined) return [entry.isMine ? 'm' : 'y', entry.number];
        const number = state.count++;
        remember(value, number, true, false);
        this.introduced.push([number, 's', value.description ?? null]);
        return ['m', number];
    }

    object(value) {
        this.spend(1);
        const entry = known.get(value);
        if (entry !== undefined) return [entry.isMine ? 'm' : 'y', entry.number];
        const name = nameOf(value, state.isTest);
        if (name !== undefined) return ['i', name];
        const number = state.count++;
        this.introduce(value, number);
        return ['m', number];
    }

    introduce(value, number) {
        if (typeof value === 'function') {
            remember(value, number, true, false);
            this.introduced.push([number, 'f', nameOfFunction(value)]);
            return;
        }
        if (promiseState(value) !== undefined) {
            this.promise(value, number);
            return;
        }
        const type = typeOfCopy(value);
        if (type === undefined) {
            remember(value, number, true, false);
            const isArray = proxyTarget(value) !== undefined && Array.isArray(value);
            this.introduced.push([number, 'o', isArray]);
            return;
        }
        if (state.isTest && value instanceof library.AssertionError) {
            // It contains expected values.
            remember(value, number, true, false);
            this.introduced.push([number, 'a']);
            return;
        }
        const entry = remember(value, number, true, true);
        const item = [number, 'c', type, null, null, null];
        this.introduced.push(item);
        this.queue.push([entry, value, item]);
    }

    promise(value, number) {
        const [status, result, isHandled] = promiseState(value);
        remember(value, number, true, false);
        const item = [number, 'p', status, null, isHandled];
        this.introduced.push(item);
        if (status === 0) link(value, number);
        else {
            loop.rejected.delete(value);
            library.make.then(value, undefined, () => {});
            item[3] = this.pack(result);
        }
    }

    // Describes what was introduced. Returns all introductions.
    complete() {
        while (this.queue.length > 0) {
            const [entry, value, item] = this.queue.pop();
            const prototype = Object.getPrototypeOf(value);
            item[3] = this.pack(prototype);
            item[4] = this.extra(value, item[2]);
            item[5] = this.describe(entry, value);
            entry.isSealed = state.isTest && isPrototype(value);
        }
        return this.introduced;
    }

    // What is needed to create a copy.
    extra(value, type) {
        if (type === 'RegExp') return [value.source, value.flags];
        if (VIEWS.test(type) || type === 'ArrayBuffer') return value.byteLength;
        if (BOXED.includes(type)) return this.pack(entryValue(value));
        if (type === 'Error') {
            const { stack } = value;
            if (state.isTest) return `${value.name}: ${value.message}`;
            return typeof stack === 'string' ? this.pack(stack) : '';
        }
        return null;
    }

    // The contents of a copy: whether it is extensible, properties, and the rest.
    describe(entry, value) {
        entry.contents = contents(value);
        const [isExtensible, count] = entry.contents;
        const type = kind(value);
        const isArray = type === 'Array';
        const properties = [];
        let length = 0;
        let at = 2;
        this.spend(count);
        for (let i = 0; i < count; i++) {
            const key = entry.contents[at++];
            const flags = entry.contents[at++];
            const held = entry.contents[at++];
            if (flags & ACCESSOR) {
                const setter = entry.contents[at++];
                properties.push(this.key(key), flags, this.pack(held), this.pack(setter));
            } else if (isArray && key === 'length') {
                length = held;
            } else if (type !== 'Error' || key !== 'stack') {
                properties.push(this.key(key), flags, this.pack(held));
            }
        }
        const rest = entry.contents.slice(at);
        if (VIEWS.test(type) || type === 'ArrayBuffer') {
            return [isExtensible, properties, this.bytes(rest[0])];
        }
        this.spend(rest.length);
        const packed = BOXED.includes(type) ? [] : rest.map((item) => this.pack(item));
        return [isExtensible, properties, packed, isArray ? length : 0];
    }

    key(key) {
        return typeof key === 'symbol' ? this.symbol(key) : `${key}`;
    }

    bytes(bytes) {
        this.spend(bytes.length / 64);
        return Array.from(bytes);
    }

    // Copies that have changed since the last message.
    changes() {
        const changed = [];
        for (const entry of copies) {
            const { contents: before, object } = entry;
            if (before === undefined || hasContents(object, before)) continue;
            changed.push([entry.isMine ? 'm' : 'y', entry.number, this.describe(entry, object)]);
        }
        return changed;
    }

    // Numbers of the copies that the test no longer uses; negative for those of the program.
    gone() {
        const gone = [];
        if (!state.isTest) return gone;
        for (const entry of copies) {
            if (!entry.isGone()) continue;
            forget(entry);
            gone.push(entry.isMine ? entry.number : -1 - entry.number);
        }
        return gone;
    }

    settlements() {
        return state.settled
            .splice(0)
            .map(([number, status, value, job]) => [number, status, this.pack(value), job]);
    }

    // Adds to a message what both instances need to know before they read its values.
    finish(message) {
        const changed = this.changes();
        if (state.settled.length > 0) message.p = this.settlements();
        const introduced = this.complete();
        if (introduced.length > 0) message.n = introduced;
        if (changed.length > 0) message.c = changed;
        const gone = this.gone();
        if (gone.length > 0) message.g = gone;
        message.q = [loop.sequence, lastNumber(0)];
        return message;
    }

    // Takes back what was introduced: the message is not sent.
    discard() {
        for (const [number] of this.introduced) forget(mine.get(number));
    }
}

const entryValue = (value) => contents(value).at(-1);

function nameOfFunction(value) {
    const found = Object.getOwnPropertyDescriptor(value, 'name')?.value;
    return typeof found === 'string' && found.isWellFormed() ? found.slice(0, 100) : '';
}

function typeOfCopy(value) {
    const type = kind(value);
    if (proxyTarget(value) !== undefined) return undefined;
    if (!COPIED.includes(type) && !VIEWS.test(type)) return undefined;
    if (isIntrinsic(value)) return undefined;
    for (let at = Object.getPrototypeOf(value); at !== null; at = Object.getPrototypeOf(at)) {
        if (proxyTarget(at) !== undefined) return known.has(at) ? type : undefined;
        if (!isCopiedClass(at)) return undefined;
    }
    return type;
}

// Whether an object is the prototype of a class of the test.
function isPrototype(value) {
    const constructor = Object.getOwnPropertyDescriptor(value, 'constructor')?.value;
    if (typeof constructor !== 'function') return false;
    return Object.getOwnPropertyDescriptor(constructor, 'prototype')?.value === value;
}

// Reports when a promise is settled.
function link(promise, number) {
    loop.rejected.delete(promise);
    const settle = (status) => (value) => {
        state.settled.push([number, status, value, loop.job]);
    };
    library.make.then(promise, settle(1), settle(2));
}

function forget(entry) {
    copies.delete(entry);
    (entry.isMine ? mine : theirs).delete(entry.number);
    if (entry.object === undefined) return;
    if (typeof entry.object === 'symbol') symbols.delete(entry.object);
    else known.delete(entry.object);
}

// Reads a message.
export class Unpacker {
    // Resolvers of promises of the other instance.
    static promises = new Map();

    begin(message) {
        const [sequence, job] = message.q;
        if (isNumber(sequence) && sequence > loop.sequence) loop.sequence = sequence;
        if (isNumber(job)) lastNumber(job);
        const filled = [];
        for (const item of message.n ?? []) this.create(item, filled);
        for (const [item, entry] of filled) this.complete(item, entry);
        for (const [side, number, described] of message.c ?? []) {
            const entry = (side === 'm' ? theirs : mine).get(number);
            const object = entry?.object;
            if (object === undefined || !entry.isCopy || entry.isSealed) continue;
            this.fill(entry, object, described);
        }
        for (const [number, status, value, job] of message.p ?? []) {
            const settle = Unpacker.promises.get(number);
            Unpacker.promises.delete(number);
            // The reactions have the place in the order that they would have in one instance.
            giveNumber(isNumber(job) ? job : 0);
            settle?.[status === 1 ? 0 : 1](this.unpack(value));
            giveNumber(0);
        }
        if (state.isTest) return;
        for (const number of message.g ?? []) {
            const entry = number < 0 ? mine.get(-1 - number) : theirs.get(number);
            if (entry !== undefined) forget(entry);
        }
    }

    create(item, filled) {
        const [number, what] = item;
        if (!Number.isSafeInteger(number) || theirs.has(number)) {
            throw typeError('the number of a shared object is wrong');
        }
        switch (what) {
            case 's':
                remember(item[2] === null ? Symbol() : Symbol(`${item[2]}`), number, false, false);
                break;
            case 'f':
            case 'o':
                remember(standIn(number, what, item[2]), number, false, false);
                break;
            case 'p':
                filled.push([item, remember(this.promise(item), number, false, false)]);
                break;
            case 'a': {
                const error = library.make.error('Error', 'the test failed');
                remember(error, number, false, false);
                break;
            }
            case 'c': {
                filled.push([item, remember(this.copy(item), number, false, true)]);
                break;
            }
            default:
                throw typeError('a message introduces an unknown value');
        }
    }

    promise([number, , status, , isHandled]) {
        let settle;
        const promise = library.make.promise((...both) => {
            settle = both;
        });
        Unpacker.promises.set(number, settle);
        if (isHandled === true || status === 1) library.make.then(promise, undefined, () => {});
        return promise;
    }

    copy([, , type, , extra]) {
        const { make } = library;
        switch (type) {
            case 'Array':
                return make.array();
            case 'Map':
                return make.map();
            case 'Set':
                return make.set();
            case 'Date':
                return make.date(0);
            case 'RegExp':
                return make.regexp(`${extra[0]}`, `${extra[1]}`);
            case 'Error':
                return make.error('Error', '');
            case 'ArrayBuffer':
                return make.buffer(sizeOf(extra));
            case 'Module':
                return make.nullObject();
            default:
                if (VIEWS.test(type)) return make.view(type, sizeOf(extra));
                if (BOXED.includes(type)) return make.boxed(this.unpack(extra));
                return make.object();
        }
    }

    complete([number, what, type, packed, extra, described], entry) {
        if (what === 'p') {
            if (type === 0) return;
            const settle = Unpacker.promises.get(number);
            Unpacker.promises.delete(number);
            settle[type === 1 ? 0 : 1](this.unpack(packed));
            return;
        }
        const { object } = entry;
        const prototype = this.unpack(packed);
        if (prototype !== Object.getPrototypeOf(object)) Reflect.setPrototypeOf(object, prototype);
        if (type === 'Error') {
            Reflect.deleteProperty(object, 'message');
            const value = this.unpack(extra);
            Reflect.defineProperty(object, 'stack', hidden(`${value}`));
        }
        this.fill(entry, object, described);
    }

    // Gives a copy these contents.
    fill(entry, object, [isExtensible, properties, rest, length]) {
        this.fillProperties(object, properties);
        const type = kind(object);
        if (type === 'Array') {
            this.fillArray(object, rest, length);
        } else if (type === 'Map') {
            Map.prototype.clear.call(object);
            for (let at = 0; at + 1 < rest.length; at += 2) {
                Map.prototype.set.call(object, this.unpack(rest[at]), this.unpack(rest[at + 1]));
            }
        } else if (type === 'Set') {
            Set.prototype.clear.call(object);
            for (const item of rest) Set.prototype.add.call(object, this.unpack(item));
        } else if (type === 'Date') {
            Date.prototype.setTime.call(object, this.unpack(rest[0]));
        } else if (VIEWS.test(type)) {
            fillBytes(new Uint8Array(object.buffer, object.byteOffset, object.byteLength), rest);
        } else if (type === 'ArrayBuffer') {
            fillBytes(new Uint8Array(object), rest);
        }
        if (isExtensible === false) Reflect.preventExtensions(object);
        entry.contents = contents(object);
    }

    fillProperties(object, properties) {
        const kept = new Set();
        for (let at = 0; at < properties.length;) {
            const key = this.key(properties[at++]);
            const flags = properties[at++];
            const held = this.unpack(properties[at++]);
            kept.add(key);
            const wanted = {
                enumerable: (flags & ENUMERABLE) !== 0,
                configurable: (flags & CONFIGURABLE) !== 0,
            };
            if (flags & ACCESSOR) {
                wanted.get = functionOf(held);
                wanted.set = functionOf(this.unpack(properties[at++]));
            } else {
                wanted.value = held;
                wanted.writable = (flags & WRITABLE) !== 0;
            }
            Reflect.defineProperty(object, key, wanted);
        }
        const own = Reflect.ownKeys(object);
        if (own.length === kept.size) return;
        const isArray = Array.isArray(object);
        const isText = kind(object) === 'String' || ArrayBuffer.isView(object);
        for (const key of own) {
            if (kept.has(key) || key === 'stack') continue;
            if ((isArray || isText) && typeof key === 'string' && /^(?:\d+|length)$/.test(key)) {
                continue;
            }
            Reflect.deleteProperty(object, key);
        }
    }

    fillArray(object, rest, length) {
        const size = Number.isSafeInteger(length) && length >= rest.length ? length : rest.length;
        if (object.length !== size) Reflect.set(object, 'length', size);
        const isSparse = rest.length === 0 && size > 0;
        for (let at = 0; at < rest.length; at++) {
            const value = this.unpack(rest[at]);
            if (at in object && Object.is(object[at], value)) continue;
            Reflect.defineProperty(object, at, {
                value,
                writable: true,
                enumerable: true,
                configurable: true,
            });
        }
        if (isSparse) return;
        for (let at = rest.length; at < size; at++) Reflect.deleteProperty(object, at);
    }

    key(packed) {
        if (typeof packed === 'string') return packed;
        const key = this.unpack(packed);
        if (typeof key !== 'symbol') throw typeError('a property has no key');
        return key;
    }

    unpack(packed) {
        if (packed === null || typeof packed !== 'object') return packed;
        const [tag, value] = packed;
        switch (tag) {
            case 'u':
                return undefined;
            case 'n':
                return Number(value);
            case 'b':
                return BigInt(value);
            case 't':
                return String.fromCodePoint(...packed.slice(1));
            case 'w':
                return Object.hasOwn(Symbol, `${value}`) ? Symbol[value] : undefined;
            case 'r':
                return Symbol.for(`${value}`);
            case 'i': {
                const object = objectOf(value, state.isTest);
                if (object === undefined) throw typeError('a message names an unknown object');
                return object;
            }
            case 'm':
            case 'y': {
                const entry = (tag === 'm' ? theirs : mine).get(value);
                const object = entry?.object;
                if (object === undefined) throw typeError('a message refers to nothing');
                return object;
            }
            default:
                throw typeError('a message contains an unknown value');
        }
    }
}

const functionOf = (value) => (typeof value === 'function' ? value : undefined);

const sizeOf = (value) => (Number.isSafeInteger(value) && value >= 0 ? value : 0);

const hidden = (value) => ({ value, writable: true, enumerable: false, configurable: true });

function fillBytes(target, bytes) {
    for (let at = 0; at < target.length; at++) target[at] = bytes[at];
}

// A proxy for an object of the other instance.
function standIn(number, what, detail) {
    if (what === 'f') {
        const target = function target() {}.bind();
        Reflect.defineProperty(target, 'name', { value: `${detail}`, configurable: true });
        return new Proxy(target, new Handler(number));
    }
    const made = new Proxy(
        detail === true ? library.make.array() : library.make.object(),
        new Handler(number),
    );
    library.makeOpaque(made);
    return made;
}

class Handler {
    constructor(number) {
        this.number = number;
    }

    get(target, key, receiver) {
        return state.ask('get', this.number, [key, receiver]);
    }

    set(target, key, value, receiver) {
        return state.ask('set', this.number, [key, value, receiver]) === true;
    }

    has(target, key) {
        return state.ask('has', this.number, [key]) === true;
    }

    deleteProperty(target, key) {
        return state.ask('delete', this.number, [key]) === true;
    }

    ownKeys(target) {
        const isKey = (key) => typeof key === 'string' || typeof key === 'symbol';
        const found = new Set([...state.ask('keys', this.number, [])].filter(isKey));
        if (Array.isArray(target)) found.add('length');
        return [...found];
    }

    getOwnPropertyDescriptor(target, key) {
        const found = state.ask('describe', this.number, [key]);
        if (!Array.isArray(found)) return undefined;
        const [flags, value, setter] = found;
        const described = { enumerable: (flags & ENUMERABLE) !== 0, configurable: true };
        if (Array.isArray(target) && key === 'length') {
            return { value, writable: true, enumerable: false, configurable: false };
        }
        if (flags & ACCESSOR) {
            return { ...described, get: functionOf(value), set: functionOf(setter) };
        }
        return { ...described, value, writable: (flags & WRITABLE) !== 0 };
    }

    defineProperty(target, key, descriptor) {
        const { get, set, value, writable, enumerable, configurable } = descriptor;
        const names = Object.keys(descriptor);
        const args = [key, names, get, set, value, writable, enumerable, configurable];
        return state.ask('define', this.number, args) === true;
    }

    getPrototypeOf() {
        const found = state.ask('prototype', this.number, []);
        const isObject = typeof found === 'object' || typeof found === 'function';
        return isObject ? found : null;
    }

    apply(target, self, args) {
        return state.ask('call', this.number, [self, ...args]);
    }

    construct(target, args, newTarget) {
        const made = state.ask('construct', this.number, [newTarget, ...args]);
        const isObject = typeof made === 'function' || (typeof made === 'object' && made !== null);
        if (!isObject) throw typeError('a constructor returned no object');
        return made;
    }
}

const flagsOf = ({ configurable, writable, enumerable, get, set }) =>
    (configurable ? CONFIGURABLE : 0) |
    (writable ? WRITABLE : 0) |
    (enumerable ? ENUMERABLE : 0) |
    (get !== undefined || set !== undefined ? ACCESSOR : 0);

const METHODS = {
    call: (object, [self, ...args]) => library.make.call(object, self, args),
    construct: (object, [newTarget, ...args]) => {
        return library.make.construct(object, args, newTarget);
    },
    get: (object, [key, receiver]) => Reflect.get(object, key, receiver),
    set: (object, [key, value, receiver]) => Reflect.set(object, key, value, receiver),
    has: (object, [key]) => Reflect.has(object, key),
    delete: (object, [key]) => Reflect.deleteProperty(object, key),
    keys: (object) => library.make.list(Reflect.ownKeys(object)),
    describe: (object, [key]) => {
        const found = Reflect.getOwnPropertyDescriptor(object, key);
        if (found === undefined) return undefined;
        const held = flagsOf(found) & ACCESSOR ? [found.get, found.set] : [found.value];
        return library.make.list([flagsOf(found), ...held]);
    },
    define: (object, [key, names, get, set, value, writable, enumerable, configurable]) => {
        const every = { get, set, value, writable, enumerable, configurable };
        const chosen = {};
        for (const name of names) if (Object.hasOwn(every, name)) chosen[name] = every[name];
        return Reflect.defineProperty(object, key, chosen);
    },
    prototype: (object) => Object.getPrototypeOf(object),
};

// Requests that would change functions and classes of the test.
const CHANGING = ['set', 'delete', 'define'];

// Carries out a request about an object of this instance.
export function carryOut(method, number, args) {
    const entry = mine.get(number);
    if (entry === undefined || entry.isCopy || typeof entry.object === 'symbol') {
        throw typeError('a request refers to nothing');
    }
    const isFunction = typeof entry.object === 'function';
    if (state.isTest && isFunction && CHANGING.includes(method)) return false;
    if (!Object.hasOwn(METHODS, method)) throw new TypeError(`no method \`${method}\``);
    return METHODS[method](entry.object, args);
}

// Numbers that identify objects of the other instance in records of calls.
export function numberOf(value) {
    const entry = known.get(value);
    return entry === undefined || entry.isMine ? undefined : entry.number;
}

// Whether the other instance introduced a value.
export function isOfProgram(value) {
    const entry = entryOf(value);
    return entry !== undefined && !entry.isMine;
}

// Whether a value is a stand-in for an object of the other instance.
export function isLent(value) {
    const entry = known.get(value);
    return entry !== undefined && !entry.isMine && !entry.isCopy;
}

// Whether the other instance must learn that promises were settled.
export const hasSettled = () => state.settled.length > 0;

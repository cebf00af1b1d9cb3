// Reads messages of the other instance. Nothing in them is trusted: a program may have written
// them.

import { contents, giveNumber, kind, lastNumber, published } from 'host';

import { objectOf } from './intrinsics.js';
import { loop } from './loop.js';
import { ACCESSOR, BOXED, CONFIGURABLE, ENUMERABLE, VIEWS, WRITABLE, forget } from './sharing.js';
import { isOfProgram, mine, remember, state, theirs, typeError } from './sharing.js';
import { functionOf, standIn } from './stand_ins.js';

const library = published();

// Whether another instance can use this number for an event. All of them are exact.
const isNumber = (value) => Number.isSafeInteger(value) && value >= 0 && value < 2 ** 50;

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

    // Sets the contents of a copy.
    fill(entry, object, [isExtensible, properties, rest, length]) {
        this.fillProperties(object, properties, state.isTest && entry.isMine);
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

    fillProperties(object, properties, isProtected) {
        const kept = new Set();
        for (let at = 0; at < properties.length;) {
            const key = this.key(properties[at++]);
            const flags = properties[at++];
            const held = this.unpack(properties[at++]);
            kept.add(key);
            const next = flags & ACCESSOR ? this.unpack(properties[at++]) : undefined;
            if (isProtected && isFunctionOfTest(object, key, held)) continue;
            const wanted = {
                enumerable: (flags & ENUMERABLE) !== 0,
                configurable: (flags & CONFIGURABLE) !== 0,
            };
            if (flags & ACCESSOR) {
                wanted.get = functionOf(held);
                wanted.set = functionOf(next);
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
            if (isProtected && isFunctionOfTest(object, key)) continue;
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

// Whether a property of an object of the test is a function of the test, which a program must not
// replace: it may decide whether the test passes.
function isFunctionOfTest(object, key, replacement) {
    for (let at = object; at !== null; at = Object.getPrototypeOf(at)) {
        const found = Reflect.getOwnPropertyDescriptor(at, key);
        if (found === undefined) continue;
        const held = found.get ?? found.set ?? found.value;
        return typeof held === 'function' && held !== replacement && !isOfProgram(held);
    }
    return false;
}

const sizeOf = (value) => (Number.isSafeInteger(value) && value >= 0 ? value : 0);

const hidden = (value) => ({ value, writable: true, enumerable: false, configurable: true });

function fillBytes(target, bytes) {
    for (let at = 0; at < target.length; at++) target[at] = bytes[at];
}

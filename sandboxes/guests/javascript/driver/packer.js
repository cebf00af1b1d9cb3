// Writes messages to the other instance.

import {
    contents,
    hasContents,
    kind,
    lastNumber,
    promise as promiseState,
    proxy as proxyTarget,
    published,
} from 'host';

import { isCopiedClass, isIntrinsic, nameOf } from './intrinsics.js';
import { loop } from './loop.js';
import { ACCESSOR, BOXED, VIEWS, copies, forget, known, mine } from './sharing.js';
import { remember, state, symbols } from './sharing.js';

const library = published();

// Maximum number of parts of a message.
const PARTS = 2_000_000;

const COPIED = ['Object', 'Array', 'Map', 'Set', 'Date', 'RegExp', 'Error', 'ArrayBuffer'].concat([
    ...BOXED,
    'Module',
]);

// Names of the well-known symbols.
const SYMBOLS = new Map(
    Reflect.ownKeys(Symbol)
        .filter((key) => typeof Symbol[key] === 'symbol')
        .map((key) => [Symbol[key], key]),
);

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
        if (this.left < 0)
            throw library.make.error('RangeError', 'the value is too large to be sent');
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

    // Withdraws what was introduced, because the message is not sent.
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

// Objects that the instances of a test and of a program share.
//
// Each instance numbers the objects that it introduces. Plain data and instances of classes are
// copied: both instances have an object with the same properties, and each message contains the
// changes since the last one. Only one instance runs at a time, so a program cannot tell a copy
// from the original. Functions, proxies and objects with hidden state are lent: the other instance
// gets a proxy that sends messages. Promises are linked: settling one settles the other.
//
// With each message, the test releases the copies that nothing else in its instance refers to,
// because a test that calls a function a thousand times would otherwise compare the arguments of
// all calls each time. The program keeps copies until then: it may use them as keys of a `WeakMap`.

import { published } from 'host';

const library = published();

// Flags of properties in the engine.
export const [CONFIGURABLE, WRITABLE, ENUMERABLE, ACCESSOR] = [1, 2, 4, 16];

export const VIEWS = /^(?:(?:Big)?(?:Int|Uint)(?:8|16|32|64)|Uint8Clamped|Float(?:32|64))Array$/;
export const BOXED = ['Number', 'String', 'Boolean', 'Symbol', 'BigInt'];

export const state = {
    isTest: false,
    // Sends a request for a stand-in.
    ask: undefined,
    count: 0,
    // Promises that were settled since the last message.
    settled: [],
};

// What is shared, by the number of the instance that introduced it.
export const mine = new Map();
export const theirs = new Map();
export const known = new WeakMap();
export const copies = new Set();
export const symbols = new Map();

export function begin(isTest, ask) {
    state.isTest = isTest;
    state.ask = ask;
}

export const entryOf = (object) => known.get(object) ?? symbols.get(object);

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

export function remember(object, number, isMine, isCopy) {
    const entry = new Entry(object, number, isMine, isCopy);
    (isMine ? mine : theirs).set(number, entry);
    if (typeof object === 'symbol') symbols.set(object, entry);
    else known.set(object, entry);
    if (isCopy) copies.add(entry);
    return entry;
}

export function forget(entry) {
    copies.delete(entry);
    (entry.isMine ? mine : theirs).delete(entry.number);
    if (entry.object === undefined) return;
    if (typeof entry.object === 'symbol') symbols.delete(entry.object);
    else known.delete(entry.object);
}

export const typeError = (message) => library.make.error('TypeError', message);

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

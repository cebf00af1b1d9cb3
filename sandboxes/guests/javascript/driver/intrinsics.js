// Names of the objects that both instances have from the start: those of the language, and those of
// the library for programs. Messages contain their names, so each instance uses its own.

import { published } from 'host';

const library = published();

const names = new Map();
const objects = new Map();

const isObject = (value) =>
    value !== null && (typeof value === 'object' || typeof value === 'function');

function add(name, object) {
    if (!isObject(object) || names.has(object)) return false;
    names.set(object, name);
    objects.set(name, object);
    return true;
}

// Objects of the language that are safe for the test to receive from a program, because calling
// them runs no code of a text.
const LANGUAGE =
    'Object Array Map Set WeakMap WeakSet WeakRef Date RegExp Promise Error EvalError RangeError ' +
    'ReferenceError SyntaxError TypeError URIError AggregateError DOMException Number String ' +
    'Boolean Symbol BigInt ArrayBuffer DataView Int8Array Uint8Array Uint8ClampedArray ' +
    'Int16Array Uint16Array Int32Array Uint32Array Float32Array Float64Array ' +
    'BigInt64Array BigUint64Array Buffer';
const CLASSES = LANGUAGE.split(' ');

// Whether the methods of a class use hidden state, so that each instance needs those of its own.
const hasState = (name) =>
    !['Function', 'module:events', ...CLASSES].includes(name) ||
    /^(?:Weak|DataView|DOM)/.test(name);

const shownKey = (key) => (typeof key === 'symbol' ? `[${key.description}]` : key);

// Adds the functions of an object, and the prototypes of classes with their methods.
function addWithin(name, object) {
    for (const key of Reflect.ownKeys(object)) {
        const { value } = Object.getOwnPropertyDescriptor(object, key);
        const path = `${name}.${shownKey(key)}`;
        if (!isObject(value) || key === 'constructor') continue;
        if (typeof value !== 'function' && key !== 'prototype') continue;
        if (add(path, value) && key === 'prototype' && !hasState(name)) addWithin(path, value);
    }
}

const prototypeOf = Object.getPrototypeOf;

function addHidden(make) {
    const { iterators, functions } = make.hidden();
    for (const [name, object] of Object.entries(functions)) {
        const prototype = prototypeOf(object);
        add(`%${name}%`, prototype);
        add(`%${name}%.constructor`, prototype.constructor);
        if (prototype.prototype !== undefined) add(`%${name}%.prototype`, prototype.prototype);
    }
    for (const [name, object] of Object.entries(iterators)) {
        for (
            let next = prototypeOf(object), at = 0;
            next !== null;
            next = prototypeOf(next), at++
        ) {
            add(`%${name}%${at}`, next);
        }
    }
}

const { globals } = library;
add('globalThis', globals);
for (const key of Reflect.ownKeys(globals)) {
    const { value } = Object.getOwnPropertyDescriptor(globals, key);
    if (typeof key === 'string' && add(key, value)) addWithin(key, value);
}
for (const name of library.moduleNames) {
    const module = library.requireModule(name);
    if (add(`module:${name}`, module)) addWithin(`module:${name}`, module);
    for (const [key, value] of Object.entries(module)) {
        if (typeof value === 'function') addWithin(`module:${name}.${key}`, value);
        else if (isObject(value)) add(`module:${name}.${key}`, value);
    }
}
addHidden(library.make);

const OF_FUNCTIONS = ['call', 'apply', 'bind', '[Symbol.hasInstance]'];
const given = new Set([
    ...CLASSES,
    ...OF_FUNCTIONS.map((name) => `Function.prototype.${name}`),
    'module:events',
]);

// Never received from a program, even if the test sent them before.
const FORBIDDEN = /^(?:Function|eval|globalThis|%.*%\.constructor)$/;

const isPrototype = (name) => /(?:\.prototype|^%[^.]*)$/.test(name);

// Names that one instance has sent to the other.
const exchanged = new Set();

// The name of an object, if the message may contain it.
export function nameOf(object, isTest) {
    const name = names.get(object);
    if (name === undefined) return undefined;
    if (isTest) {
        exchanged.add(name);
        return name;
    }
    return mayGive(name) ? name : undefined;
}

function mayGive(name) {
    if (FORBIDDEN.test(name)) return false;
    return given.has(name) || isPrototype(name) || exchanged.has(name);
}

// The object with a name that the other instance sent; undefined if it must not send it.
export function objectOf(name, isTest) {
    if (!objects.has(name) || (isTest && !mayGive(name))) return undefined;
    exchanged.add(name);
    return objects.get(name);
}

// Prototypes of the language's classes whose instances are copied.
const COPIED = new Set(
    CLASSES.filter((name) => !/^(?:Weak|Promise|DOM|DataView)/.test(name)).map((name) =>
        objects.get(`${name}.prototype`),
    ),
);

// Classes of the library whose instances have only properties.
for (const name of ['module:events', 'module:assert.AssertionError']) {
    COPIED.add(objects.get(`${name}.prototype`));
}
COPIED.add(null);

// Whether instances of the class with this prototype are copied. The prototypes of programs and
// tests are not in the table.
export function isCopiedClass(prototype) {
    return COPIED.has(prototype) || !names.has(prototype);
}

export function isIntrinsic(object) {
    return names.has(object);
}

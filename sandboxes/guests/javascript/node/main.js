// The library for programs: defines the globals, and passes the driver what it needs of this realm.

import { encode, library, publish, published } from 'host';

import { AssertionError, assert } from './assert.js';
import { Buffer, TextDecoder, TextEncoder, atob, btoa } from './buffer.js';
import { structuredClone } from './clone.js';
import { console } from './console.js';
import { crypto } from './crypto.js';
import { makeOpaque } from './equality.js';
import { limited, limits } from './errors.js';
import { AbortController, AbortSignal, Event, EventTarget } from './events.js';
import { installJson } from './json.js';
import { Intl, installLocale } from './locale.js';
import { addModule, importModule, moduleNames, performance } from './modules.js';
import { requireModule, resolveFile } from './modules.js';
import { atExit, catches, catchesRejection, currentStatus, process } from './process.js';
import { clearImmediate, clearInterval, clearTimeout, queueMicrotask } from './timers.js';
import { setImmediate, setInterval, setTimeout } from './timers.js';
import { finish, modules as testModules, names as testNames } from './testing.js';
import { URL, URLSearchParams } from './url.js';

function fetch() {
    return Promise.reject(limited(new TypeError('fetch failed'), 'network', 'fetch'));
}

const GLOBALS = {
    AbortController,
    AbortSignal,
    Buffer,
    Event,
    EventTarget,
    Intl,
    TextDecoder,
    TextEncoder,
    URL,
    URLSearchParams,
    atob,
    btoa,
    clearImmediate,
    clearInterval,
    clearTimeout,
    console,
    crypto: crypto.webcrypto,
    fetch,
    global: globalThis,
    performance,
    process,
    queueMicrotask,
    setImmediate,
    setInterval,
    setTimeout,
    structuredClone,
};

for (const [name, value] of Object.entries(GLOBALS)) {
    Object.defineProperty(globalThis, name, {
        value,
        writable: true,
        enumerable: false,
        configurable: true,
    });
}
for (const name of ['gc', 'navigator']) delete globalThis[name];

installJson();
installLocale();
library(importModule);

const { parse } = JSON;
const { apply, construct } = Reflect;
const { then } = Promise.prototype;
const standard = Object.create(null);
for (const name of Object.getOwnPropertyNames(globalThis)) standard[name] = true;
const shared = published();

publish({
    ...shared,
    AssertionError,
    assert,
    atExit,
    catches,
    catchesRejection,
    currentStatus,
    encode,
    globals: globalThis,
    addModule,
    importModule,
    limits,
    makeOpaque,
    moduleNames,
    parse: (text) => parse(text),
    process,
    requireModule,
    resolveFile,
    console,
    // Names of the globals that every program has.
    standard,
    // The test runner.
    testing: { finish, modules: testModules, names: testNames },
    // Constructors of this realm, for values that the driver creates for programs and tests.
    make: {
        array: () => [],
        object: () => ({}),
        nullObject: () => Object.create(null),
        map: () => new Map(),
        set: () => new Set(),
        date: (time) => new Date(time),
        regexp: (source, flags) => new RegExp(source, flags),
        view: (name, size) => {
            const constructor = globalThis[name];
            return new constructor(size / constructor.BYTES_PER_ELEMENT);
        },
        list: (items) => {
            const list = [];
            for (let i = 0; i < items.length; i++) list[i] = items[i];
            return list;
        },
        promise: (executor) => new Promise(executor),
        error: (name, message, className = name) => {
            const error = new globalThis[className](message);
            if (name !== className) {
                Object.defineProperty(error, 'name', {
                    value: name,
                    writable: true,
                    configurable: true,
                });
            }
            return error;
        },
        module: () => ({
            id: '.',
            path: '/',
            exports: {},
            filename: '/main.js',
            loaded: false,
            children: [],
            paths: [],
        }),
        wrap: (handler) =>
            function (...args) {
                return handler(this, args);
            },
        boxed: (value) => new Object(value),
        buffer: (length) => new ArrayBuffer(length),
        call: (target, self, args) => apply(target, self, args),
        construct: (target, args, newTarget = target) => construct(target, args, newTarget),
        then: (promise, onFulfilled, onRejected) => apply(then, promise, [onFulfilled, onRejected]),
        // Objects that lead to intrinsics without a name.
        hidden: () => ({
            functions: {
                Function() {},
                AsyncFunction: async () => {},
                GeneratorFunction: function* () {},
                AsyncGeneratorFunction: async function* () {},
            },
            iterators: {
                Array: [][Symbol.iterator](),
                Map: new Map().entries(),
                Set: new Set().values(),
                String: ''[Symbol.iterator](),
                RegExp: 'a'.matchAll(/a/g),
                Generator: (function* () {})(),
                AsyncGenerator: (async function* () {})(),
                Helper: [].values().map((value) => value),
            },
        }),
    },
});

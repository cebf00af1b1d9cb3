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
import { importModule, moduleNames, performance, requireModule } from './modules.js';
import { atExit, catches, catchesRejection, currentStatus, process } from './process.js';
import { clearImmediate, clearInterval, clearTimeout, queueMicrotask } from './timers.js';
import { setImmediate, setInterval, setTimeout } from './timers.js';
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
    importModule,
    limits,
    makeOpaque,
    moduleNames,
    parse: (text) => parse(text),
    process,
    requireModule,
    console,
    // Names of the globals that every program has.
    standard,
    // Constructors of this realm, for values that the driver creates for programs and tests.
    make: {
        array: () => [],
        object: () => ({}),
        nullObject: () => Object.create(null),
        map: () => new Map(),
        set: () => new Set(),
        date: (time) => new Date(time),
        regexp: (source, flags) => new RegExp(source, flags),
        bytes: (name, values) => {
            const constructor = name === 'Buffer' ? Buffer : globalThis[name];
            return constructor.from(values);
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
        call: (target, self, args) => apply(target, self, args),
        construct: (target, args) => construct(target, args),
    },
});

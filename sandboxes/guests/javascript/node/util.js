// The module `util`.

import { kind, proxy, published } from 'host';

import { TextDecoder, TextEncoder } from './buffer.js';
import { isDeepStrictEqual } from './equality.js';
import { invalidType } from './errors.js';

const { addTick, format, formatWithOptions, inspect } = published();

const CUSTOM = Symbol.for('nodejs.util.promisify.custom');

function promisify(original) {
    if (typeof original !== 'function') throw invalidType('original', 'of type function', original);
    if (original[CUSTOM]) return original[CUSTOM];
    return function (...args) {
        return new Promise((resolve, reject) => {
            const done = (error, value) => (error ? reject(error) : resolve(value));
            Reflect.apply(original, this, [...args, done]);
        });
    };
}

promisify.custom = CUSTOM;

function callbackify(original) {
    return function (...args) {
        const callback = args.pop();
        Reflect.apply(original, this, args).then(
            (value) => addTick(() => callback(null, value)),
            (error) => addTick(() => callback(error)),
        );
    };
}

function inherits(constructor, parent) {
    Object.defineProperty(constructor, 'super_', {
        value: parent,
        writable: true,
        configurable: true,
    });
    Object.setPrototypeOf(constructor.prototype, parent.prototype);
}

const is = (name) => (value) => kind(value) === name;
const TYPES = [
    'Date',
    'RegExp',
    'Map',
    'Set',
    'WeakMap',
    'WeakSet',
    'Promise',
    'ArrayBuffer',
    'DataView',
    'Uint8Array',
];

export const types = Object.fromEntries(TYPES.map((name) => [`is${name}`, is(name)]));
Object.assign(types, {
    isProxy: (value) => proxy(value) !== undefined,
    isNativeError: is('Error'),
    isTypedArray: (value) => ArrayBuffer.isView(value) && kind(value) !== 'DataView',
    isAsyncFunction: (value) => typeof value === 'function' && kind(value).startsWith('Async'),
    isGeneratorFunction: (value) =>
        typeof value === 'function' && kind(value).includes('Generator'),
    isGeneratorObject: is('Generator'),
    isAnyArrayBuffer: is('ArrayBuffer'),
    isBoxedPrimitive: (value) =>
        ['Number', 'String', 'Boolean', 'Symbol', 'BigInt'].includes(kind(value)),
});

export const util = {
    CUSTOM,
    TextDecoder,
    TextEncoder,
    callbackify,
    debuglog: () => () => {},
    deprecate: (original) => original,
    format,
    formatWithOptions,
    inherits,
    inspect,
    isArray: Array.isArray,
    isDeepStrictEqual,
    promisify,
    stripVTControlCharacters: (text) => text.replace(/\u001b\[[0-9;]*[A-Za-z]/g, ''),
    toUSVString: (text) => `${text}`.toWellFormed(),
    types,
};
delete util.CUSTOM;

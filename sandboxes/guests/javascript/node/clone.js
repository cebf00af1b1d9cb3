// `structuredClone`.

import { kind } from 'host';

function refuse(value) {
    const shown = typeof value === 'symbol' ? value.toString() : `${value}`;
    throw new DOMException(`${shown} could not be cloned.`, 'DataCloneError');
}

function copied(value, name) {
    switch (name) {
        case 'Date':
            return new Date(value.getTime());
        case 'RegExp':
            return new RegExp(value.source, value.flags);
        case 'Number':
        case 'String':
        case 'Boolean':
        case 'BigInt':
            return Object(value.valueOf());
        case 'ArrayBuffer':
            return value.slice(0);
        case 'Error': {
            const known = [
                'EvalError',
                'RangeError',
                'ReferenceError',
                'SyntaxError',
                'TypeError',
                'URIError',
            ];
            const error = new globalThis[known.includes(value.name) ? value.name : 'Error'](
                value.message,
            );
            error.stack = value.stack;
            return error;
        }
        default:
            if (ArrayBuffer.isView(value)) return new globalThis[name](value);
            return undefined;
    }
}

function clone(value, known) {
    if (typeof value === 'function' || typeof value === 'symbol') refuse(value);
    if (value === null || typeof value !== 'object') return value;
    if (known.has(value)) return known.get(value);
    const name = kind(value);
    const copy = copied(value, name);
    if (copy !== undefined) {
        known.set(value, copy);
        return copy;
    }
    if (name === 'Map') {
        const map = new Map();
        known.set(value, map);
        for (const [key, held] of [...value]) map.set(clone(key, known), clone(held, known));
        return map;
    }
    if (name === 'Set') {
        const set = new Set();
        known.set(value, set);
        for (const held of [...value]) set.add(clone(held, known));
        return set;
    }
    if (['Promise', 'WeakMap', 'WeakSet', 'WeakRef', 'Generator'].includes(name)) {
        refuse(`#<${name}>`);
    }
    const result = Array.isArray(value) ? new Array(value.length) : {};
    known.set(value, result);
    for (const key of Object.keys(value)) result[key] = clone(value[key], known);
    return result;
}

export function structuredClone(value) {
    if (arguments.length === 0) {
        throw new TypeError('The "value" argument must be specified');
    }
    return clone(value, new Map());
}

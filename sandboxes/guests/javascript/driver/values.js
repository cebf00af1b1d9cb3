// The value that a called function returned, in the notation that the host compares.
//
// `null`, booleans, strings, finite numbers and arrays are JSON values. Everything else is an
// object with a `$` that names its kind and a `v`:
//
//   float   `nan`, `inf` or `-inf`           int     a `BigInt`, in hexadecimal
//   str     code points of a string with     dict    pairs of key and value: objects and maps
//           lone surrogates                  set     elements
//   object  the class of a value that is     same    number of a container that occurred before
//           not data
//
// Containers are numbered before their contents.

import { kind } from 'host';

// Values nested deeper than this are written only as the name of their class.
const DEPTH = 200;

// Maximum size of a result, in parts and in bytes.
const PARTS = 2_000_000;
export const BYTES = 16 << 20;

export class TooLong extends Error {}

const VIEW = Object.getPrototypeOf(Uint8Array);
const lengthOfView = Object.getOwnPropertyDescriptor(VIEW.prototype, 'length').get;

const BOXED = {
    Number: Number.prototype.valueOf,
    String: String.prototype.valueOf,
    Boolean: Boolean.prototype.valueOf,
    BigInt: BigInt.prototype.valueOf,
};

function numberText(value) {
    if (Number.isNaN(value)) return '{"$":"float","v":"nan"}';
    if (!Number.isFinite(value)) return `{"$":"float","v":"${value < 0 ? '-inf' : 'inf'}"}`;
    if (Number.isInteger(value)) {
        if (Object.is(value, -0)) return '-0.0';
        if (Number.isSafeInteger(value)) return `${value}`;
        // Beyond the safe integers, a number represents all integers that are rounded to it, so it
        // is written as a float.
        const text = `${value}`;
        return text.includes('e') ? text : `${text}.0`;
    }
    return `${value}`;
}

function bigintText(value) {
    if (value >= -(2n ** 63n) && value < 2n ** 63n) return `${value}`;
    const digits = (value < 0n ? -value : value).toString(16);
    return `{"$":"int","v":"${value < 0n ? '-' : ''}0x${digits}"}`;
}

export class Writer {
    left = PARTS;
    seen = new Map();

    spend(parts) {
        this.left -= parts;
        if (this.left < 0) throw new TooLong();
    }

    text(value) {
        this.spend(1 + value.length / 64);
        if (value.isWellFormed()) return JSON.stringify(value);
        return `{"$":"str","v":[${Array.from(value, (character) => character.codePointAt(0))}]}`;
    }

    write(value, depth = 0) {
        switch (typeof value) {
            case 'undefined':
                return 'null';
            case 'boolean':
                return `${value}`;
            case 'number':
                return numberText(value);
            case 'bigint':
                return bigintText(value);
            case 'string':
                return this.text(value);
            case 'symbol':
                return '{"$":"object","v":"Symbol"}';
            case 'function':
                return '{"$":"object","v":"Function"}';
            default:
                return value === null ? 'null' : this.object(value, depth);
        }
    }

    object(value, depth) {
        this.spend(1);
        const name = kind(value);
        if (depth > DEPTH) return `{"$":"object","v":${JSON.stringify(name)}}`;
        if (name in BOXED) return this.write(BOXED[name].call(value), depth);
        if (name === 'Date') {
            const time = Date.prototype.getTime.call(value);
            return Number.isNaN(time) ? 'null' : JSON.stringify(new Date(time).toISOString());
        }
        if (name === 'Promise' || name.startsWith('Weak') || name === 'Generator') {
            return `{"$":"object","v":${JSON.stringify(name)}}`;
        }
        const number = this.seen.get(value);
        if (number !== undefined) return `{"$":"same","v":${number}}`;
        this.seen.set(value, this.seen.size);
        if (Array.isArray(value)) return this.array(value, value.length, depth);
        if (ArrayBuffer.isView(value) && name !== 'DataView') {
            return this.array(value, lengthOfView.call(value), depth);
        }
        if (name === 'Map') return this.pairs([...Map.prototype.entries.call(value)], depth);
        if (name === 'Set') {
            const elements = [...Set.prototype.values.call(value)];
            return `{"$":"set","v":${this.list(elements, depth)}}`;
        }
        if (name === 'RegExp') return JSON.stringify(RegExp.prototype.toString.call(value));
        const pairs = [];
        for (const key of Object.keys(value)) {
            const held = value[key];
            if (held !== undefined && typeof held !== 'function') pairs.push([key, held]);
        }
        return this.pairs(pairs, depth);
    }

    array(value, length, depth) {
        this.spend(length);
        const parts = [];
        for (let i = 0; i < length; i++) parts.push(this.write(value[i], depth + 1));
        return `[${parts.join(',')}]`;
    }

    list(elements, depth) {
        this.spend(elements.length);
        return `[${elements.map((element) => this.write(element, depth + 1)).join(',')}]`;
    }

    pairs(pairs, depth) {
        this.spend(pairs.length);
        const written = pairs.map(
            ([key, held]) => `[${this.write(key, depth + 1)},${this.write(held, depth + 1)}]`,
        );
        return `{"$":"dict","v":[${written.join(',')}]}`;
    }
}

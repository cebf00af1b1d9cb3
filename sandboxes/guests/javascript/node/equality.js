// Deep equality of values: `assert.deepStrictEqual`, `assert.deepEqual`, `util.isDeepStrictEqual`.

import { kind } from 'host';

const ownKeys = (value) =>
    Reflect.ownKeys(value).filter((key) => Object.prototype.propertyIsEnumerable.call(value, key));

const isObject = (value) => value !== null && typeof value === 'object';

// Objects that are equal only to themselves.
const opaque = new WeakSet();

export function makeOpaque(value) {
    opaque.add(value);
}

class Comparison {
    constructor(isStrict) {
        this.isStrict = isStrict;
        this.left = [];
        this.right = [];
    }

    equal(one, other) {
        if (one === other) return one !== 0 || !this.isStrict || Object.is(one, other);
        if (!isObject(one) || !isObject(other)) {
            if (this.isStrict) return Object.is(one, other);
            const isNaN = Number.isNaN(one) && Number.isNaN(other);
            return isNaN || (!isObject(one) && !isObject(other) && one == other);
        }
        if (opaque.has(one) || opaque.has(other)) return false;
        if (this.isStrict && Object.getPrototypeOf(one) !== Object.getPrototypeOf(other))
            return false;
        const name = kind(one);
        if (name !== kind(other)) return false;
        for (let i = 0; i < this.left.length; i++) {
            if (this.left[i] === one) return this.right[i] === other;
            if (this.right[i] === other) return false;
        }
        this.left.push(one);
        this.right.push(other);
        const result = this.contents(one, other, name);
        this.left.pop();
        this.right.pop();
        return result;
    }

    contents(one, other, name) {
        switch (name) {
            case 'Date':
                if (!Object.is(one.getTime(), other.getTime())) return false;
                break;
            case 'RegExp':
                if (`${one}` !== `${other}` || one.lastIndex !== other.lastIndex) return false;
                break;
            case 'Error':
                if (one.message !== other.message || one.name !== other.name) return false;
                break;
            case 'Number':
            case 'String':
            case 'Boolean':
            case 'Symbol':
            case 'BigInt':
                if (!Object.is(one.valueOf(), other.valueOf())) return false;
                break;
            case 'Map':
                if (!this.maps(one, other)) return false;
                break;
            case 'Set':
                if (!this.sets(one, other)) return false;
                break;
            case 'ArrayBuffer':
                return this.equal(new Uint8Array(one), new Uint8Array(other));
            case 'Promise':
            case 'WeakMap':
            case 'WeakSet':
                return false;
            case 'Array':
                if (one.length !== other.length) return false;
                break;
            default:
                if (ArrayBuffer.isView(one)) return this.views(one, other);
        }
        return this.properties(one, other);
    }

    views(one, other) {
        if (one.length !== other.length) return false;
        for (let i = 0; i < one.length; i++) {
            const isSame = this.isStrict ? Object.is(one[i], other[i]) : one[i] === other[i];
            if (!isSame) return false;
        }
        return true;
    }

    properties(one, other) {
        let [keys, others] = [ownKeys(one), ownKeys(other)];
        if (!this.isStrict) {
            [keys, others] = [keys, others].map((all) =>
                all.filter((key) => typeof key === 'string'),
            );
        }
        if (keys.length !== others.length) return false;
        const known = new Set(others);
        return keys.every((key) => known.has(key) && this.equal(one[key], other[key]));
    }

    sets(one, other) {
        if (one.size !== other.size) return false;
        const left = [...one].filter((value) => !other.has(value));
        const right = [...other].filter((value) => !one.has(value));
        return this.matches(left, right, (value, candidate) => this.equal(value, candidate));
    }

    maps(one, other) {
        if (one.size !== other.size) return false;
        const left = [];
        for (const [key, value] of one) {
            if (!other.has(key)) left.push([key, value]);
            else if (!this.equal(value, other.get(key))) return false;
        }
        const right = [...other].filter(([key]) => !one.has(key));
        return this.matches(
            left,
            right,
            ([key, value], [otherKey, held]) =>
                this.equal(key, otherKey) && this.equal(value, held),
        );
    }

    // Whether the elements can be paired one to one.
    matches(left, right, isPair) {
        if (left.length !== right.length) return false;
        const free = [...right];
        return left.every((value) => {
            const at = free.findIndex((candidate) => isPair(value, candidate));
            if (at !== -1) free.splice(at, 1);
            return at !== -1;
        });
    }
}

export function isDeepEqual(one, other) {
    return new Comparison(false).equal(one, other);
}

export function isDeepStrictEqual(one, other) {
    return new Comparison(true).equal(one, other);
}

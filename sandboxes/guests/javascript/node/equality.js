// Deep equality of values: `assert.deepStrictEqual`, `assert.deepEqual`, `util.isDeepStrictEqual`.

import { kind } from 'host';

const ownKeys = (value) =>
    Reflect.ownKeys(value).filter((key) => Object.prototype.propertyIsEnumerable.call(value, key));

// The language's own methods, whatever the compared objects define: they can be objects of a
// program that is tested.
const { call } = Function.prototype;
const uncurried = (method) => call.bind(method);
const getter = (object, key) => uncurried(Object.getOwnPropertyDescriptor(object, key).get);
const timeOf = uncurried(Date.prototype.getTime);
const sizeOfMap = getter(Map.prototype, 'size');
const sizeOfSet = getter(Set.prototype, 'size');
const entriesOf = uncurried(Map.prototype.entries);
const valuesOf = uncurried(Set.prototype.values);
const mapHas = uncurried(Map.prototype.has);
const mapGet = uncurried(Map.prototype.get);
const setHas = uncurried(Set.prototype.has);
const lengthOfView = getter(Object.getPrototypeOf(Uint8Array.prototype), 'length');
const sourceOf = getter(RegExp.prototype, 'source');
const flagsOf = getter(RegExp.prototype, 'flags');
const BOXED = {
    Number: uncurried(Number.prototype.valueOf),
    String: uncurried(String.prototype.valueOf),
    Boolean: uncurried(Boolean.prototype.valueOf),
    Symbol: uncurried(Symbol.prototype.valueOf),
    BigInt: uncurried(BigInt.prototype.valueOf),
};

const isObject = (value) => value !== null && typeof value === 'object';

// Objects that are equal only to themselves.
const opaque = new WeakSet();

export function makeOpaque(value) {
    opaque.add(value);
}

// An expected value that is equal to all values that match.
export class Asymmetric {
    constructor(matches) {
        this.matches = matches;
    }
}

class Comparison {
    // With `isLenient`, prototypes and properties that are `undefined` do not matter.
    constructor(isStrict, isLenient = false) {
        this.isStrict = isStrict;
        this.isLenient = isLenient;
        this.left = [];
        this.right = [];
        // Values of accessors. Each is read once, so that a comparison has one result.
        this.values = new Map();
    }

    read(object, key) {
        if (Object.getOwnPropertyDescriptor(object, key)?.get === undefined) {
            if (Object.hasOwn(object, key)) return object[key];
        }
        let known = this.values.get(object);
        if (known === undefined) {
            known = new Map();
            this.values.set(object, known);
        }
        if (!known.has(key)) known.set(key, object[key]);
        return known.get(key);
    }

    equal(one, other) {
        if (other instanceof Asymmetric) return other.matches(one);
        if (one === other) return one !== 0 || !this.isStrict || Object.is(one, other);
        if (!isObject(one) || !isObject(other)) {
            if (this.isStrict) return Object.is(one, other);
            const isNaN = Number.isNaN(one) && Number.isNaN(other);
            return isNaN || (!isObject(one) && !isObject(other) && one == other);
        }
        if (opaque.has(one) || opaque.has(other)) return false;
        const isPrototypeCompared = this.isStrict && !this.isLenient;
        if (isPrototypeCompared && Object.getPrototypeOf(one) !== Object.getPrototypeOf(other)) {
            return false;
        }
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
                if (!Object.is(timeOf(one), timeOf(other))) return false;
                break;
            case 'RegExp':
                if (sourceOf(one) !== sourceOf(other) || flagsOf(one) !== flagsOf(other))
                    return false;
                if (one.lastIndex !== other.lastIndex) return false;
                break;
            case 'Error':
                if (!['message', 'name'].every((key) => this.isSame(one, other, key))) return false;
                break;
            case 'Number':
            case 'String':
            case 'Boolean':
            case 'Symbol':
            case 'BigInt':
                if (!Object.is(BOXED[name](one), BOXED[name](other))) return false;
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

    isSame(one, other, key) {
        return this.read(one, key) === this.read(other, key);
    }

    views(one, other) {
        const length = lengthOfView(one);
        if (length !== lengthOfView(other)) return false;
        for (let i = 0; i < length; i++) {
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
        if (this.isLenient) {
            keys = keys.filter((key) => this.read(one, key) !== undefined);
            others = others.filter((key) => this.read(other, key) !== undefined);
        }
        if (keys.length !== others.length) return false;
        const known = new Set(others);
        return keys.every(
            (key) => known.has(key) && this.equal(this.read(one, key), this.read(other, key)),
        );
    }

    sets(one, other) {
        if (sizeOfSet(one) !== sizeOfSet(other)) return false;
        const left = [...valuesOf(one)].filter((value) => !setHas(other, value));
        const right = [...valuesOf(other)].filter((value) => !setHas(one, value));
        return this.matches(left, right, (value, candidate) => this.equal(value, candidate));
    }

    maps(one, other) {
        if (sizeOfMap(one) !== sizeOfMap(other)) return false;
        const left = [];
        for (const [key, value] of entriesOf(one)) {
            if (!mapHas(other, key)) left.push([key, value]);
            else if (!this.equal(value, mapGet(other, key))) return false;
        }
        const right = [...entriesOf(other)].filter(([key]) => !mapHas(one, key));
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

const OWN = [Object, Array, Date, RegExp, Function, Error, String, Number, Boolean, BigInt, Symbol]
    .map(({ prototype }) => [prototype.toString, prototype.valueOf, prototype[Symbol.toPrimitive]])
    .flat();

// Whether an object is converted to a primitive value by methods of the language. The methods of a
// program could return a different value for each comparison.
function isConvertible(value) {
    return ['toString', 'valueOf', Symbol.toPrimitive].every((key) => {
        const method = value[key];
        return method === undefined || OWN.includes(method);
    });
}

export function isLooselyEqual(one, other) {
    if (Number.isNaN(one) && Number.isNaN(other)) return true;
    const isPrimitive = (value) => !isObject(value) && typeof value !== 'function';
    if (isPrimitive(one) !== isPrimitive(other)) {
        if (!isConvertible(isPrimitive(one) ? other : one)) return false;
    }
    return one == other;
}

export function isDeepEqual(one, other) {
    return new Comparison(false).equal(one, other);
}

// As Jest's `toEqual`.
export function isEqualForExpect(one, other) {
    return new Comparison(true, true).equal(one, other);
}

export function isDeepStrictEqual(one, other) {
    return new Comparison(true).equal(one, other);
}

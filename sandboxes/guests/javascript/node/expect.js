// The function `expect`, with the matchers of Jest.

import { published } from 'host';

import { AssertionError } from './assert.js';
import { Asymmetric, isDeepStrictEqual, isEqualForExpect } from './equality.js';
import { limited } from './errors.js';
import { isMock } from './mocks.js';

const { inspect } = published();

const shown = (value) => inspect(value, { depth: 10 }).slice(0, 1000);
const isObject = (value) => value !== null && typeof value === 'object';
const isInstance = (value, constructor) =>
    Reflect.apply(Function.prototype[Symbol.hasInstance], constructor, [value]);
const { includes } = Array.prototype;
const { has } = Set.prototype;

// Numbers are not converted: the result of a conversion can be different for each comparison.
const areOrdered = (isOrdered) => (actual, expected) => {
    const types = ['number', 'bigint'];
    const areNumbers = types.includes(typeof actual) && types.includes(typeof expected);
    return areNumbers && isOrdered(actual, expected);
};

function elementsOf(value) {
    return Array.isArray(value)
        ? Array.from({ length: value.length }, (_, at) => value[at])
        : [...value];
}

function contains(actual, item) {
    if (typeof actual === 'string') return actual.includes(item);
    if (Array.isArray(actual)) return Reflect.apply(includes, actual, [item]);
    if (Object.prototype.toString.call(actual) === '[object Set]' && actual instanceof Set) {
        return Reflect.apply(has, actual, [item]);
    }
    return elementsOf(actual).includes(item);
}

const pathOf = (path) =>
    Array.isArray(path) ? path : `${path}`.split(/\.|\[(\d+)\]/).filter(Boolean);

function hasProperty(actual, path, ...values) {
    let held = actual;
    for (const key of pathOf(path)) {
        if (held === null || held === undefined || !(key in Object(held))) return false;
        held = held[key];
    }
    return values.length === 0 || isEqualForExpect(held, values[0]);
}

function matchesObject(actual, subset) {
    if (!isObject(subset) || subset instanceof Asymmetric) return isEqualForExpect(actual, subset);
    if (!isObject(actual) || Array.isArray(actual) !== Array.isArray(subset)) return false;
    if (Array.isArray(subset) && actual.length !== subset.length) return false;
    if (![Object.prototype, Array.prototype, null].includes(Object.getPrototypeOf(subset))) {
        return isEqualForExpect(actual, subset);
    }
    return Object.keys(subset).every(
        (key) => key in actual && matchesObject(actual[key], subset[key]),
    );
}

const matchesText = (actual, pattern) =>
    typeof actual === 'string' &&
    (pattern instanceof RegExp ? pattern.test(actual) : actual.includes(pattern));

function thrownBy(actual) {
    if (typeof actual !== 'function') throw new TypeError('`expect` needs a function');
    try {
        actual();
    } catch (error) {
        return { error };
    }
    return undefined;
}

function isExpectedError(thrown, expected) {
    if (thrown === undefined) return false;
    const { error } = thrown;
    if (expected === undefined) return true;
    if (typeof expected === 'function') return isObject(error) && isInstance(error, expected);
    const message = isObject(error) ? error.message : error;
    if (expected instanceof Asymmetric) return isEqualForExpect(error, expected);
    if (isObject(expected) && !(expected instanceof RegExp)) return message === expected.message;
    return matchesText(message, expected);
}

const callsOf = (actual) => {
    if (!isMock(actual)) throw new TypeError('`expect` needs a mock function');
    return actual.mock.calls;
};
const resultsOf = (actual) => callsOf(actual) && actual.mock.results;

const MATCHERS = {
    toBe: Object.is,
    toEqual: isEqualForExpect,
    toStrictEqual: isDeepStrictEqual,
    toBeTruthy: (actual) => Boolean(actual),
    toBeFalsy: (actual) => !actual,
    toBeNull: (actual) => actual === null,
    toBeUndefined: (actual) => actual === undefined,
    toBeDefined: (actual) => actual !== undefined,
    toBeNaN: (actual) => Number.isNaN(actual),
    toBeTypeOf: (actual, type) => typeof actual === type,
    toBeGreaterThan: areOrdered((one, other) => one > other),
    toBeGreaterThanOrEqual: areOrdered((one, other) => one >= other),
    toBeLessThan: areOrdered((one, other) => one < other),
    toBeLessThanOrEqual: areOrdered((one, other) => one <= other),
    toBeCloseTo: (actual, expected, digits = 2) =>
        typeof actual === 'number' &&
        (actual === expected || Math.abs(actual - expected) < 10 ** -digits / 2),
    toContain: contains,
    toContainEqual: (actual, item) =>
        elementsOf(actual).some((element) => isEqualForExpect(element, item)),
    toHaveLength: (actual, length) => actual?.length === length,
    toHaveProperty: hasProperty,
    toMatch: matchesText,
    toMatchObject: matchesObject,
    toBeInstanceOf: (actual, constructor) =>
        (isObject(actual) || typeof actual === 'function') && isInstance(actual, constructor),
    toThrow: (actual, expected) => isExpectedError(thrownBy(actual), expected),
    toHaveBeenCalled: (actual) => callsOf(actual).length > 0,
    toHaveBeenCalledTimes: (actual, times) => callsOf(actual).length === times,
    toHaveBeenCalledWith: (actual, ...args) =>
        callsOf(actual).some((call) => isEqualForExpect(call, args)),
    toHaveBeenLastCalledWith: (actual, ...args) => isEqualForExpect(callsOf(actual).at(-1), args),
    toHaveBeenNthCalledWith: (actual, number, ...args) =>
        isEqualForExpect(callsOf(actual)[number - 1], args),
    toHaveReturned: (actual) => resultsOf(actual).some(({ type }) => type === 'return'),
    toHaveReturnedWith: (actual, value) =>
        resultsOf(actual).some((result) => isEqualForExpect(result.value, value)),
};
Object.assign(MATCHERS, {
    toThrowError: MATCHERS.toThrow,
    toBeCalled: MATCHERS.toHaveBeenCalled,
    toBeCalledTimes: MATCHERS.toHaveBeenCalledTimes,
    toBeCalledWith: MATCHERS.toHaveBeenCalledWith,
    lastCalledWith: MATCHERS.toHaveBeenLastCalledWith,
});

function check(name, isNegated, actual, args) {
    if (MATCHERS[name](actual, ...args) !== isNegated) return;
    const not = isNegated ? '.not' : '';
    throw new AssertionError({
        message: `expect(${shown(actual)})${not}.${name}(${args.map(shown).join(', ')})`,
        actual,
        expected: args[0],
        operator: `${isNegated ? 'not.' : ''}${name}`,
    });
}

// Matchers by name. A test that uses another one cannot be judged.
function matchersOf(call, others) {
    return new Proxy(others, {
        get: (target, name) => {
            if (typeof name === 'symbol') return undefined;
            if (Object.hasOwn(target, name)) return target[name];
            if (Object.hasOwn(MATCHERS, name)) return (...args) => call(name, args);
            throw limited(new Error(`\`expect().${name}\` is not supported`), 'module', name);
        },
    });
}

function matching(call) {
    return matchersOf((name, args) => call(name, false, args), {
        not: matchersOf((name, args) => call(name, true, args), {}),
    });
}

async function settled(promise, isRejected) {
    let result;
    try {
        result = { value: await (typeof promise === 'function' ? promise() : promise) };
    } catch (error) {
        result = { error };
    }
    if ('error' in result === isRejected) return isRejected ? result.error : result.value;
    if (!isRejected) throw result.error;
    throw new AssertionError({ message: 'the promise is not rejected', operator: 'rejects' });
}

const afterPromise = (promise, isRejected) =>
    matching(async (name, isNegated, args) => {
        const value = await settled(promise, isRejected);
        const isThrow = isRejected && /^toThrow/.test(name);
        const thrower = () => {
            throw value;
        };
        check(name, isNegated, isThrow ? thrower : value, args);
    });

export function expect(actual) {
    const matchers = matching((name, isNegated, args) => check(name, isNegated, actual, args));
    const { not } = matchers;
    return matchersOf((name, args) => check(name, false, actual, args), {
        not,
        get resolves() {
            return afterPromise(actual, false);
        },
        get rejects() {
            return afterPromise(actual, true);
        },
    });
}

const TYPES = { Number: 'number', String: 'string', Boolean: 'boolean', BigInt: 'bigint' };

function isAny(value, constructor) {
    if (value === null || value === undefined) return false;
    const type =
        TYPES[constructor.name] ?? { Function: 'function', Object: 'object' }[constructor.name];
    return typeof value === type || isInstance(Object(value), constructor);
}

Object.assign(expect, {
    any: (constructor) => new Asymmetric((value) => isAny(value, constructor)),
    anything: () => new Asymmetric((value) => value !== null && value !== undefined),
    arrayContaining: (items) =>
        new Asymmetric(
            (value) =>
                Array.isArray(value) && items.every((item) => MATCHERS.toContainEqual(value, item)),
        ),
    objectContaining: (subset) => new Asymmetric((value) => matchesObject(value, subset)),
    stringContaining: (text) => new Asymmetric((value) => matchesText(value, text)),
    stringMatching: (pattern) => new Asymmetric((value) => matchesText(value, pattern)),
    closeTo: (number, digits) =>
        new Asymmetric((value) => MATCHERS.toBeCloseTo(value, number, digits)),
    assertions() {},
    hasAssertions() {},
});

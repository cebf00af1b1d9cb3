// The module `assert`.

import { published } from 'host';

import { invalidType } from './errors.js';
import { isDeepEqual, isDeepStrictEqual, isLooselyEqual } from './equality.js';

const { inspect } = published();

// Maximum length of a value in a message, in characters.
const SHOWN = 2000;

const shown = (value) => inspect(value, { depth: 20, maxArrayLength: 200 }).slice(0, SHOWN);

function mismatch(relation, pattern, text) {
    return `The input ${relation} the regular expression ${pattern}. Input:\n\n${shown(text)}\n`;
}

export class AssertionError extends Error {
    constructor(options) {
        super(options.message);
        this.generatedMessage = Boolean(options.generatedMessage);
        this.code = 'ERR_ASSERTION';
        this.actual = options.actual;
        this.expected = options.expected;
        this.operator = options.operator;
        const { stack } = this;
        const frames = stack.slice(stack.indexOf('\n    at'));
        this.stack = `AssertionError [ERR_ASSERTION]: ${options.message}${frames}`;
    }

    get name() {
        return 'AssertionError';
    }
}

function fail(operator, actual, expected, message, describe) {
    if (message instanceof Error) throw message;
    const generatedMessage = message === undefined;
    const text = generatedMessage ? describe() : message;
    throw new AssertionError({ message: text, generatedMessage, actual, expected, operator });
}

// Maximum total length of two values that a message shows on one line, in characters.
const SHORT = 12;

function comparison(operator, isEqual, title) {
    return function (actual, expected, message) {
        if (isEqual(actual, expected)) return;
        const describe = () => {
            const [left, right] = [shown(actual), shown(expected)];
            if (title === undefined) return `${left} ${operator} ${right}`;
            const isShort = operator === 'strictEqual' && left.length + right.length <= SHORT;
            const between = isShort ? ' !== ' : '\n\n!==\n\n';
            return `${title}\n\n${left}${between}${right}\n`;
        };
        fail(operator, actual, expected, message, describe);
    };
}

function isTruthy(operator, value, args, message) {
    if (value) return;
    const describe = () =>
        args === 0
            ? 'No value argument passed to `assert.ok()`'
            : 'The expression evaluated to a falsy value';
    fail(operator, value, true, message, describe);
}

export function assert(...args) {
    isTruthy('==', args[0], args.length, args[1]);
}

// Whether a class is in the prototype chain of an error, whatever `Symbol.hasInstance` says.
const isInstance = (expected, error) =>
    Reflect.apply(Function.prototype[Symbol.hasInstance], expected, [error]);

function matches(error, expected, message) {
    if (expected === undefined || typeof expected === 'string') return;
    if (typeof expected === 'function') {
        if (expected.prototype !== undefined && isInstance(expected, error)) return;
        if (Error.isPrototypeOf?.(expected) || expected === Error) {
            fail(
                'throws',
                error,
                expected,
                message,
                () =>
                    `The error is expected to be an instance of "${expected.name}". Received "${error?.name}"`,
            );
        }
        if (expected.call({}, error) === true) return;
        fail(
            'throws',
            error,
            expected,
            message,
            () => 'The validation function is expected to return "true".',
        );
    }
    if (expected instanceof RegExp) {
        if (expected.test(String(error))) return;
        fail('throws', error, expected, message, () =>
            mismatch('did not match', expected, String(error)),
        );
    }
    for (const key of Object.keys(expected).concat(
        expected instanceof Error ? ['name', 'message'] : [],
    )) {
        const found = error?.[key];
        const isText = expected[key] instanceof RegExp && typeof found === 'string';
        const isSame = isText ? expected[key].test(found) : isDeepStrictEqual(found, expected[key]);
        if (!isSame)
            fail(
                'throws',
                error,
                expected,
                message,
                () => `Expected values to be strictly deep-equal: ${key}`,
            );
    }
}

function missing(name, expected, message) {
    const text = typeof expected === 'string' ? expected : message;
    const what = name === 'throws' ? 'exception' : 'rejection';
    const detail = typeof expected === 'function' && expected.name ? ` (${expected.name}).` : '.';
    fail(
        name,
        undefined,
        expected,
        undefined,
        () => `Missing expected ${what}${text ? `: ${text}` : detail}`,
    );
}

function throws(action, expected, message) {
    if (typeof action !== 'function') throw invalidType('fn', 'of type function', action);
    let error;
    try {
        action();
    } catch (thrown) {
        error = { thrown };
    }
    if (error === undefined) missing('throws', expected, message);
    matches(error.thrown, expected, message);
}

function doesNotThrow(action, expected, message) {
    try {
        action();
    } catch (error) {
        const text = typeof expected === 'string' ? expected : message;
        fail(
            'doesNotThrow',
            error,
            expected,
            undefined,
            () =>
                `Got unwanted exception${text ? `: ${text}` : '.'}\nActual message: "${error?.message}"`,
        );
    }
}

const promiseOf = (action) => (typeof action === 'function' ? action() : action);

async function rejects(action, expected, message) {
    let error;
    try {
        await promiseOf(action);
    } catch (thrown) {
        error = { thrown };
    }
    if (error === undefined) missing('rejects', expected, message);
    matches(error.thrown, expected, message);
}

async function doesNotReject(action, expected, message) {
    try {
        await promiseOf(action);
    } catch (error) {
        fail(
            'doesNotReject',
            error,
            expected,
            message,
            () => `Got unwanted rejection.\nActual message: "${error?.message}"`,
        );
    }
}

const not = (isEqual) => (actual, expected) => !isEqual(actual, expected);

Object.assign(assert, {
    AssertionError,
    ok: (...args) => isTruthy('==', args[0], args.length, args[1]),
    equal: comparison('==', isLooselyEqual),
    notEqual: comparison('!=', not(isLooselyEqual)),
    strictEqual: comparison('strictEqual', Object.is, 'Expected values to be strictly equal:'),
    notStrictEqual: comparison(
        'notStrictEqual',
        not(Object.is),
        'Expected "actual" to be strictly unequal to:',
    ),
    deepEqual: comparison('deepEqual', isDeepEqual, 'Expected values to be loosely deep-equal:'),
    notDeepEqual: comparison(
        'notDeepEqual',
        not(isDeepEqual),
        'Expected "actual" not to be loosely deep-equal to:',
    ),
    deepStrictEqual: comparison(
        'deepStrictEqual',
        isDeepStrictEqual,
        'Expected values to be strictly deep-equal:',
    ),
    notDeepStrictEqual: comparison(
        'notDeepStrictEqual',
        not(isDeepStrictEqual),
        'Expected "actual" not to be strictly deep-equal to:',
    ),
    throws,
    doesNotThrow,
    rejects,
    doesNotReject,
    ifError(value) {
        if (value !== null && value !== undefined) throw value;
    },
    match(text, pattern, message) {
        if (typeof text === 'string' && pattern.test(text)) return;
        fail('match', text, pattern, message, () => mismatch('did not match', pattern, text));
    },
    doesNotMatch(text, pattern, message) {
        if (!pattern.test(text)) return;
        fail('doesNotMatch', text, pattern, message, () =>
            mismatch('was expected to not match', pattern, text),
        );
    },
    fail(message) {
        fail('fail', undefined, undefined, message ?? 'Failed', () => 'Failed');
    },
});

export const strict = Object.assign(
    (...args) => isTruthy('==', args[0], args.length, args[1]),
    assert,
    {
        equal: assert.strictEqual,
        notEqual: assert.notStrictEqual,
        deepEqual: assert.deepStrictEqual,
        notDeepEqual: assert.notDeepStrictEqual,
    },
);
strict.strict = strict;
assert.strict = strict;

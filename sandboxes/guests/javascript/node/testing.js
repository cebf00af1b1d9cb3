// Test runners for tests in the style of `node:test`, Mocha and Jest: collects tests, and runs them
// in order until one fails.

import { expect } from './expect.js';
import { jest } from './mocks.js';

class Suite {
    items = [];
    hooks = { before: [], beforeEach: [], afterEach: [], after: [] };

    constructor(parent) {
        this.parent = parent;
    }

    // Hooks of this suite and those around it, the outermost first.
    all(name) {
        return [...(this.parent?.all(name) ?? []), ...this.hooks[name]];
    }
}

const root = new Suite();
let current = root;
let count = 0;

const functionOf = (args) => args.find((arg) => typeof arg === 'function');

function describe(...args) {
    const suite = new Suite(current);
    current.items.push(suite);
    current = suite;
    try {
        functionOf(args)?.();
    } finally {
        current = suite.parent;
    }
}

// A function of Mocha or Jest that takes an argument calls it when it is done.
function withDone(body) {
    if (body.length === 0) return body;
    return () =>
        new Promise((resolve, reject) => {
            const done = (error) => (error ? reject(error) : resolve());
            done.fail = reject;
            body(done);
        });
}

const context = { test: async (...args) => functionOf(args)?.(context), diagnostic() {} };
const withContext = (body) => () => body(context);

const adding = (adapt) =>
    function test(...args) {
        const body = functionOf(args);
        if (body !== undefined) current.items.push({ body: adapt(body) });
    };

// Runs a test for each row of a table.
const eachOf = (define) =>
    function each(rows) {
        return (name, body) => {
            for (const row of rows) {
                define(`${name}`, () => (Array.isArray(row) ? body(...row) : body(row)));
            }
        };
    };

function withVariants(define) {
    const skip = () => {};
    const variants = { skip, todo: skip, only: define, concurrent: define, each: eachOf(define) };
    variants.skip.each = () => () => {};
    return Object.assign(define, variants);
}

const hook = (name) => (first, second) => {
    current.hooks[name].push(withDone(typeof first === 'function' ? first : second));
};

withVariants(describe);
const test = withVariants(adding(withDone));
const testOfNode = withVariants(adding(withContext));

const hooks = {
    before: hook('before'),
    beforeAll: hook('before'),
    beforeEach: hook('beforeEach'),
    afterEach: hook('afterEach'),
    after: hook('after'),
    afterAll: hook('after'),
};

export const names = {
    describe,
    context: describe,
    suite: describe,
    it: test,
    test,
    specify: test,
    expect,
    jest,
    vi: jest,
    ...hooks,
};

const ofNode = Object.assign(testOfNode, { describe, suite: describe, it: testOfNode, ...hooks });
ofNode.test = ofNode;

export const modules = {
    'node:test': ofNode,
    '@jest/globals': names,
    vitest: names,
    mocha: names,
};

async function run(suite) {
    for (const before of suite.hooks.before) await before();
    for (const item of suite.items) {
        if (item instanceof Suite) {
            await run(item);
            continue;
        }
        count++;
        for (const before of suite.all('beforeEach')) await before();
        await item.body();
        for (const after of suite.all('afterEach').reverse()) await after();
    }
    for (const after of suite.hooks.after) await after();
}

// Runs the tests that the text of a test has defined.
export async function finish(defined) {
    await defined;
    await run(root);
    if (count === 0) throw new Error('the test defines no tests');
}

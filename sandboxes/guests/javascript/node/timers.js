// Timers, immediates and microtasks.

import { enqueue, published } from 'host';

import { invalidType } from './errors.js';

const { addImmediate, inspect, refreshTimer, startTimer, stopTimer } = published();

const active = new Map();
let count = 0;

function checked(callback) {
    if (typeof callback !== 'function') {
        throw invalidType('callback', 'of type function', callback);
    }
    return callback;
}

export class Timeout {
    #timer;
    #id = ++count;

    constructor(callback, delay, repeats, args) {
        this.#timer = { delay, repeats, callback: () => Reflect.apply(callback, this, args) };
        startTimer(this.#timer);
    }

    close() {
        stopTimer(this.#timer);
        return this;
    }

    ref() {
        this.#timer.isUnreferenced = false;
        return this;
    }

    unref() {
        this.#timer.isUnreferenced = true;
        return this;
    }

    hasRef() {
        return !this.#timer.isUnreferenced;
    }

    refresh() {
        refreshTimer(this.#timer);
        return this;
    }

    // Timers can be stopped by their number as well.
    [Symbol.toPrimitive]() {
        active.set(this.#id, this);
        return this.#id;
    }

    [inspect.custom](depth, options) {
        return inspect({ _idleTimeout: this.#timer.delay, _repeat: null }, options).replace(
            /^/,
            'Timeout ',
        );
    }
}

export class Immediate {
    #state;

    constructor(callback, args) {
        this.#state = { callback: () => Reflect.apply(callback, this, args) };
        addImmediate(this.#state);
    }

    close() {
        this.#state.isActive = false;
    }

    ref() {
        return this;
    }

    unref() {
        return this;
    }
}

export function setTimeout(callback, delay, ...args) {
    return new Timeout(checked(callback), delay, false, args);
}

export function setInterval(callback, delay, ...args) {
    return new Timeout(checked(callback), delay, true, args);
}

export function setImmediate(callback, ...args) {
    return new Immediate(checked(callback), args);
}

export function clearTimeout(timer) {
    if (timer instanceof Timeout) timer.close();
    else active.get(Number(timer))?.close();
}

export const clearInterval = clearTimeout;

export function clearImmediate(immediate) {
    if (immediate instanceof Immediate) immediate.close();
}

export function queueMicrotask(callback) {
    enqueue(checked(callback));
}

function later(delay, value) {
    return new Promise((resolve) => setTimeout(resolve, delay, value));
}

async function* every(delay, value) {
    for (;;) yield later(delay, value);
}

export const promises = {
    setTimeout: later,
    setImmediate: (value) => new Promise((resolve) => setImmediate(resolve, value)),
    setInterval: every,
    scheduler: { wait: later, yield: () => promises.setImmediate() },
};

function promisified(timer, alternative) {
    Object.defineProperty(timer, Symbol.for('nodejs.util.promisify.custom'), {
        value: alternative,
    });
}

promisified(setTimeout, later);
promisified(setImmediate, promises.setImmediate);

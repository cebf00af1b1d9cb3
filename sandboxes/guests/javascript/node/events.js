// The module `events`.

import { invalidType } from './errors.js';

function listenersOf(emitter) {
    if (!Object.hasOwn(emitter, '_events') || emitter._events === undefined) {
        Object.defineProperty(emitter, '_events', {
            value: Object.create(null),
            writable: true,
            configurable: true,
            enumerable: false,
        });
    }
    return emitter._events;
}

function add(emitter, name, listener, isFirst) {
    if (typeof listener !== 'function') {
        throw invalidType('listener', 'of type function', listener);
    }
    const events = listenersOf(emitter);
    if (events.newListener !== undefined) {
        emitter.emit('newListener', name, listener.listener ?? listener);
    }
    const known = events[name] ?? [];
    events[name] = isFirst ? [listener, ...known] : [...known, listener];
    return emitter;
}

function onceOnly(emitter, name, listener) {
    if (typeof listener !== 'function') {
        throw invalidType('listener', 'of type function', listener);
    }
    const wrapper = function (...args) {
        emitter.removeListener(name, wrapper);
        return listener.apply(this, args);
    };
    wrapper.listener = listener;
    return wrapper;
}

// A function and not a class, because old programs call it without `new`.
export function EventEmitter() {}

const methods = {
    on(name, listener) {
        return add(this, name, listener, false);
    },
    once(name, listener) {
        return this.on(name, onceOnly(this, name, listener));
    },
    prependListener(name, listener) {
        return add(this, name, listener, true);
    },
    prependOnceListener(name, listener) {
        return add(this, name, onceOnly(this, name, listener), true);
    },
    off(name, listener) {
        const events = listenersOf(this);
        const known = events[name] ?? [];
        for (let i = known.length - 1; i >= 0; i--) {
            if (known[i] !== listener && known[i].listener !== listener) continue;
            const left = known.filter((_, at) => at !== i);
            if (left.length > 0) events[name] = left;
            else delete events[name];
            if (events.removeListener !== undefined) this.emit('removeListener', name, listener);
            break;
        }
        return this;
    },
    removeAllListeners(name) {
        const events = listenersOf(this);
        if (name === undefined) this._events = Object.create(null);
        else delete events[name];
        return this;
    },
    emit(name, ...args) {
        const known = listenersOf(this)[name];
        if (known === undefined) {
            if (name !== 'error') return false;
            const [error] = args;
            if (error instanceof Error) throw error;
            const failure = new Error(`Unhandled error. (${String(error)})`);
            failure.context = error;
            failure.code = 'ERR_UNHANDLED_ERROR';
            throw failure;
        }
        for (const listener of known) Reflect.apply(listener, this, args);
        return true;
    },
    listeners(name) {
        return (listenersOf(this)[name] ?? []).map((listener) => listener.listener ?? listener);
    },
    rawListeners(name) {
        return [...(listenersOf(this)[name] ?? [])];
    },
    listenerCount(name) {
        return (listenersOf(this)[name] ?? []).length;
    },
    eventNames() {
        return Reflect.ownKeys(listenersOf(this));
    },
    setMaxListeners() {
        return this;
    },
    getMaxListeners() {
        return 10;
    },
};

for (const [name, method] of Object.entries(methods)) {
    Object.defineProperty(EventEmitter.prototype, name, {
        value: method,
        writable: true,
        configurable: true,
        enumerable: true,
    });
}
EventEmitter.prototype.addListener = EventEmitter.prototype.on;
EventEmitter.prototype.removeListener = EventEmitter.prototype.off;

export function once(emitter, name) {
    return new Promise((resolve, reject) => {
        const onError = (error) => {
            emitter.removeListener(name, onEvent);
            reject(error);
        };
        const onEvent = (...args) => {
            emitter.removeListener('error', onError);
            resolve(args);
        };
        emitter.once(name, onEvent);
        if (name !== 'error') emitter.once('error', onError);
    });
}

// An asynchronous iterator over the events of an emitter, until one of `ends` occurs.
export function on(emitter, name, options = {}) {
    const queue = [];
    const waiting = [];
    let isDone = false;
    const deliver = (args) => {
        if (waiting.length > 0) waiting.shift().resolve({ value: args, done: false });
        else queue.push(args);
    };
    const listener = (...args) => deliver(args);
    const finish = () => {
        isDone = true;
        emitter.removeListener(name, listener);
        for (const { resolve } of waiting.splice(0)) resolve({ value: undefined, done: true });
    };
    emitter.on(name, listener);
    for (const end of options.close ?? []) emitter.on(end, finish);
    return {
        next() {
            if (queue.length > 0) return Promise.resolve({ value: queue.shift(), done: false });
            if (isDone) return Promise.resolve({ value: undefined, done: true });
            return new Promise((resolve, reject) => waiting.push({ resolve, reject }));
        },
        return() {
            finish();
            return Promise.resolve({ value: undefined, done: true });
        },
        throw(error) {
            finish();
            return Promise.reject(error);
        },
        [Symbol.asyncIterator]() {
            return this;
        },
    };
}

EventEmitter.EventEmitter = EventEmitter;
EventEmitter.once = once;
EventEmitter.on = on;
EventEmitter.defaultMaxListeners = 10;
EventEmitter.listenerCount = (emitter, name) => emitter.listenerCount(name);

export class Event {
    constructor(type, options = {}) {
        this.type = `${type}`;
        this.cancelable = Boolean(options.cancelable);
        this.defaultPrevented = false;
    }

    preventDefault() {
        this.defaultPrevented = this.cancelable;
    }
}

export class EventTarget {
    #listeners = new Map();

    addEventListener(type, listener, options = {}) {
        const known = this.#listeners.get(type) ?? [];
        if (known.some((entry) => entry.listener === listener)) return;
        this.#listeners.set(type, [...known, { listener, isOnce: options?.once === true }]);
    }

    removeEventListener(type, listener) {
        const known = this.#listeners.get(type) ?? [];
        this.#listeners.set(
            type,
            known.filter((entry) => entry.listener !== listener),
        );
    }

    dispatchEvent(event) {
        event.target = this;
        for (const { listener, isOnce } of this.#listeners.get(event.type) ?? []) {
            if (isOnce) this.removeEventListener(event.type, listener);
            if (typeof listener === 'function') listener.call(this, event);
            else listener.handleEvent(event);
        }
        return !event.defaultPrevented;
    }
}

export class AbortSignal extends EventTarget {
    aborted = false;
    reason = undefined;

    throwIfAborted() {
        if (this.aborted) throw this.reason;
    }
}

export class AbortController {
    signal = new AbortSignal();

    abort(reason) {
        if (this.signal.aborted) return;
        this.signal.aborted = true;
        this.signal.reason = reason ?? new DOMException('This operation was aborted', 'AbortError');
        const event = new Event('abort');
        this.signal.dispatchEvent(event);
        this.signal.onabort?.(event);
    }
}

// Stand-ins for objects of the other instance: proxies, each of whose operations sends a request.

import { published } from 'host';

import { ACCESSOR, CONFIGURABLE, ENUMERABLE, WRITABLE, mine, state, typeError } from './sharing.js';

const library = published();

export const functionOf = (value) => (typeof value === 'function' ? value : undefined);

// A proxy for an object of the other instance.
export function standIn(number, what, detail) {
    if (what === 'f') {
        const target = function target() {}.bind();
        Reflect.defineProperty(target, 'name', { value: `${detail}`, configurable: true });
        return new Proxy(target, new Handler(number));
    }
    const made = new Proxy(
        detail === true ? library.make.array() : library.make.object(),
        new Handler(number),
    );
    library.makeOpaque(made);
    return made;
}

class Handler {
    constructor(number) {
        this.number = number;
    }

    get(target, key, receiver) {
        return state.ask('get', this.number, [key, receiver]);
    }

    set(target, key, value, receiver) {
        return state.ask('set', this.number, [key, value, receiver]) === true;
    }

    has(target, key) {
        return state.ask('has', this.number, [key]) === true;
    }

    deleteProperty(target, key) {
        return state.ask('delete', this.number, [key]) === true;
    }

    ownKeys(target) {
        const isKey = (key) => typeof key === 'string' || typeof key === 'symbol';
        const found = new Set([...state.ask('keys', this.number, [])].filter(isKey));
        if (Array.isArray(target)) found.add('length');
        return [...found];
    }

    getOwnPropertyDescriptor(target, key) {
        const found = state.ask('describe', this.number, [key]);
        if (!Array.isArray(found)) return undefined;
        const [flags, value, setter] = found;
        const described = { enumerable: (flags & ENUMERABLE) !== 0, configurable: true };
        if (Array.isArray(target) && key === 'length') {
            return { value, writable: true, enumerable: false, configurable: false };
        }
        if (flags & ACCESSOR) {
            return { ...described, get: functionOf(value), set: functionOf(setter) };
        }
        return { ...described, value, writable: (flags & WRITABLE) !== 0 };
    }

    defineProperty(target, key, descriptor) {
        const { get, set, value, writable, enumerable, configurable } = descriptor;
        const names = Object.keys(descriptor);
        const args = [key, names, get, set, value, writable, enumerable, configurable];
        return state.ask('define', this.number, args) === true;
    }

    getPrototypeOf() {
        const found = state.ask('prototype', this.number, []);
        const isObject = typeof found === 'object' || typeof found === 'function';
        return isObject ? found : null;
    }

    apply(target, self, args) {
        return state.ask('call', this.number, [self, ...args]);
    }

    construct(target, args, newTarget) {
        const made = state.ask('construct', this.number, [newTarget, ...args]);
        const isObject = typeof made === 'function' || (typeof made === 'object' && made !== null);
        if (!isObject) throw typeError('a constructor returned no object');
        return made;
    }
}

const flagsOf = ({ configurable, writable, enumerable, get, set }) =>
    (configurable ? CONFIGURABLE : 0) |
    (writable ? WRITABLE : 0) |
    (enumerable ? ENUMERABLE : 0) |
    (get !== undefined || set !== undefined ? ACCESSOR : 0);

const METHODS = {
    call: (object, [self, ...args]) => library.make.call(object, self, args),
    construct: (object, [newTarget, ...args]) => {
        return library.make.construct(object, args, newTarget);
    },
    get: (object, [key, receiver]) => Reflect.get(object, key, receiver),
    set: (object, [key, value, receiver]) => Reflect.set(object, key, value, receiver),
    has: (object, [key]) => Reflect.has(object, key),
    delete: (object, [key]) => Reflect.deleteProperty(object, key),
    keys: (object) => library.make.list(Reflect.ownKeys(object)),
    describe: (object, [key]) => {
        const found = Reflect.getOwnPropertyDescriptor(object, key);
        if (found === undefined) return undefined;
        const held = flagsOf(found) & ACCESSOR ? [found.get, found.set] : [found.value];
        return library.make.list([flagsOf(found), ...held]);
    },
    define: (object, [key, names, get, set, value, writable, enumerable, configurable]) => {
        const every = { get, set, value, writable, enumerable, configurable };
        const chosen = {};
        for (const name of names) if (Object.hasOwn(every, name)) chosen[name] = every[name];
        return Reflect.defineProperty(object, key, chosen);
    },
    prototype: (object) => Object.getPrototypeOf(object),
};

// Requests that would change functions and classes of the test.
const CHANGING = ['set', 'delete', 'define'];

// Carries out a request about an object of this instance.
export function carryOut(method, number, args) {
    const entry = mine.get(number);
    if (entry === undefined || entry.isCopy || typeof entry.object === 'symbol') {
        throw typeError('a request refers to nothing');
    }
    const isFunction = typeof entry.object === 'function';
    if (state.isTest && isFunction && CHANGING.includes(method)) return false;
    if (!Object.hasOwn(METHODS, method)) throw new TypeError(`no method \`${method}\``);
    return METHODS[method](entry.object, args);
}

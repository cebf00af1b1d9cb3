// Objects of the language and the library that a test replaces for the program as well: a test can
// set `console.log`, `Math.random` or `globalThis.fetch`, and then see what the program does.

import { contents, hasContents, published } from 'host';

import { nameOf, objectOf } from './intrinsics.js';

const library = published();

// Objects whose properties tests replace.
const OBJECTS = ['console', 'Math', 'Date', 'performance', 'JSON'];

const ASSIGNED = /([\p{ID_Start}$_][\p{ID_Continue}$]*)\s*=(?!=)/gu;

const watched = [];

// The objects and global variables that a test can replace, from its text.
export function replaceable(text) {
    const names = new Set(Array.from(text.matchAll(ASSIGNED), ([, name]) => name));
    return {
        objects: OBJECTS.filter((name) => text.includes(name)),
        globals: [...names].filter((name) => Object.hasOwn(library.standard, name)),
    };
}

// Starts to watch the objects and global variables that the test can replace.
export function watch({ objects, globals: names }) {
    const { globals } = library;
    for (const name of objects) {
        const object = globals[name];
        // Calls of what replaces a method have this object as `this`.
        nameOf(object, true);
        watched.push({ name, object, known: contents(object), before: propertiesOf(object) });
    }
    if (names.length === 0) return;
    const values = new Map(names.map((name) => [name, globals[name]]));
    watched.push({ name: 'globalThis', object: globals, values });
}

function propertiesOf(object) {
    const found = new Map();
    for (const key of Reflect.ownKeys(object)) {
        const { value } = Object.getOwnPropertyDescriptor(object, key);
        if (typeof key === 'string') found.set(key, value);
    }
    return found;
}

// What the test has replaced since the last message: names of objects, properties and values.
export function replaced(packer) {
    const found = [];
    for (const item of watched) {
        const { name, object } = item;
        if (item.known !== undefined && hasContents(object, item.known)) continue;
        const before = item.values ?? item.before;
        const keys = item.values === undefined ? undefined : [...before.keys()];
        const now =
            keys === undefined
                ? propertiesOf(object)
                : new Map(keys.map((key) => [key, object[key]]));
        for (const [key, value] of now) {
            if (before.get(key) !== value) found.push([name, key, packer.pack(value)]);
        }
        if (keys === undefined) {
            item.before = now;
            item.known = contents(object);
        } else {
            item.values = now;
        }
    }
    return found;
}

// Replaces properties in the program's instance.
export function replace(changes, unpacker) {
    for (const [name, key, packed] of changes) {
        Reflect.defineProperty(objectOf(name, false), key, {
            value: unpacker.unpack(packed),
            writable: true,
            enumerable: true,
            configurable: true,
        });
    }
}

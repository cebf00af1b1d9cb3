// Copies values between the instance of a test and that of the program.
//
// Primitive values, arrays, plain objects, maps, sets, dates, regular expressions, errors and typed
// arrays are copied. Functions and instances of classes are lent: the other side gets a stand-in
// that sends messages. Containers have numbers in the order in which they occur, each before its
// contents, so that one that occurs twice, or that is returned, stays a single object.

import { kind, published } from 'host';

const library = published();

// Maximum number of parts of a message.
const PARTS = 2_000_000;

const SYMBOLS = new Map(
    ['iterator', 'asyncIterator', 'hasInstance', 'toPrimitive', 'toStringTag', 'species']
        .concat([
            'isConcatSpreadable',
            'match',
            'matchAll',
            'replace',
            'search',
            'split',
            'unscopables',
        ])
        .map((name) => [Symbol[name], name]),
);

const VIEWS = /^(?:(?:Big)?(?:Int|Uint)(?:8|16|32|64)|Uint8Clamped|Float(?:32|64))Array$/;

export function isPlain(value) {
    const prototype = Object.getPrototypeOf(value);
    return prototype === null || prototype === library.globals.Object.prototype;
}

export class Packer {
    left = PARTS;

    // `numbers` maps containers that the other side has to their numbers. `lend` returns the
    // message form of values that are not copied.
    constructor(lend, numbers = new Map()) {
        this.lend = lend;
        this.numbers = numbers;
    }

    pack(value) {
        switch (typeof value) {
            case 'boolean':
                return value;
            case 'string':
                this.spend(1 + value.length / 64);
                return value.isWellFormed()
                    ? value
                    : { $: 'text', v: Array.from(value, (c) => c.codePointAt(0)) };
            case 'number':
                if (Number.isFinite(value) && !Object.is(value, -0)) return value;
                return { $: 'number', v: Object.is(value, -0) ? '-0' : `${value}` };
            case 'bigint':
                return { $: 'bigint', v: `${value}` };
            case 'undefined':
                return { $: 'undefined' };
            case 'symbol':
                return { $: 'symbol', v: SYMBOLS.get(value) ?? '' };
            default:
                return value === null ? null : this.object(value);
        }
    }

    spend(parts) {
        this.left -= parts;
        if (this.left < 0) throw new RangeError('the value is too large to be sent');
    }

    object(value) {
        this.spend(1);
        const known = this.numbers.get(value);
        if (known !== undefined) return { $: 'same', v: known };
        const packed = this.lend(this, value);
        if (packed !== undefined) return packed;
        this.numbers.set(value, this.numbers.size);
        return this.contents(value);
    }

    contents(value) {
        const name = kind(value);
        const list = (items) => items.map((item) => this.pack(item));
        switch (name) {
            case 'Map':
                return { $: 'map', v: [...Map.prototype.entries.call(value)].map(list) };
            case 'Set':
                return { $: 'set', v: list([...Set.prototype.values.call(value)]) };
            case 'Date':
                return { $: 'date', v: this.pack(Date.prototype.getTime.call(value)) };
            case 'RegExp':
                return { $: 'regexp', v: [value.source, value.flags, value.lastIndex] };
            case 'Error':
                return this.error(value);
            default:
        }
        if (Array.isArray(value)) {
            this.spend(value.length);
            const items = Array.from(value, (_, at) =>
                at in value ? this.pack(value[at]) : { $: 'hole' },
            );
            return { $: 'array', v: items };
        }
        if (VIEWS.test(name)) {
            const isBuffer = value instanceof library.globals.Buffer;
            this.spend(value.length);
            return { $: 'view', v: [isBuffer ? 'Buffer' : name, list(Array.from(value))] };
        }
        const isNull = Object.getPrototypeOf(value) === null;
        return { $: isNull ? 'bare' : 'object', v: this.properties(value) };
    }

    properties(value, omitted = []) {
        const keys = Object.keys(value).filter((key) => !omitted.includes(key));
        this.spend(keys.length);
        return keys.map((key) => [key, this.pack(value[key])]);
    }

    error(value) {
        const text = (key) => {
            const found = value[key];
            return typeof found === 'string' ? found : '';
        };
        const own = this.properties(value, ['name', 'message', 'stack']);
        if (Object.hasOwn(value, 'cause')) own.push(['cause', this.pack(value.cause)]);
        const texts = [text('name'), text('message'), text('stack')];
        return { $: 'error', v: [...texts, own, classOf(value)] };
    }
}

const ERRORS = [
    'EvalError',
    'RangeError',
    'ReferenceError',
    'SyntaxError',
    'TypeError',
    'URIError',
];

// The standard class of an error, whatever its `name` claims.
function classOf(error) {
    let prototype = Object.getPrototypeOf(error);
    while (prototype !== null) {
        const found = prototype;
        const name = ERRORS.find((error) => library.globals[error]?.prototype === found);
        if (name !== undefined) return name;
        prototype = Object.getPrototypeOf(prototype);
    }
    return 'Error';
}

export class Unpacker {
    // `containers` are those that have a number already. `reference` reads what was lent.
    constructor(reference, containers = []) {
        this.reference = reference;
        this.containers = containers;
    }

    unpack(packed) {
        if (packed === null || typeof packed !== 'object') return packed;
        const { $: tag, v: value } = packed;
        switch (tag) {
            case 'undefined':
            case 'hole':
                return undefined;
            case 'number':
                return Number(value);
            case 'bigint':
                return BigInt(value);
            case 'text':
                return String.fromCodePoint(...value);
            case 'symbol':
                return [...SYMBOLS.values()].includes(value) ? Symbol[value] : Symbol('symbol');
            case 'same':
                return this.containers[value];
            default:
                return this.container(tag, value, packed);
        }
    }

    container(tag, value, packed) {
        const { make } = library;
        const create = {
            array: make.array,
            object: make.object,
            bare: make.nullObject,
            map: make.map,
            set: make.set,
            date: () => make.date(this.unpack(value)),
            regexp: () => make.regexp(value[0], value[1]),
            view: () =>
                make.bytes(
                    value[0],
                    value[1].map((item) => this.unpack(item)),
                ),
            error: () => {
                const [name, message, , , className] = value;
                const known = ERRORS.includes(className) ? className : 'Error';
                return make.error(`${name}`, `${message}`, known);
            },
        };
        if (!Object.hasOwn(create, tag)) return this.reference(this, packed);
        const container = create[tag]();
        this.containers.push(container);
        this.fill(container, packed);
        return container;
    }

    // Replaces the contents of a container.
    fill(container, { $: tag, v: value }) {
        switch (tag) {
            case 'array':
                container.length = 0;
                container.length = value.length;
                value.forEach((item, at) => {
                    if (item?.$ !== 'hole') container[at] = this.unpack(item);
                });
                break;
            case 'object':
            case 'bare':
                for (const key of Object.keys(container)) delete container[key];
                this.define(container, value);
                break;
            case 'map':
                Map.prototype.clear.call(container);
                for (const [key, held] of value) {
                    Map.prototype.set.call(container, this.unpack(key), this.unpack(held));
                }
                break;
            case 'set':
                Set.prototype.clear.call(container);
                for (const held of value) Set.prototype.add.call(container, this.unpack(held));
                break;
            case 'date':
                Date.prototype.setTime.call(container, this.unpack(value));
                break;
            case 'view':
                value[1].forEach((item, at) => (container[at] = this.unpack(item)));
                break;
            case 'error':
                Object.defineProperty(container, 'stack', {
                    value: `${value[2]}`,
                    writable: true,
                    configurable: true,
                });
                this.define(container, value[3]);
                break;
            default:
        }
    }

    define(container, pairs) {
        for (const [key, held] of pairs) {
            Object.defineProperty(container, `${key}`, {
                value: this.unpack(held),
                writable: true,
                enumerable: key !== 'cause',
                configurable: true,
            });
        }
    }
}

// The contents of containers as strings, to detect changes.
export function snapshot(containers, lend) {
    const numbers = new Map(containers.map((container, at) => [container, at]));
    return containers.map((container) => {
        const packer = new Packer(lend, new Map(numbers));
        return JSON.stringify(packer.contents(container));
    });
}

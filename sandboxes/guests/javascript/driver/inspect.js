// Shows values as Node's `util.inspect` does. Runs in the realm of the driver, so nothing that a
// program changes in its own realm affects it, apart from what the shown objects themselves do.

import { iterated, kind, promise as promiseState, proxy as proxyTarget } from 'host';

import { escapeText, isIdentifier, widthOf } from './texts.js';

export const CUSTOM = Symbol.for('nodejs.util.inspect.custom');

const DEFAULTS = {
    showHidden: false,
    depth: 2,
    colors: false,
    customInspect: true,
    showProxy: false,
    maxArrayLength: 100,
    maxStringLength: 10000,
    breakLength: 80,
    compact: 3,
    sorted: false,
    getters: false,
    numericSeparator: false,
};

// How properties are written: as those of an object, as elements of an array, or as further
// properties of an array.
const OBJECT = 0;
const ELEMENT = 1;
const EXTRA = 2;

// Colors of `colors: true`: codes that start and end them.
const COLORS = {
    special: [36, 39],
    number: [33, 39],
    bigint: [33, 39],
    boolean: [33, 39],
    undefined: [90, 39],
    null: [1, 22],
    string: [32, 39],
    symbol: [32, 39],
    date: [35, 39],
    regexp: [31, 39],
};

const ownKeys = Reflect.ownKeys;
const describe = Object.getOwnPropertyDescriptor;
const prototypeOf = Object.getPrototypeOf;
const isEnumerable = (value, key) => Object.prototype.propertyIsEnumerable.call(value, key);
const hasOwn = Object.hasOwn;
const TypedArray = prototypeOf(Uint8Array);
const typedLength = describe(TypedArray.prototype, 'length').get;

const TYPED_ARRAYS = new Set(
    [Int8Array, Uint8Array, Uint8ClampedArray, Int16Array, Uint16Array, Int32Array, Uint32Array]
        .concat([Float32Array, Float64Array, BigInt64Array, BigUint64Array])
        .map((constructor) => constructor.name),
);

const BOXED = {
    Number: Number.prototype.valueOf,
    String: String.prototype.valueOf,
    Boolean: Boolean.prototype.valueOf,
    Symbol: Symbol.prototype.valueOf,
    BigInt: BigInt.prototype.valueOf,
};

function contextOf(options) {
    const context = { seen: [], indentation: 0, currentDepth: 0, circular: undefined };
    context.options = options === null || typeof options !== 'object' ? {} : options;
    Object.assign(context, DEFAULTS, context.options);
    if (context.maxArrayLength === null) context.maxArrayLength = Infinity;
    if (context.maxStringLength === null) context.maxStringLength = Infinity;
    return context;
}

export function inspect(value, options, ...legacy) {
    let chosen = options;
    if (typeof options === 'boolean') {
        chosen = { showHidden: options };
        if (legacy[0] !== undefined) chosen.depth = legacy[0];
        if (legacy[1] !== undefined) chosen.colors = legacy[1];
    }
    return formatValue(contextOf(chosen), value, 0);
}

inspect.custom = CUSTOM;
inspect.defaultOptions = DEFAULTS;
inspect.colors = Object.create(null);
inspect.styles = Object.create(null);

function styled(context, text, style) {
    const codes = context.colors && COLORS[style];
    return codes ? `\u001b[${codes[0]}m${text}\u001b[${codes[1]}m` : text;
}

function formatPrimitive(context, value) {
    switch (typeof value) {
        case 'string':
            return formatText(context, value);
        case 'number':
            return styled(context, Object.is(value, -0) ? '-0' : `${value}`, 'number');
        case 'bigint':
            return styled(context, `${value}n`, 'bigint');
        case 'symbol':
            return styled(context, Symbol.prototype.toString.call(value), 'symbol');
        default:
            return styled(context, `${value}`, value === null ? 'null' : typeof value);
    }
}

function formatText(context, text) {
    let trailer = '';
    if (text.length > context.maxStringLength) {
        const left = text.length - context.maxStringLength;
        text = text.slice(0, context.maxStringLength);
        trailer = `... ${left} more character${left > 1 ? 's' : ''}`;
    }
    const available = context.breakLength - context.indentation - 4;
    if (context.compact !== true && text.length > 16 && text.length > available) {
        const lines = text
            .split(/(?<=\n)/)
            .map((line) => styled(context, escapeText(line), 'string'));
        return lines.join(` +\n${' '.repeat(context.indentation + 2)}`) + trailer;
    }
    return styled(context, escapeText(text), 'string') + trailer;
}

function formatValue(context, value, depth) {
    if (value === null || (typeof value !== 'object' && typeof value !== 'function')) {
        return formatPrimitive(context, value);
    }
    let shown = value;
    const target = proxyTarget(value);
    if (target !== undefined) {
        if (context.showProxy) return formatValue(context, target, depth);
        for (let inner = target; inner !== undefined; inner = proxyTarget(inner)) shown = inner;
        if (shown === null) return '<Revoked Proxy>';
    }
    if (context.customInspect) {
        const custom = shown[CUSTOM];
        if (typeof custom === 'function' && custom !== inspect) {
            const constructor = describe(shown, 'constructor');
            const isPrototype = constructor?.value?.prototype === shown;
            if (!isPrototype) {
                const left = context.depth === null ? null : context.depth - depth;
                const options = { ...DEFAULTS, ...context.options, depth: left, stylize: plain };
                const result = custom.call(value, left, options, inspect);
                if (result !== value) {
                    if (typeof result !== 'string') return formatValue(context, result, depth);
                    return result.replaceAll('\n', `\n${' '.repeat(context.indentation)}`);
                }
            }
        }
    }
    if (context.seen.includes(shown)) {
        context.circular ??= new Map();
        let index = context.circular.get(shown);
        if (index === undefined) {
            index = context.circular.size + 1;
            context.circular.set(shown, index);
        }
        return styled(context, `[Circular *${index}]`, 'special');
    }
    return formatObject(context, shown, depth);
}

function plain(text) {
    return `${text}`;
}

// Name of the constructor, from the prototype chain; `null` without a prototype.
function constructorName(value) {
    let first;
    for (let object = value; object !== null && object !== undefined;) {
        const found = describe(object, 'constructor');
        const constructor = found?.value;
        if (typeof constructor === 'function' && constructor.name !== '') {
            if (isInstance(value, constructor)) return `${constructor.name}`;
        }
        object = prototypeOf(object);
        first ??= object;
    }
    if (first === null || first === undefined) return null;
    return `${kind(value)} <${inspect(first, { depth: -1, customInspect: false })}>`;
}

function isInstance(value, constructor) {
    try {
        return value instanceof constructor;
    } catch {
        return false;
    }
}

function prefixOf(constructor, tag, fallback, size = '') {
    if (constructor === null) {
        const name = `[${fallback}${size}: null prototype] `;
        return tag !== '' && fallback !== tag ? `${name}[${tag}] ` : name;
    }
    const name = `${constructor}${size} `;
    return tag !== '' && constructor !== tag ? `${name}[${tag}] ` : name;
}

function keysOf(context, value) {
    const keys = ownKeys(value);
    if (context.showHidden) return keys;
    return keys.filter((key) => isEnumerable(value, key));
}

const isIndex = (key) => typeof key === 'string' && /^(0|[1-9][0-9]{0,9})$/.test(key);

function tagOf(context, value) {
    const tag = value[Symbol.toStringTag];
    if (typeof tag !== 'string' || tag === '') return '';
    const isListed = context.showHidden ? hasOwn : isEnumerable;
    return isListed(value, Symbol.toStringTag) ? '' : tag;
}

// How an object is written: `base` precedes the braces, and `entries` returns what precedes the
// properties inside them. If the result is a string, it is the complete text.
function layoutOf(context, value, depth) {
    const name = kind(value);
    const constructor = constructorName(value);
    const tag = tagOf(context, value);
    const layout = { base: '', braces: ['{', '}'], entries: undefined, extra: OBJECT };
    layout.name = (fallback) => prefixOf(constructor, tag, fallback).slice(0, -1);
    const braced = (keys, entries, fallback, size) => {
        layout.braces[0] = `${prefixOf(constructor, tag, fallback, size)}{`;
        return Object.assign(layout, { keys, entries });
    };
    if (Array.isArray(value)) {
        const isPlain = constructor === 'Array' && tag === '';
        const prefix = isPlain ? '' : prefixOf(constructor, tag, 'Array', `(${value.length})`);
        layout.keys = keysOf(context, value).filter((key) => !isIndex(key));
        layout.braces = [`${prefix}[`, ']'];
        if (value.length === 0 && layout.keys.length === 0) return `${layout.braces[0]}]`;
        layout.extra = EXTRA;
        layout.entries = arrayEntries;
        return layout;
    }
    if (TYPED_ARRAYS.has(name)) {
        const length = typedLength.call(value);
        layout.keys = keysOf(context, value).filter((key) => !isIndex(key));
        layout.braces = [`${prefixOf(constructor, tag, name, `(${length})`)}[`, ']'];
        if (length === 0 && layout.keys.length === 0) return `${layout.braces[0]}]`;
        layout.extra = EXTRA;
        layout.entries = typedEntries;
        return layout;
    }
    const keys = keysOf(context, value);
    layout.keys = keys;
    if (name === 'Set' || name === 'Map') {
        const { size } = name === 'Set' ? sizeOfSet(value) : sizeOfMap(value);
        if (size === 0 && keys.length === 0) return `${prefixOf(constructor, tag, name, '(0)')}{}`;
        return braced(keys, name === 'Set' ? setEntries : mapEntries, name, `(${size})`);
    }
    if (name === 'Arguments' || name === 'MappedArguments') {
        layout.braces[0] = '[Arguments] {';
        return keys.length === 0 ? '[Arguments] {}' : layout;
    }
    if (typeof value === 'function') {
        layout.base = functionBase(value, constructor, tag);
        layout.style = 'special';
    } else if (name === 'RegExp') {
        const prefix = prefixOf(constructor, tag, 'RegExp');
        layout.base = RegExp.prototype.toString.call(value);
        if (prefix !== 'RegExp ') layout.base = prefix + layout.base;
        layout.style = 'regexp';
    } else if (name === 'Date') {
        const time = Date.prototype.getTime.call(value);
        const text = Number.isNaN(time) ? 'Invalid Date' : Date.prototype.toISOString.call(value);
        const prefix = prefixOf(constructor, tag, 'Date');
        layout.base = prefix === 'Date ' ? text : prefix + text;
        layout.style = 'date';
    } else if (name === 'Error') {
        layout.base = errorBase(context, value, constructor, tag, keys);
    } else if (name in BOXED) {
        layout.base = boxedBase(context, value, name, constructor, tag);
        if (name === 'String') layout.keys = keys.filter((key) => !isIndex(key));
        layout.style = name.toLowerCase();
    } else if (name === 'ArrayBuffer' || name === 'SharedArrayBuffer') {
        return braced(keys, bufferEntries, name);
    } else if (name === 'DataView') {
        keys.unshift('byteLength', 'byteOffset', 'buffer');
        return braced(keys, undefined, name);
    } else if (name === 'Promise') {
        return braced(keys, promiseEntries, name);
    } else if (name === 'WeakSet' || name === 'WeakMap') {
        return braced(keys, () => [styled(context, '<items unknown>', 'special')], name);
    } else if (name === 'WeakRef') {
        return braced(keys, () => ['<ref>'], name);
    } else if (name === 'Map Iterator' || name === 'Set Iterator') {
        const [isPairs] = iterated(value);
        layout.braces[0] = `[${isPairs ? `${name.slice(0, 3)} Entries` : tag}] {`;
        return Object.assign(layout, { entries: iteratorEntries });
    } else if (name === 'Module') {
        layout.braces[0] = '[Module: null prototype] {';
        return layout;
    } else if (constructor === 'Object' && tag === '') {
        return keys.length === 0 ? '{}' : layout;
    } else {
        const prefix = prefixOf(constructor, tag, 'Object');
        if (keys.length === 0) return `${prefix}{}`;
        return braced(keys, undefined, 'Object');
    }
    if (layout.keys.length === 0) return styled(context, layout.base, layout.style);
    return layout;
}

const sizeOfSet = (value) => ({ size: describe(Set.prototype, 'size').get.call(value) });
const sizeOfMap = (value) => ({ size: describe(Map.prototype, 'size').get.call(value) });

function formatObject(context, value, depth) {
    const layout = layoutOf(context, value, depth);
    if (typeof layout === 'string') return layout;
    if (context.depth !== null && depth > context.depth) {
        const name =
            Array.isArray(value) && layout.braces[0] === '[' ? 'Array' : layout.name('Object');
        return styled(context, `[${name}]`, 'special');
    }
    context.seen.push(value);
    context.currentDepth = depth + 1;
    const output = layout.entries?.(context, value, depth + 1) ?? [];
    for (const key of layout.keys) {
        output.push(formatProperty(context, value, depth + 1, key, layout.extra));
    }
    context.seen.pop();
    const index = context.circular?.get(value);
    if (index !== undefined) {
        const reference = styled(context, `<ref *${index}>`, 'special');
        layout.base = layout.base === '' ? reference : `${reference} ${layout.base}`;
    }
    if (context.sorted) {
        const order = typeof context.sorted === 'function' ? context.sorted : undefined;
        if (layout.extra === OBJECT) output.sort(order);
    }
    return joined(context, output, layout, depth + 1, value);
}

function joined(context, output, layout, depth, value) {
    const { base, braces, extra } = layout;
    const start = base === '' ? '' : `${base} `;
    if (context.compact === true) {
        return `${start}${braces[0]} ${output.join(', ')} ${braces[1]}`;
    }
    let lines = output;
    if (typeof context.compact === 'number' && context.compact >= 1) {
        if (extra === EXTRA && output.length > 6) lines = inColumns(context, output, value);
        if (context.currentDepth - depth < context.compact && lines.length === output.length) {
            const used = lines.length + context.indentation + braces[0].length + base.length + 10;
            if (fits(context, lines, used, base)) {
                const line = lines.join(', ');
                if (!line.includes('\n')) return `${start}${braces[0]} ${line} ${braces[1]}`;
            }
        }
    }
    const indent = `\n${' '.repeat(context.indentation)}`;
    return `${start}${braces[0]}${indent}  ${lines.join(`,${indent}  `)}${indent}${braces[1]}`;
}

function fits(context, output, used, base) {
    let total = output.length + used;
    if (total + output.length > context.breakLength) return false;
    for (const text of output) {
        total += context.colors ? widthOf(text) : text.length;
        if (total > context.breakLength) return false;
    }
    return base === '' || !base.includes('\n');
}

// Arranges the elements of a long array in columns of equal width.
function inColumns(context, output, value) {
    const hasMore = context.maxArrayLength < output.length;
    const count = hasMore ? output.length - 1 : output.length;
    const widths = [];
    let total = 0;
    let longest = 0;
    for (let i = 0; i < count; i++) {
        widths.push(widthOf(output[i]));
        total += widths[i] + 2;
        longest = Math.max(longest, widths[i]);
    }
    const cell = longest + 2;
    if (cell * 3 + context.indentation >= context.breakLength) return output;
    if (total / cell <= 5 && longest > 6) return output;
    const bias = Math.sqrt(cell - total / output.length);
    const biased = Math.max(cell - 3 - bias, 1);
    const columns = Math.min(
        Math.round(Math.sqrt(2.5 * biased * count) / biased),
        Math.floor((context.breakLength - context.indentation) / cell),
        context.compact * 4,
        15,
    );
    if (columns <= 1) return output;
    const columnWidths = [];
    for (let column = 0; column < columns; column++) {
        let width = 0;
        for (let i = column; i < count; i += columns) width = Math.max(width, widths[i]);
        columnWidths.push(width + 2);
    }
    let isNumeric = true;
    if (value !== undefined) {
        for (let i = 0; i < output.length && isNumeric; i++) {
            isNumeric = typeof value[i] === 'number' || typeof value[i] === 'bigint';
        }
    }
    const lines = [];
    for (let first = 0; first < count; first += columns) {
        const last = Math.min(first + columns, count) - 1;
        let line = '';
        for (let i = first; i < last; i++) {
            const width = columnWidths[i - first] + output[i].length - widths[i];
            line += isNumeric ? `${output[i]}, `.padStart(width) : `${output[i]}, `.padEnd(width);
        }
        const width = columnWidths[last - first] + output[last].length - widths[last] - 2;
        lines.push(line + (isNumeric ? output[last].padStart(width) : output[last]));
    }
    if (hasMore) lines.push(output[count]);
    return lines;
}

function formatProperty(context, value, depth, key, type) {
    const found = describe(value, key);
    const property = found ?? { value: value[key], enumerable: true };
    let text;
    if (property.value !== undefined) {
        const indent = context.compact === true && type === OBJECT ? 3 : 2;
        context.indentation += indent;
        text = formatValue(context, property.value, depth);
        context.indentation -= indent;
    } else if (property.get !== undefined) {
        text = accessor(context, value, key, property, depth);
    } else {
        const isSetter = property.set !== undefined;
        text = isSetter
            ? styled(context, '[Setter]', 'special')
            : styled(context, 'undefined', 'undefined');
    }
    if (type === ELEMENT) return text;
    return `${nameOf(context, key, property)}: ${text}`;
}

function nameOf(context, key, property) {
    if (typeof key === 'symbol') return `[${styled(context, key.toString(), 'symbol')}]`;
    if (key === '__proto__') return "['__proto__']";
    if (property.enumerable === false) return `[${key}]`;
    return isIdentifier(key) ? key : styled(context, escapeText(key), 'string');
}

function accessor(context, value, key, property, depth) {
    const label = property.set === undefined ? 'Getter' : 'Getter/Setter';
    if (!context.getters) return styled(context, `[${label}]`, 'special');
    try {
        const result = property.get.call(value);
        context.indentation += 2;
        const text = formatValue(context, result, depth);
        context.indentation -= 2;
        const isPrimitive = result === null || typeof result !== 'object';
        return isPrimitive ? `[${label}: ${text}]` : `[${label}] ${text}`;
    } catch (error) {
        return `[${label}: <Inspection threw (${error?.message})>]`;
    }
}

function more(output, left) {
    if (left > 0) output.push(`... ${left} more item${left > 1 ? 's' : ''}`);
    return output;
}

function arrayEntries(context, value, depth) {
    const output = [];
    const length = Math.min(Math.max(0, context.maxArrayLength), value.length);
    for (let i = 0; i < length; i++) {
        if (!hasOwn(value, i)) return entriesWithHoles(context, value, depth, length, output, i);
        output.push(formatProperty(context, value, depth, i, ELEMENT));
    }
    return more(output, value.length - length);
}

function entriesWithHoles(context, value, depth, length, output, at) {
    let index = at;
    for (const key of Object.keys(value)) {
        if (!isIndex(key)) break;
        if (Number(key) < index) continue;
        if (output.length >= length) break;
        const holes = Number(key) - index;
        if (holes > 0) {
            output.push(
                styled(context, `<${holes} empty item${holes > 1 ? 's' : ''}>`, 'undefined'),
            );
            index = Number(key);
            if (output.length === length) break;
        }
        output.push(formatProperty(context, value, depth, key, ELEMENT));
        index++;
    }
    const left = value.length - index;
    if (output.length === length) return more(output, left);
    if (left > 0) {
        output.push(styled(context, `<${left} empty item${left > 1 ? 's' : ''}>`, 'undefined'));
    }
    return output;
}

function typedEntries(context, value) {
    const total = typedLength.call(value);
    const length = Math.min(Math.max(0, context.maxArrayLength), total);
    const output = [];
    for (let i = 0; i < length; i++) output.push(formatPrimitive(context, value[i]));
    return more(output, total - length);
}

function setEntries(context, value, depth) {
    const output = [];
    const limit = Math.max(0, context.maxArrayLength);
    let left = sizeOfSet(value).size;
    context.indentation += 2;
    const values = Set.prototype.values.call(value);
    while (output.length < limit && left > 0) {
        output.push(formatValue(context, values.next().value, depth));
        left--;
    }
    context.indentation -= 2;
    return more(output, left);
}

function mapEntries(context, value, depth) {
    const output = [];
    const limit = Math.max(0, context.maxArrayLength);
    let left = sizeOfMap(value).size;
    context.indentation += 2;
    const entries = Map.prototype.entries.call(value);
    while (output.length < limit && left > 0) {
        const [key, held] = entries.next().value;
        output.push(`${formatValue(context, key, depth)} => ${formatValue(context, held, depth)}`);
        left--;
    }
    context.indentation -= 2;
    return more(output, left);
}

function iteratorEntries(context, value, depth) {
    const [isPairs, ...items] = iterated(value);
    context.indentation += 2;
    const shown = items.map((item) => formatValue(context, item, depth));
    context.indentation -= 2;
    if (!isPairs) return shown;
    return shown.flatMap((key, i) => (i % 2 === 0 ? [`[ ${key}, ${shown[i + 1]} ]`] : []));
}

function promiseEntries(context, value, depth) {
    const [state, result] = promiseState(value);
    if (state === 0) return [styled(context, '<pending>', 'special')];
    context.indentation += 2;
    const text = formatValue(context, result, depth);
    context.indentation -= 2;
    return [state === 2 ? `${styled(context, '<rejected>', 'special')} ${text}` : text];
}

function bufferEntries(context, value) {
    const bytes = new Uint8Array(value);
    const shown = [...bytes.subarray(0, Math.min(50, context.maxArrayLength))];
    let text = shown.map((byte) => byte.toString(16).padStart(2, '0')).join(' ');
    const left = bytes.length - shown.length;
    if (left > 0) text += ` ... ${left} more byte${left > 1 ? 's' : ''}`;
    return [`[Uint8Contents]: <${text}>`, `byteLength: ${formatPrimitive(context, bytes.length)}`];
}

function functionBase(value, constructor, tag) {
    const source = Function.prototype.toString.call(value);
    if (/^class[\s{]/.test(source)) return classBase(value, constructor, tag);
    const type = kind(value).includes('Generator') ? 'GeneratorFunction' : 'Function';
    const full = kind(value).startsWith('Async') ? `Async${type}` : type;
    let base = `[${full}`;
    if (constructor === null) base += ' (null prototype)';
    base += value.name === '' ? ' (anonymous)]' : `: ${String(value.name)}]`;
    if (constructor !== full && constructor !== null) base += ` ${constructor}`;
    if (tag !== '' && constructor !== tag) base += ` [${tag}]`;
    return base;
}

function classBase(value, constructor, tag) {
    const name = (hasOwn(value, 'name') && value.name) || '(anonymous)';
    let base = `class ${name}`;
    if (constructor !== 'Function' && constructor !== null) base += ` [${constructor}]`;
    if (tag !== '' && constructor !== tag) base += ` [${tag}]`;
    if (constructor === null) return `[${base} extends null]`;
    const parent = prototypeOf(value)?.name;
    return parent ? `[${base} extends ${parent}]` : `[${base}]`;
}

function boxedBase(context, value, name, constructor, tag) {
    const inside = BOXED[name].call(value);
    let base = `[${name}`;
    if (name !== constructor)
        base += constructor === null ? ' (null prototype)' : ` (${constructor})`;
    base += `: ${formatPrimitive({ ...context, colors: false, compact: true }, inside)}]`;
    if (tag !== '' && tag !== constructor) base += ` [${tag}]`;
    return base;
}

function errorBase(context, error, constructor, tag, keys) {
    const { stack } = error;
    let text = typeof stack === 'string' && stack !== '' ? stack : titleOf(error);
    const name = constructor ?? 'Error';
    const title = typeof error.name === 'string' ? error.name : 'Error';
    // The class says more than the name that the error had when it was created.
    if (name !== title && !text.includes(name) && text.startsWith(title)) {
        text = name + text.slice(title.length);
        if (title !== 'Error' && title !== '') text = text.replace(name, `${name} [${title}]`);
    }
    for (const key of ['name', 'message', 'stack']) {
        const at = keys.indexOf(key);
        if (at !== -1 && (key === 'stack' || text.includes(error[key]))) keys.splice(at, 1);
    }
    for (const key of ['cause', 'errors']) {
        if (hasOwn(error, key) && !keys.includes(key)) keys.push(key);
    }
    if (!/\n {4}at /.test(text)) text = `[${text}]`;
    if (context.indentation === 0) return text;
    return text.replaceAll('\n', `\n${' '.repeat(context.indentation)}`);
}

function titleOf(error) {
    try {
        return Error.prototype.toString.call(error);
    } catch {
        return 'Error';
    }
}

// Formats the arguments of `console.log`, and tables.

import { kind } from 'host';

import { inspect } from './inspect.js';
import { widthOf } from './texts.js';

function numberText(value) {
    if (typeof value === 'bigint') return `${value}n`;
    return Object.is(value, -0) ? '-0' : `${value}`;
}

// Whether `toString` of an object is built into the engine, and not defined by the program.
function hasBuiltInToString(value) {
    const native = /\[native code\]/;
    const found = value.toString;
    if (typeof found !== 'function') return true;
    return (
        native.test(Function.prototype.toString.call(found)) && !Object.hasOwn(value, 'toString')
    );
}

function asText(value) {
    if (typeof value === 'number' || typeof value === 'bigint') return numberText(value);
    if (typeof value !== 'object' || value === null || !hasBuiltInToString(value)) {
        return String(value);
    }
    return inspect(value, { depth: 0, colors: false, compact: 3 });
}

function asJson(value) {
    try {
        return JSON.stringify(value);
    } catch (error) {
        if (/circular/i.test(error?.message)) return '[Circular]';
        throw error;
    }
}

function toNumber(value, convert) {
    if (typeof value === 'bigint') return `${value}n`;
    if (typeof value === 'symbol') return 'NaN';
    return numberText(convert(value));
}

function directive(letter, value, options) {
    switch (letter) {
        case 's':
            return asText(value);
        case 'j':
            return asJson(value);
        case 'd':
            return typeof value === 'object' ? numberText(Number(value)) : toNumber(value, Number);
        case 'i':
            return typeof value === 'object'
                ? numberText(parseInt(value, 10))
                : toNumber(value, parseInt);
        case 'f':
            return typeof value === 'symbol' ? 'NaN' : numberText(parseFloat(value));
        case 'O':
            return inspect(value, options);
        case 'o':
            return inspect(value, { ...options, showHidden: true, showProxy: true, depth: 4 });
        case 'c':
            return '';
        default:
            return undefined;
    }
}

export function formatWithOptions(options, ...args) {
    const [first] = args;
    if (args.length === 1 && typeof first === 'string') return first;
    let used = 0;
    let text = '';
    let separator = '';
    if (typeof first === 'string') {
        let copied = 0;
        for (let i = 0; i < first.length - 1; i++) {
            if (first[i] !== '%') continue;
            const letter = first[++i];
            if (letter === '%') {
                text += first.slice(copied, i);
                copied = i + 1;
                continue;
            }
            if (used + 1 === args.length) continue;
            if (!'sjdifOoc'.includes(letter)) continue;
            const shown = directive(letter, args[used + 1], options);
            used++;
            text += first.slice(copied, i - 1) + shown;
            copied = i + 1;
        }
        if (copied !== 0) {
            used++;
            separator = ' ';
            text += first.slice(copied);
        }
    }
    for (; used < args.length; used++) {
        const value = args[used];
        text += separator + (typeof value === 'string' ? value : inspect(value, options));
        separator = ' ';
    }
    return text;
}

export function format(...args) {
    return formatWithOptions(undefined, ...args);
}

function row(cells, widths) {
    const padded = cells.map((cell, i) => ` ${cell}${' '.repeat(widths[i] - widthOf(cell) - 1)}`);
    return `│${padded.join('│')}│`;
}

function drawn(heads, columns) {
    const count = Math.max(0, ...columns.map((column) => column.length));
    const widths = heads.map((head, i) => {
        const cells = columns[i].map((cell) => widthOf(cell));
        return Math.max(widthOf(head), ...cells) + 2;
    });
    const lines = widths.map((width) => '─'.repeat(width));
    const output = [`┌${lines.join('┬')}┐`, row(heads, widths), `├${lines.join('┼')}┤`];
    for (let i = 0; i < count; i++)
        output.push(
            row(
                columns.map((column) => column[i] ?? ''),
                widths,
            ),
        );
    output.push(`└${lines.join('┴')}┘`);
    return output.join('\n');
}

const isPrimitive = (value) =>
    value === null || (typeof value !== 'object' && typeof value !== 'function');

function cell(value) {
    const depth =
        value !== null && typeof value === 'object' && Object.keys(value).length > 2 ? -1 : 0;
    return inspect(value, { maxArrayLength: 3, breakLength: Infinity, depth });
}

// The text of `console.table`, or undefined for values that are not tables.
export function table(data, properties) {
    if (isPrimitive(data)) return undefined;
    const name = kind(data);
    let entries;
    let indexHead = '(index)';
    if (name === 'Map') {
        const pairs = [...Map.prototype.entries.call(data)];
        const keys = pairs.map(([key]) => cell(key));
        const values = pairs.map(([, value]) => cell(value));
        const indices = pairs.map((_, i) => `${i}`);
        return drawn(['(iteration index)', 'Key', 'Values'], [indices, keys, values]);
    }
    if (name === 'Set') {
        indexHead = '(iteration index)';
        entries = [...Set.prototype.values.call(data)].map((value, i) => [`${i}`, value]);
    } else {
        entries = Object.keys(data).map((key) => [key, data[key]]);
    }
    const columns = new Map();
    const values = [];
    let hasValues = false;
    entries.forEach(([, value], i) => {
        values.push('');
        if (isPrimitive(value) || (typeof value === 'function' && properties === undefined)) {
            hasValues = true;
            values[i] = cell(value);
            return;
        }
        for (const key of properties ?? Object.keys(value)) {
            if (!columns.has(key)) columns.set(key, []);
            const column = columns.get(key);
            while (column.length < i) column.push('');
            column.push(Object.hasOwn(value, key) ? cell(value[key]) : '');
        }
    });
    const heads = [indexHead, ...columns.keys()];
    const cells = [entries.map(([key]) => key), ...columns.values()];
    for (const column of cells) while (column.length < entries.length) column.push('');
    if (hasValues) {
        heads.push('Values');
        cells.push(values);
    }
    return drawn(heads, cells);
}

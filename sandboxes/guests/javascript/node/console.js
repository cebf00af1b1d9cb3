// The object `console`.

import { now, published, write } from 'host';

import { process } from './process.js';

const { format, inspect, table } = published();

const { stdout, stderr } = process;
const original = [stdout.write, stderr.write];

function put(fd, text) {
    const stream = fd === 1 ? stdout : stderr;
    if (stream.write === original[fd - 1]) write(fd, text);
    else stream.write(text);
}

// The text of strings and integers, which most programs print; undefined for other arguments.
function plainText(args) {
    let text = '';
    for (let i = 0; i < args.length; i++) {
        const value = args[i];
        if (typeof value === 'string') {
            if (i === 0 && args.length > 1 && value.includes('%')) return undefined;
        } else if (typeof value !== 'number' || value === 0) {
            return undefined;
        }
        text += i === 0 ? value : ` ${value}`;
    }
    return text;
}

class Console {
    #indent = '';
    #counts = new Map();
    #timers = new Map();
    #streams;

    constructor(options) {
        const streams =
            options?.stdout === undefined && options?.write ? { stdout: options } : options;
        this.#streams = streams && [streams.stdout, streams.stderr ?? streams.stdout];
        for (const name of Object.getOwnPropertyNames(Console.prototype)) {
            if (name !== 'constructor') this[name] = this[name].bind(this);
        }
    }

    #write(fd, args) {
        let text = plainText(args) ?? format(...args);
        if (this.#indent !== '') text = this.#indent + text.replaceAll('\n', `\n${this.#indent}`);
        if (this.#streams === undefined) put(fd, `${text}\n`);
        else this.#streams[fd - 1].write(`${text}\n`);
    }

    log(...args) {
        this.#write(1, args);
    }

    info(...args) {
        this.#write(1, args);
    }

    debug(...args) {
        this.#write(1, args);
    }

    error(...args) {
        this.#write(2, args);
    }

    warn(...args) {
        this.#write(2, args);
    }

    trace(...args) {
        const error = { name: 'Trace', message: format(...args) };
        Error.captureStackTrace(error, this.trace);
        this.#write(2, [`Trace: ${error.message}${error.stack}`]);
    }

    dir(value, options) {
        this.#write(1, [inspect(value, { customInspect: false, ...options })]);
    }

    dirxml(...args) {
        this.#write(1, args);
    }

    table(data, properties) {
        const text = table(data, properties);
        this.#write(1, text === undefined ? [data] : [text]);
    }

    assert(condition, ...args) {
        if (condition) return;
        if (typeof args[0] === 'string')
            this.#write(2, [`Assertion failed: ${args[0]}`, ...args.slice(1)]);
        else this.#write(2, ['Assertion failed', ...args]);
    }

    count(label = 'default') {
        const count = (this.#counts.get(`${label}`) ?? 0) + 1;
        this.#counts.set(`${label}`, count);
        this.#write(1, [`${label}: ${count}`]);
    }

    countReset(label = 'default') {
        this.#counts.delete(`${label}`);
    }

    group(...args) {
        if (args.length > 0) this.#write(1, args);
        this.#indent += '  ';
    }

    groupCollapsed(...args) {
        this.group(...args);
    }

    groupEnd() {
        this.#indent = this.#indent.slice(2);
    }

    time(label = 'default') {
        this.#timers.set(`${label}`, now());
    }

    timeEnd(label = 'default') {
        this.timeLog(label);
        this.#timers.delete(`${label}`);
    }

    timeLog(label = 'default', ...args) {
        const start = this.#timers.get(`${label}`);
        if (start === undefined) return;
        const milliseconds = (now() - start) / 1e6;
        const text =
            milliseconds >= 1000
                ? `${(milliseconds / 1000).toFixed(3)}s`
                : `${Number(milliseconds.toFixed(3))}ms`;
        this.#write(1, [`${label}: ${text}`, ...args]);
    }

    timeStamp() {}

    profile() {}

    profileEnd() {}
}

export const console = new Console();
console.Console = Console;
Object.defineProperty(console, Symbol.toStringTag, { value: 'console', configurable: true });

// Records the last calls from the test into the program, for the evidence.

import { inspect } from './inspect.js';

const CALLS = 3;

// Maximum length of the text of a call or a value, in characters.
const TEXT = 400;

export class Recorder {
    calls = [];
    names = new Map();

    shown(value) {
        try {
            const options = {
                depth: 4,
                breakLength: Infinity,
                maxArrayLength: 50,
                maxStringLength: TEXT,
            };
            return inspect(value, { ...options, customInspect: false }).slice(0, TEXT);
        } catch {
            return '...';
        }
    }

    // Names an object of the program.
    name(number, name, isCertain) {
        if (typeof name !== 'string' || name === '') return;
        if (isCertain || !this.names.has(number)) this.names.set(number, name.slice(0, 100));
    }

    nameProperty(number, key, property) {
        if (property === undefined || typeof key !== 'string') return;
        this.names.set(property, `${this.names.get(number) ?? 'object'}.${key}`.slice(0, 100));
    }

    // Objects are shown now, because they can change. Other values are shown if the test fails.
    begin(number, args) {
        const record = { number, args: args.map((arg) => this.kept(arg)) };
        this.calls.push(record);
        if (this.calls.length > CALLS) this.calls.shift();
        return record;
    }

    kept(value) {
        const isShort = typeof value !== 'object' && typeof value !== 'function';
        return isShort || value === null ? { value } : { text: this.shown(value) };
    }

    textOf({ text, value }) {
        return text ?? this.shown(value);
    }

    end(record, result, isLent) {
        if (record === undefined) return;
        record.result = isLent ? { text: '<object of the program>' } : this.kept(result);
    }

    fail(record, text) {
        if (record === undefined) return;
        const line = /^[A-Za-z]*Error.*$/m.exec(`${text}`)?.[0] ?? `${text}`.split('\n')[0];
        record.raised = line.slice(0, TEXT);
    }

    report() {
        return this.calls.map(({ number, args, result, raised }) => {
            const parts = args.map((arg) => this.textOf(arg));
            const name = this.names.get(number) ?? 'function';
            const shown = { call: `${name}(${parts.join(', ')})`.slice(0, TEXT) };
            if (result !== undefined) shown.returned = this.textOf(result);
            if (raised !== undefined) shown.raised = raised;
            return shown;
        });
    }
}

// How exceptions are described, and which limit of the sandbox caused them.

import { kind, published } from 'host';

import { inspect } from './inspect.js';

// Maximum length of a description, in characters.
const LONGEST = 4000;

// Frames of the driver and of the library for programs, and the functions that they use for calls.
const INTERNAL =
    /^ {4}at (?:(?:.* \()?(?:driver|node)\/.*|(?:apply|compile|construct|load|run) \(<anon.*)$/;

// First frame in a program's own code: file, line and column.
const FRAME = /(?:\(|at )((?:main|prelude|checker|test|call\d+)\.js):(\d+):(\d+)\)?$/m;

function stackOf(error) {
    try {
        const { stack } = error;
        return typeof stack === 'string' ? stack : '';
    } catch {
        return '';
    }
}

function withoutInternal(text) {
    const kept = [];
    for (const line of text.split('\n')) {
        // The display of an error continues with its properties.
        const brace = line.endsWith(' {') ? ' {' : '';
        if (!INTERNAL.test(brace === '' ? line : line.slice(0, -2))) kept.push(line);
        else if (brace !== '') kept.push(kept.pop() + brace);
    }
    return kept.join('\n');
}

// File, line and column at which an error was created.
export function placeOf(error) {
    const found = FRAME.exec(withoutInternal(stackOf(error)));
    return found === null
        ? undefined
        : { file: found[1], line: Number(found[2]), column: Number(found[3]) };
}

function shown(error) {
    try {
        return withoutInternal(inspect(error));
    } catch {
        return kind(error) ?? typeof error;
    }
}

// An uncaught exception as Node prints it. `source` is the text of `file`, if known.
export function describe(error, source, file = 'main.js') {
    const place = kind(error) === 'Error' ? placeOf(error) : undefined;
    let text = kind(error) === 'Error' ? shown(error) : `Uncaught ${shown(error)}`;
    if (place !== undefined) {
        const line = place.file === file ? source?.split('\n')[place.line - 1] : undefined;
        const caret = line === undefined ? '' : `${line}\n${' '.repeat(place.column - 1)}^\n`;
        text = `${place.file}:${place.line}\n${caret}\n${text}`;
    }
    return text.length > LONGEST
        ? `${text.slice(0, LONGEST / 2)}...${text.slice(-LONGEST / 2)}`
        : text;
}

// Cause and name of the limit that caused an error or one in its chain; `undefined` if none did.
export function limitOf(error) {
    const { limits } = published();
    let current = error;
    for (let i = 0; i < 20 && current !== null && typeof current === 'object'; i++) {
        const limit = limits.get(current);
        if (limit !== undefined) return { cause: limit[0], name: limit[1] };
        try {
            current = current.cause;
        } catch {
            return undefined;
        }
    }
    return undefined;
}

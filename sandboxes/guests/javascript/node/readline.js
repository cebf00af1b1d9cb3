// The modules `readline` and `readline/promises`.

import { plainError } from './errors.js';
import { EventEmitter, on } from './events.js';
import { StringDecoder } from './buffer.js';

class Interface extends EventEmitter {
    line = '';
    cursor = 0;
    terminal = false;
    closed = false;
    history = [];
    #decoder = new StringDecoder('utf8');
    #rest = '';
    #question;
    #prompt = '> ';
    #hasReturn = false;

    constructor(input, output) {
        super();
        const options =
            input?.input === undefined && typeof input?.on === 'function'
                ? { input, output }
                : (input ?? {});
        this.input = options.input;
        this.output = options.output;
        if (options.prompt !== undefined) this.#prompt = `${options.prompt}`;
        if (this.input === undefined) return;
        this.input.on('data', (chunk) => {
            this.#feed(typeof chunk === 'string' ? chunk : this.#decoder.write(chunk));
        });
        this.input.on('end', () => {
            if (this.closed) return;
            if (this.#rest !== '') this.emit('line', this.#rest);
            this.#rest = '';
            this.close();
        });
    }

    #feed(text) {
        if (this.closed) return;
        let piece = this.#rest + text;
        if (this.#hasReturn && piece.startsWith('\n')) piece = piece.slice(1);
        this.#hasReturn = piece.endsWith('\r');
        const lines = piece.split(/\r\n|\n|\r/);
        this.#rest = lines.pop();
        for (const line of lines) this.#deliver(line);
    }

    #deliver(line) {
        const question = this.#question;
        if (question === undefined) {
            this.emit('line', line);
        } else {
            this.#question = undefined;
            question(line);
        }
    }

    question(text, options, callback) {
        if (this.closed) throw plainError('ERR_USE_AFTER_CLOSE', 'readline was closed');
        const answer = typeof options === 'function' ? options : callback;
        if (this.#question !== undefined) return;
        this.output?.write(`${text}`);
        this.#question = answer;
    }

    prompt() {
        if (this.closed) throw plainError('ERR_USE_AFTER_CLOSE', 'readline was closed');
        this.output?.write(this.#prompt);
    }

    setPrompt(prompt) {
        this.#prompt = `${prompt}`;
    }

    getPrompt() {
        return this.#prompt;
    }

    write() {}

    pause() {
        this.input?.pause();
        this.emit('pause');
        return this;
    }

    resume() {
        this.input?.resume();
        this.emit('resume');
        return this;
    }

    close() {
        if (this.closed) return;
        this.pause();
        this.closed = true;
        this.emit('close');
    }

    [Symbol.asyncIterator]() {
        const lines = on(this, 'line', { close: ['close'] });
        const iterator = {
            async next() {
                const { value, done } = await lines.next();
                return done ? { value: undefined, done } : { value: value[0], done };
            },
            return: () => {
                this.close();
                return lines.return();
            },
            [Symbol.asyncIterator]() {
                return this;
            },
        };
        return iterator;
    }
}

class PromiseInterface extends Interface {
    question(text) {
        return new Promise((resolve, reject) => {
            try {
                super.question(text, resolve);
            } catch (error) {
                reject(error);
            }
        });
    }
}

const clear = (stream, ...rest) => {
    rest.find((value) => typeof value === 'function')?.();
    return true;
};

export const promises = {
    Interface: PromiseInterface,
    createInterface: (input, output) => new PromiseInterface(input, output),
};

export const readline = {
    Interface,
    createInterface: (input, output) => new Interface(input, output),
    clearLine: clear,
    clearScreenDown: clear,
    cursorTo: clear,
    moveCursor: clear,
    emitKeypressEvents() {},
    promises,
};

const CUSTOM = Symbol.for('nodejs.util.promisify.custom');

Object.defineProperty(Interface.prototype.question, CUSTOM, {
    value(text) {
        return new Promise((resolve) => this.question(text, resolve));
    },
});

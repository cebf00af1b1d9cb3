// The standard streams.

import { published, readAll, write } from 'host';

import { Buffer, bytesOfText } from './buffer.js';
import { invalidType } from './errors.js';
import { Readable, Writable } from './streams.js';

const { addImmediate } = published();

class Output extends Writable {
    isStandard = true;
    isTTY = undefined;

    constructor(fd) {
        super();
        this.fd = fd;
    }

    _write(chunk, encoding, callback) {
        if (typeof chunk === 'string') {
            const isText = encoding === 'utf8' || encoding === 'utf-8';
            write(this.fd, isText ? chunk : bytesOfText(chunk, encoding));
        } else if (chunk instanceof Uint8Array) {
            write(this.fd, chunk);
        } else {
            throw invalidType(
                'chunk',
                'of type string or an instance of Buffer or Uint8Array',
                chunk,
            );
        }
        callback();
    }

    getColorDepth() {
        return 1;
    }

    hasColors() {
        return false;
    }

    getWindowSize() {
        return [80, 24];
    }
}

class Input extends Readable {
    isStandard = true;
    isTTY = undefined;
    fd = 0;
    #isRead = false;

    // Input arrives between turns of the event loop.
    _later(callback) {
        addImmediate({ callback });
    }

    _read() {
        if (this.#isRead) return;
        this.#isRead = true;
        const bytes = readAll(0);
        if (bytes.length > 0) this.push(Buffer.from(bytes.buffer));
        this.push(null);
    }

    setRawMode() {
        return this;
    }

    ref() {
        return this;
    }

    unref() {
        return this;
    }
}

export const stdin = new Input();
export const stdout = new Output(1);
export const stderr = new Output(2);

// The module `stream`: enough of it for programs that read standard input and write text.

import { published } from 'host';

import { Buffer, StringDecoder } from './buffer.js';
import { EventEmitter } from './events.js';

const { addTick } = published();

class Stream extends EventEmitter {
    pipe(target) {
        this.on('data', (chunk) => target.write(chunk));
        if (target !== undefined && !target.isStandard) this.on('end', () => target.end());
        target.emit?.('pipe', this);
        return target;
    }
}

export class Readable extends Stream {
    readable = true;
    readableEnded = false;
    destroyed = false;
    #chunks = [];
    #isFinished = false;
    #mode = 'idle';
    #isScheduled = false;
    #decoder;
    #source;

    constructor(options = {}) {
        super();
        this.#source = options.read ?? this._read;
        this.readableObjectMode = Boolean(options.objectMode ?? options.readableObjectMode);
        if (options.encoding) this.setEncoding(options.encoding);
    }

    static from(iterable) {
        const stream = new Readable({ objectMode: true });
        const iterator = (iterable[Symbol.asyncIterator] ?? iterable[Symbol.iterator]).call(
            iterable,
        );
        stream._read = async () => {
            const { value, done } = await iterator.next();
            stream.push(done ? null : value);
        };
        stream.#source = stream._read;
        return stream;
    }

    setEncoding(encoding) {
        this.#decoder = new StringDecoder(encoding);
        this.#chunks = this.#chunks.map((chunk) => this.#decoder.write(chunk));
        return this;
    }

    push(chunk) {
        if (chunk === null) {
            this.#isFinished = true;
        } else if (this.readableObjectMode) {
            this.#chunks.push(chunk);
        } else {
            const bytes = typeof chunk === 'string' ? Buffer.from(chunk) : chunk;
            const piece = this.#decoder === undefined ? bytes : this.#decoder.write(bytes);
            if (piece.length > 0) this.#chunks.push(piece);
        }
        this.#schedule();
        return true;
    }

    read(size) {
        if (this.#chunks.length === 0 && !this.#isFinished) this.#source?.call(this, size);
        if (this.#chunks.length === 0) {
            this.#schedule();
            return null;
        }
        if (this.readableObjectMode) return this.#chunks.shift();
        let all;
        if (this.#chunks.length === 1) [all] = this.#chunks;
        else if (this.#decoder !== undefined) all = this.#chunks.join('');
        else all = Buffer.concat(this.#chunks);
        const end = size === undefined ? all.length : Math.min(size, all.length);
        this.#chunks = end < all.length ? [all.slice(end)] : [];
        this.#schedule();
        return end < all.length ? all.slice(0, end) : all;
    }

    on(name, listener) {
        super.on(name, listener);
        if (name === 'data') this.resume();
        if (name === 'readable') {
            this.#mode = 'paused';
            this.#schedule();
        }
        return this;
    }

    resume() {
        if (this.#mode !== 'flowing') {
            this.#mode = 'flowing';
            this.#schedule();
        }
        return this;
    }

    pause() {
        if (this.#mode === 'flowing') this.#mode = 'stopped';
        return this;
    }

    isPaused() {
        return this.#mode === 'stopped';
    }

    unpipe() {
        return this.pause();
    }

    unshift(chunk) {
        this.#chunks.unshift(chunk);
    }

    destroy(error) {
        if (this.destroyed) return this;
        this.destroyed = true;
        addTick(() => {
            if (error) this.emit('error', error);
            this.emit('close');
        });
        return this;
    }

    // Runs a callback after the current code.
    _later(callback) {
        addTick(callback);
    }

    #schedule() {
        if (this.#isScheduled || this.#mode === 'idle' || this.#mode === 'stopped') return;
        this.#isScheduled = true;
        this._later(() => {
            this.#isScheduled = false;
            this.#advance();
        });
    }

    #advance() {
        if (this.destroyed || this.readableEnded) return;
        if (this.#chunks.length === 0 && !this.#isFinished) this.#source?.call(this);
        if (this.#mode === 'flowing') {
            const hasData = this.#chunks.length > 0;
            while (this.#chunks.length > 0 && this.#mode === 'flowing') {
                this.emit('data', this.#chunks.shift());
            }
            if (this.#chunks.length > 0) return;
            if (!this.#isFinished) {
                this.#source?.call(this);
                return;
            }
            // The end follows the data in a separate turn.
            if (hasData) {
                this.#schedule();
                return;
            }
        } else if (this.#chunks.length > 0) {
            this.emit('readable');
            return;
        } else if (this.#isFinished && this.listenerCount('readable') > 0) {
            this.emit('readable');
        }
        if (this.#chunks.length === 0 && this.#isFinished) {
            this.readableEnded = true;
            this.readable = false;
            this.emit('end');
            this.destroy();
        }
    }

    async *[Symbol.asyncIterator]() {
        const waiting = { wake: undefined };
        const wake = () => waiting.wake?.();
        let failure;
        this.once('end', wake);
        this.once('close', wake);
        this.once('error', (error) => {
            failure = error;
            wake();
        });
        this.on('readable', wake);
        for (;;) {
            if (failure !== undefined) throw failure;
            const chunk = this.read();
            if (chunk !== null) {
                yield chunk;
            } else if (this.readableEnded || this.destroyed) {
                return;
            } else {
                await new Promise((resolve) => (waiting.wake = resolve));
            }
        }
    }

    async toArray() {
        const items = [];
        for await (const item of this) items.push(item);
        return items;
    }
}

export class Writable extends Stream {
    writable = true;
    writableEnded = false;
    writableFinished = false;
    #write;
    #final;

    constructor(options = {}) {
        super();
        this.#write = options.write;
        this.#final = options.final;
    }

    _write(chunk, encoding, callback) {
        if (this.#write === undefined) callback();
        else this.#write.call(this, chunk, encoding, callback);
    }

    write(chunk, encoding, callback) {
        const [name, done] =
            typeof encoding === 'function' ? ['utf8', encoding] : [encoding, callback];
        this._write(chunk, name ?? 'utf8', (error) => {
            if (error) addTick(() => this.emit('error', error));
            if (done) addTick(() => done(error));
        });
        return true;
    }

    end(chunk, encoding, callback) {
        if (this.writableEnded) return this;
        const done = [chunk, encoding, callback].find((value) => typeof value === 'function');
        if (chunk !== undefined && chunk !== null && typeof chunk !== 'function') {
            this.write(chunk, typeof encoding === 'string' ? encoding : undefined);
        }
        this.writableEnded = true;
        this.writable = false;
        const finish = () =>
            addTick(() => {
                this.writableFinished = true;
                this.emit('finish');
                done?.();
                this.emit('close');
            });
        const final = this.#final ?? this._final;
        if (final === undefined) finish();
        else final.call(this, finish);
        return this;
    }

    cork() {}

    uncork() {}

    setDefaultEncoding() {
        return this;
    }

    destroy(error) {
        if (error) addTick(() => this.emit('error', error));
        addTick(() => this.emit('close'));
        return this;
    }
}

class Duplex extends Readable {
    #side;

    constructor(options = {}) {
        super(options);
        this.#side = new Writable({
            write: (chunk, encoding, callback) => this._write(chunk, encoding, callback),
            final: (callback) => {
                if (this._final !== undefined) this._final(callback);
                else callback();
            },
        });
        if (options.write !== undefined) this._write = options.write;
        if (options.final !== undefined) this._final = options.final;
        this.#side.on('finish', () => this.emit('finish'));
        this.#side.on('error', (error) => this.emit('error', error));
    }

    write(...args) {
        return this.#side.write(...args);
    }

    end(...args) {
        this.#side.end(...args);
        return this;
    }
}

class Transform extends Duplex {
    constructor(options = {}) {
        super(options);
        if (options.transform !== undefined) this._transform = options.transform;
        if (options.flush !== undefined) this._flush = options.flush;
    }

    _write(chunk, encoding, callback) {
        const bytes =
            typeof chunk === 'string' && !this.readableObjectMode ? Buffer.from(chunk) : chunk;
        this._transform(bytes, encoding, (error, result) => {
            if (result !== undefined && result !== null) this.push(result);
            callback(error);
        });
    }

    _final(callback) {
        const finish = (error, result) => {
            if (result !== undefined && result !== null) this.push(result);
            this.push(null);
            callback(error);
        };
        if (this._flush === undefined) finish();
        else this._flush(finish);
    }
}

class PassThrough extends Transform {
    _transform(chunk, encoding, callback) {
        callback(null, chunk);
    }
}

export function finished(stream, callback) {
    for (const name of ['end', 'finish']) stream.once(name, () => callback());
    stream.once('error', callback);
}

function pipeline(...parts) {
    const callback = typeof parts.at(-1) === 'function' ? parts.pop() : undefined;
    const streams = parts.flat();
    for (let i = 0; i + 1 < streams.length; i++) streams[i].pipe(streams[i + 1]);
    if (callback !== undefined) {
        finished(streams.at(-1), callback);
        for (const stream of streams.slice(0, -1)) stream.once('error', callback);
    }
    return streams.at(-1);
}

export const promises = {
    pipeline: (...parts) =>
        new Promise((resolve, reject) => {
            pipeline(...parts, (error) => (error ? reject(error) : resolve()));
        }),
    finished: (stream) =>
        new Promise((resolve, reject) => {
            finished(stream, (error) => (error ? reject(error) : resolve()));
        }),
};

export const stream = Object.assign(Stream, {
    Stream,
    Readable,
    Writable,
    Duplex,
    Transform,
    PassThrough,
    finished,
    pipeline,
    promises,
});

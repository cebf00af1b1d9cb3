// The module `fs`: files in memory, and the standard streams as descriptors 0 to 2.

import {
    close,
    decode,
    errorText,
    list,
    mkdir,
    open,
    read,
    readAll,
    rename,
    rmdir,
    stat,
    unlink,
    write,
} from 'host';

import { Buffer, bytesOfText } from './buffer.js';
import { invalidType } from './errors.js';
import { Readable, Writable } from './streams.js';
import { setImmediate } from './timers.js';

// Error numbers of WASI with the names that programs check for.
const CODES = {
    2: 'EACCES',
    8: 'EBADF',
    20: 'EEXIST',
    28: 'EINVAL',
    31: 'EISDIR',
    44: 'ENOENT',
    54: 'ENOTDIR',
    55: 'ENOTEMPTY',
    63: 'EPERM',
    76: 'EXDEV',
};
const TEXTS = {
    ENOENT: 'no such file or directory',
    EEXIST: 'file already exists',
    EISDIR: 'illegal operation on a directory',
    ENOTDIR: 'not a directory',
    ENOTEMPTY: 'directory not empty',
    EBADF: 'bad file descriptor',
    EACCES: 'permission denied',
    EPERM: 'operation not permitted',
};
const NUMBERS = { ENOENT: -2, EEXIST: -17, EISDIR: -21, ENOTDIR: -20, ENOTEMPTY: -39, EBADF: -9 };

function checked(result, call, path, target) {
    if (typeof result !== 'number' || result >= 0) return result;
    const code = CODES[-result] ?? `E${-result}`;
    const text = TEXTS[code] ?? errorText(-result).toLowerCase();
    let where = typeof path === 'string' ? ` '${path}'` : '';
    if (target !== undefined) where += ` -> '${target}'`;
    const error = new Error(`${code}: ${text}, ${call}${where}`);
    error.errno = NUMBERS[code] ?? result;
    error.code = code;
    error.syscall = call;
    if (typeof path === 'string') error.path = path;
    throw error;
}

function pathOf(path) {
    if (typeof path === 'string') return path;
    if (path instanceof Uint8Array) return Buffer.from(path).toString();
    if (typeof path?.href === 'string') return decodeURIComponent(path.pathname);
    throw invalidType('path', 'of type string or an instance of Buffer or URL', path);
}

const encodingOf = (options) => (typeof options === 'string' ? options : options?.encoding);

function decoded(bytes, encoding) {
    const buffer = new Buffer(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    return encoding && encoding !== 'buffer' ? buffer.toString(encoding) : buffer;
}

function withFile(path, flags, use) {
    const fd = checked(open(path, flags), 'open', path);
    try {
        return use(fd);
    } finally {
        close(fd);
    }
}

function readFileSync(path, options) {
    const encoding = encodingOf(options);
    if (typeof path === 'number') {
        const bytes = checked(readAll(path), 'read');
        const isText = encoding === 'utf8' || encoding === 'utf-8';
        return isText ? decode(bytes, 0, bytes.length) : decoded(bytes, encoding);
    }
    const name = pathOf(path);
    if (name === '/dev/stdin' || name === '/proc/self/fd/0') return readFileSync(0, options);
    return withFile(name, options?.flag ?? 'r', (fd) => {
        if (stat(fd)[0] === 1) checked(-31, 'read');
        return decoded(checked(readAll(fd), 'read'), encoding);
    });
}

function writeTo(path, data, options, flags) {
    const bytes = typeof data === 'string' ? bytesOfText(data, encodingOf(options)) : data;
    if (!ArrayBuffer.isView(bytes)) {
        throw invalidType(
            'data',
            'of type string or an instance of Buffer, TypedArray, or DataView',
            data,
        );
    }
    if (typeof path === 'number') {
        checked(write(path, bytes), 'write');
        return;
    }
    const name = pathOf(path);
    const device = ['/dev/stdin', '/dev/stdout', '/dev/stderr'].indexOf(name);
    if (device > 0) checked(write(device, bytes), 'write');
    else withFile(name, options?.flag ?? flags, (fd) => checked(write(fd, bytes), 'write'));
}

class Stats {
    constructor([kind, size, changed]) {
        this.kind = kind;
        this.size = size;
        this.mtimeMs = changed;
        this.mtime = new Date(changed);
        Object.defineProperty(this, 'kind', { enumerable: false });
    }

    isFile() {
        return this.kind === 0;
    }

    isDirectory() {
        return this.kind === 1;
    }

    isCharacterDevice() {
        return this.kind === 2;
    }

    isSymbolicLink() {
        return false;
    }

    isFIFO() {
        return false;
    }
}

function statSync(path, options) {
    const name = pathOf(path);
    const found = stat(name);
    if (typeof found === 'number' && options?.throwIfNoEntry === false) return undefined;
    return new Stats(checked(found, 'stat', name));
}

function existsSync(path) {
    try {
        return typeof stat(pathOf(path)) !== 'number';
    } catch {
        return false;
    }
}

function mkdirSync(path, options) {
    const name = pathOf(path);
    if (!options?.recursive) {
        checked(mkdir(name), 'mkdir', name);
        return undefined;
    }
    let made = name.startsWith('/') ? '/' : '';
    let first;
    for (const part of name.split('/').filter((piece) => piece !== '')) {
        made += part;
        if (!existsSync(made)) {
            checked(mkdir(made), 'mkdir', made);
            first ??= made;
        }
        made += '/';
    }
    return first;
}

function readdirSync(path, options) {
    const name = pathOf(path);
    const names = checked(list(name), 'scandir', name).sort();
    if (!options?.withFileTypes) return names;
    return names.map((entry) => Object.assign(statSync(`${name}/${entry}`), { name: entry }));
}

function rmSync(path, options) {
    const name = pathOf(path);
    if (!existsSync(name)) {
        if (options?.force) return;
        checked(-44, 'rm', name);
    }
    if (!statSync(name).isDirectory()) {
        checked(unlink(name), 'rm', name);
        return;
    }
    if (options?.recursive)
        for (const entry of readdirSync(name)) rmSync(`${name}/${entry}`, options);
    checked(rmdir(name), 'rm', name);
}

function readSync(fd, buffer, offset, length, position) {
    const options =
        typeof offset === 'object' && offset !== null ? offset : { offset, length, position };
    const start = options.offset ?? 0;
    const bytes = checked(read(fd, options.length ?? buffer.byteLength - start), 'read');
    new Uint8Array(buffer.buffer, buffer.byteOffset, buffer.byteLength).set(bytes, start);
    return bytes.length;
}

function writeSync(fd, data, offset, length) {
    let bytes = data;
    if (typeof data === 'string') bytes = bytesOfText(data, length);
    else if (typeof offset === 'number')
        bytes = data.subarray(offset, length === undefined ? undefined : offset + length);
    checked(write(fd, bytes), 'write');
    return bytes.length;
}

function copyFileSync(from, to) {
    writeTo(to, readFileSync(from), undefined, 'w');
}

const synchronous = {
    readFileSync,
    writeFileSync: (path, data, options) => writeTo(path, data, options, 'w'),
    appendFileSync: (path, data, options) => writeTo(path, data, options, 'a'),
    existsSync,
    statSync,
    lstatSync: statSync,
    fstatSync: (fd) => new Stats(checked(stat(fd), 'fstat')),
    mkdirSync,
    readdirSync,
    rmSync,
    rmdirSync: (path) => checked(rmdir(pathOf(path)), 'rmdir', pathOf(path)),
    unlinkSync: (path) => void checked(unlink(pathOf(path)), 'unlink', pathOf(path)),
    renameSync: (from, to) =>
        void checked(rename(pathOf(from), pathOf(to)), 'rename', pathOf(from), pathOf(to)),
    copyFileSync,
    accessSync: (path) => void statSync(path),
    openSync: (path, flags = 'r') => checked(open(pathOf(path), `${flags}`), 'open', pathOf(path)),
    closeSync: (fd) => void checked(close(fd), 'close'),
    readSync,
    writeSync,
    fsyncSync() {},
    realpathSync: (path) => pathOf(path),
    mkdtempSync(prefix) {
        mkdirSync(`${prefix}000001`, { recursive: true });
        return `${prefix}000001`;
    },
};

// The variants with callbacks and with promises.
const asynchronous = {};
export const promises = {};

for (const [name, method] of Object.entries(synchronous)) {
    const short = name.slice(0, -4);
    asynchronous[short] = function (...args) {
        const callback = args.pop();
        if (typeof callback !== 'function') {
            throw invalidType('cb', 'of type function', callback);
        }
        let error = null;
        let result;
        try {
            result = method(...args);
        } catch (failure) {
            error = failure;
        }
        setImmediate(() => (error === null ? callback(null, result) : callback(error)));
    };
    promises[short] = (...args) =>
        new Promise((resolve, reject) => {
            let result;
            try {
                result = method(...args);
            } catch (error) {
                reject(error);
                return;
            }
            setImmediate(() => resolve(result));
        });
}
asynchronous.exists = (path, callback) => setImmediate(() => callback(existsSync(path)));

function createReadStream(path, options) {
    const stream = new Readable({ encoding: encodingOf(options) });
    let isRead = false;
    stream._read = () => {
        if (isRead) return;
        isRead = true;
        try {
            const bytes = readFileSync(options?.fd ?? path);
            if (bytes.length > 0) stream.push(bytes);
            stream.push(null);
        } catch (error) {
            stream.destroy(error);
        }
    };
    const wrapped = new Readable({ encoding: encodingOf(options), read: () => stream._read() });
    stream.push = (chunk) => wrapped.push(chunk);
    stream.destroy = (error) => wrapped.destroy(error);
    return wrapped;
}

function createWriteStream(path, options) {
    const name = options?.fd ?? path;
    if (typeof name !== 'number' && options?.flags !== 'a' && !name.startsWith('/dev/')) {
        writeTo(name, '', undefined, 'w');
    }
    return new Writable({
        write(chunk, encoding, callback) {
            writeTo(name, chunk, { encoding }, 'a');
            callback();
        },
    });
}

export const fs = {
    ...synchronous,
    ...asynchronous,
    createReadStream,
    createWriteStream,
    promises,
    constants: { F_OK: 0, X_OK: 1, W_OK: 2, R_OK: 4, O_RDONLY: 0, O_WRONLY: 1, O_RDWR: 2 },
    Stats,
};

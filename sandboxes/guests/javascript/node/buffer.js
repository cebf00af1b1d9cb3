// The module `buffer`, `TextEncoder` and `TextDecoder`, `atob` and `btoa`.

import { decode, encode, published } from 'host';

import { invalidType, rangeError, typeError } from './errors.js';

const { inspect } = published();

const BASE64 = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/';
const BASE64_URL = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';
const VALUES = new Int8Array(128).fill(-1);
[...BASE64].forEach((letter, value) => (VALUES[letter.charCodeAt(0)] = value));
VALUES[45] = 62;
VALUES[95] = 63;

function toBase64(bytes, alphabet, isPadded) {
    let text = '';
    for (let i = 0; i < bytes.length; i += 3) {
        const left = bytes.length - i;
        const word = (bytes[i] << 16) | ((bytes[i + 1] ?? 0) << 8) | (bytes[i + 2] ?? 0);
        text += alphabet[word >> 18] + alphabet[(word >> 12) & 63];
        if (left > 1) text += alphabet[(word >> 6) & 63];
        if (left > 2) text += alphabet[word & 63];
        if (isPadded && left < 3) text += left === 2 ? '=' : '==';
    }
    return text;
}

function fromBase64(text) {
    const bytes = [];
    let word = 0;
    let bits = 0;
    for (let i = 0; i < text.length; i++) {
        const code = text.charCodeAt(i);
        if (code === 61) break;
        const value = code < 128 ? VALUES[code] : -1;
        if (value < 0) continue;
        word = (word << 6) | value;
        bits += 6;
        if (bits >= 8) {
            bits -= 8;
            bytes.push((word >> bits) & 255);
        }
    }
    return Uint8Array.from(bytes);
}

function fromHex(text) {
    const bytes = [];
    for (let i = 0; i + 1 < text.length; i += 2) {
        const digits = text.slice(i, i + 2);
        if (!/^[0-9a-f]{2}$/i.test(digits)) break;
        bytes.push(parseInt(digits, 16));
    }
    return Uint8Array.from(bytes);
}

function fromUnits(text, size, mask) {
    const bytes = new Uint8Array(text.length * size);
    for (let i = 0; i < text.length; i++) {
        const code = text.charCodeAt(i);
        bytes[i * size] = code & mask;
        if (size === 2) bytes[i * size + 1] = code >> 8;
    }
    return bytes;
}

function toUnits(bytes, size, mask) {
    let text = '';
    for (let i = 0; i + size <= bytes.length; i += size) {
        text += String.fromCharCode(
            (size === 2 ? bytes[i] | (bytes[i + 1] << 8) : bytes[i]) & mask,
        );
    }
    return text;
}

const CODECS = {
    utf8: [(text) => encode(text), (bytes) => decode(bytes, 0, bytes.length)],
    hex: [
        fromHex,
        (bytes) => Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join(''),
    ],
    base64: [fromBase64, (bytes) => toBase64(bytes, BASE64, true)],
    base64url: [fromBase64, (bytes) => toBase64(bytes, BASE64_URL, false)],
    latin1: [(text) => fromUnits(text, 1, 255), (bytes) => toUnits(bytes, 1, 255)],
    ascii: [(text) => fromUnits(text, 1, 255), (bytes) => toUnits(bytes, 1, 127)],
    utf16le: [(text) => fromUnits(text, 2, 255), (bytes) => toUnits(bytes, 2, 0xffff)],
};
const ALIASES = {
    'utf-8': 'utf8',
    binary: 'latin1',
    ucs2: 'utf16le',
    'ucs-2': 'utf16le',
    'utf-16le': 'utf16le',
};

function codecOf(encoding) {
    if (encoding === undefined || encoding === null || encoding === '') return CODECS.utf8;
    const name = `${encoding}`.toLowerCase();
    const codec = CODECS[ALIASES[name] ?? name];
    if (codec === undefined)
        throw typeError('ERR_UNKNOWN_ENCODING', `Unknown encoding: ${encoding}`);
    return codec;
}

export function bytesOfText(text, encoding) {
    return codecOf(encoding)[0](text);
}

function textOfBytes(bytes, encoding) {
    return codecOf(encoding)[1](bytes);
}

function bufferOn(bytes) {
    return new Buffer(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

function checked(buffer, offset, size) {
    const at = offset ?? 0;
    if (!Number.isInteger(at) || at < 0 || at + size > buffer.length) {
        throw rangeError(
            'ERR_OUT_OF_RANGE',
            `The value of "offset" is out of range. It must be >= 0 and <= ${buffer.length - size}. Received ${at}`,
        );
    }
    return at;
}

export class Buffer extends Uint8Array {
    static poolSize = 8192;

    static from(value, encoding, length) {
        if (typeof value === 'string') return bufferOn(bytesOfText(value, encoding));
        if (value instanceof ArrayBuffer) return new Buffer(value, encoding, length);
        if (value?.type === 'Buffer' && Array.isArray(value.data)) return Buffer.from(value.data);
        if (value === null || typeof value !== 'object') {
            throw invalidType(
                'first',
                'of type string or an instance of Buffer, ArrayBuffer, or Array',
                value,
            );
        }
        return bufferOn(Uint8Array.from(value));
    }

    static of(...items) {
        return Buffer.from(items);
    }

    static alloc(size, fill, encoding) {
        const buffer = new Buffer(size);
        return fill === undefined ? buffer : buffer.fill(fill, encoding);
    }

    static allocUnsafe(size) {
        return new Buffer(size);
    }

    static allocUnsafeSlow(size) {
        return new Buffer(size);
    }

    static isBuffer(value) {
        return value instanceof Buffer;
    }

    static isEncoding(encoding) {
        const name = `${encoding}`.toLowerCase();
        return Object.hasOwn(CODECS, ALIASES[name] ?? name);
    }

    static byteLength(value, encoding) {
        return typeof value === 'string' ? bytesOfText(value, encoding).length : value.byteLength;
    }

    static concat(list, length) {
        const total = length ?? list.reduce((sum, bytes) => sum + bytes.length, 0);
        const joined = Buffer.alloc(total);
        let at = 0;
        for (const bytes of list) {
            const part = at + bytes.length > total ? bytes.subarray(0, total - at) : bytes;
            joined.set(part, at);
            at += part.length;
        }
        return joined;
    }

    static compare(one, other) {
        const length = Math.min(one.length, other.length);
        for (let i = 0; i < length; i++) {
            if (one[i] !== other[i]) return one[i] < other[i] ? -1 : 1;
        }
        return Math.sign(one.length - other.length);
    }

    toString(encoding, start = 0, end = this.length) {
        return textOfBytes(this.subarray(Math.max(0, start), Math.min(end, this.length)), encoding);
    }

    toJSON() {
        return { type: 'Buffer', data: Array.from(this) };
    }

    toLocaleString(encoding) {
        return this.toString(encoding);
    }

    equals(other) {
        return Buffer.compare(this, other) === 0;
    }

    compare(other) {
        return Buffer.compare(this, other);
    }

    slice(start, end) {
        return this.subarray(start, end);
    }

    subarray(start, end) {
        const part = super.subarray(start, end);
        return part instanceof Buffer ? part : bufferOn(part);
    }

    write(text, offset, length, encoding) {
        let [at, room, name] = [offset, length, encoding];
        if (typeof at === 'string') [at, room, name] = [0, undefined, at];
        else if (typeof room === 'string') [room, name] = [undefined, room];
        const start = at ?? 0;
        const bytes = bytesOfText(text, name);
        const count = Math.min(bytes.length, room ?? Infinity, this.length - start);
        this.set(bytes.subarray(0, count), start);
        return count;
    }

    fill(value, start, end, encoding) {
        if (typeof value !== 'string') return super.fill(value, start, end);
        const name = typeof start === 'string' ? start : encoding;
        const from = typeof start === 'number' ? start : 0;
        const bytes = bytesOfText(value, name);
        if (bytes.length === 0) return super.fill(0, from, end);
        for (let i = from; i < (end ?? this.length); i++)
            this[i] = bytes[(i - from) % bytes.length];
        return this;
    }

    copy(target, targetStart = 0, start = 0, end = this.length) {
        const part = super.subarray(start, Math.min(end, start + target.length - targetStart));
        target.set(part, targetStart);
        return part.length;
    }

    indexOf(value, offset = 0, encoding = 'utf8') {
        if (typeof value === 'number') return super.indexOf(value & 255, offset);
        const bytes = typeof value === 'string' ? bytesOfText(value, encoding) : value;
        const first = offset < 0 ? Math.max(0, this.length + offset) : offset;
        for (let at = first; at + bytes.length <= this.length; at++) {
            let i = 0;
            while (i < bytes.length && this[at + i] === bytes[i]) i++;
            if (i === bytes.length) return at;
        }
        return -1;
    }

    includes(value, offset, encoding) {
        return this.indexOf(value, offset, encoding) !== -1;
    }

    swap16() {
        for (let i = 0; i + 1 < this.length; i += 2)
            [this[i], this[i + 1]] = [this[i + 1], this[i]];
        return this;
    }

    readUIntBE(offset, size) {
        const at = checked(this, offset, size);
        let value = 0;
        for (let i = 0; i < size; i++) value = value * 256 + this[at + i];
        return value;
    }

    readUIntLE(offset, size) {
        const at = checked(this, offset, size);
        let value = 0;
        for (let i = size - 1; i >= 0; i--) value = value * 256 + this[at + i];
        return value;
    }

    writeUIntBE(value, offset, size) {
        const at = checked(this, offset, size);
        let left = value;
        for (let i = size - 1; i >= 0; i--, left = Math.floor(left / 256))
            this[at + i] = left % 256;
        return at + size;
    }

    writeUIntLE(value, offset, size) {
        const at = checked(this, offset, size);
        let left = value;
        for (let i = 0; i < size; i++, left = Math.floor(left / 256)) this[at + i] = left % 256;
        return at + size;
    }

    [inspect.custom](depth, options) {
        const shown = Array.from(super.subarray(0, 50), (byte) =>
            byte.toString(16).padStart(2, '0'),
        );
        const left = this.length - shown.length;
        if (left > 0) shown.push(`... ${left} more byte${left > 1 ? 's' : ''}`);
        return `<${[this.constructor.name, ...shown].join(' ')}>`;
    }
}

// Numbers of a fixed size: name, and size in bytes.
const NUMBERS = [
    ['Uint8', 1],
    ['Int8', 1],
    ['Uint16', 2],
    ['Int16', 2],
    ['Uint32', 4],
    ['Int32', 4],
    ['Float32', 4],
    ['Float64', 8],
    ['BigInt64', 8],
    ['BigUint64', 8],
];
const NAMES = { Float32: 'Float', Float64: 'Double', BigUint64: 'BigUInt64' };

function viewOf(buffer) {
    return new DataView(buffer.buffer, buffer.byteOffset, buffer.byteLength);
}

function define(name, method) {
    Object.defineProperty(Buffer.prototype, name, {
        value: method,
        writable: true,
        configurable: true,
    });
}

for (const [type, size] of NUMBERS) {
    const name = NAMES[type] ?? type.replace('Uint', 'UInt');
    for (const order of size === 1 ? [''] : ['LE', 'BE']) {
        const isLittle = order === 'LE';
        const read = function (offset) {
            return viewOf(this)[`get${type}`](checked(this, offset, size), isLittle);
        };
        const write = function (value, offset) {
            const at = checked(this, offset, size);
            viewOf(this)[`set${type}`](at, value, isLittle);
            return at + size;
        };
        define(`read${name}${order}`, read);
        define(`write${name}${order}`, write);
        define(`read${name.replace('UInt', 'Uint')}${order}`, read);
        define(`write${name.replace('UInt', 'Uint')}${order}`, write);
    }
}

export class TextEncoder {
    get encoding() {
        return 'utf-8';
    }

    encode(text = '') {
        return encode(`${text}`);
    }

    encodeInto(text, target) {
        const bytes = encode(text).subarray(0, target.length);
        target.set(bytes);
        return { read: text.length, written: bytes.length };
    }
}

export class TextDecoder {
    #name;

    constructor(label = 'utf-8') {
        this.#name = `${label}`.toLowerCase();
        codecOf(this.#name);
    }

    get encoding() {
        return this.#name === 'utf8' ? 'utf-8' : this.#name;
    }

    decode(source = new Uint8Array(0)) {
        const isView = ArrayBuffer.isView(source);
        const bytes = isView
            ? new Uint8Array(source.buffer, source.byteOffset, source.byteLength)
            : new Uint8Array(source);
        const text = textOfBytes(bytes, this.#name);
        return text.startsWith('\ufeff') ? text.slice(1) : text;
    }
}

export function btoa(text) {
    return toBase64(fromUnits(`${text}`, 1, 255), BASE64, true);
}

export function atob(text) {
    return toUnits(fromBase64(`${text}`), 1, 255);
}

export class StringDecoder {
    // Bytes of an incomplete character.
    #rest = [];

    constructor(encoding = 'utf8') {
        this.encoding = encoding;
    }

    write(bytes) {
        const all =
            this.#rest.length === 0 ? bytes : Buffer.concat([Buffer.from(this.#rest), bytes]);
        if (codecOf(this.encoding) !== CODECS.utf8) return textOfBytes(all, this.encoding);
        let start = all.length - 1;
        while (start >= 0 && all.length - start < 4 && (all[start] & 0xc0) === 0x80) start--;
        const lead = all[start] ?? 0;
        const size = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : lead >= 0xc0 ? 2 : 1;
        const end = size > all.length - start ? start : all.length;
        this.#rest = end === all.length ? [] : Array.from(all.subarray(end));
        return decode(all, 0, end);
    }

    end(bytes) {
        const text = bytes === undefined ? '' : this.write(bytes);
        const rest = Buffer.from(this.#rest);
        this.#rest = [];
        return text + textOfBytes(rest, this.encoding);
    }
}

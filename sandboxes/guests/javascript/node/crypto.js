// The module `crypto`: hashes, and random numbers that depend only on the task.

import { random } from 'host';

import { Buffer, bytesOfText } from './buffer.js';
import { plainError } from './errors.js';

const rotated = (word, bits) => (word << bits) | (word >>> (32 - bits));

// The message with its padding, as words of 32 bits.
function words(bytes, isLittle) {
    const length = ((bytes.length + 8) >> 6) * 16 + 16;
    const view = new DataView(new ArrayBuffer(length * 4));
    bytes.forEach((byte, at) => view.setUint8(at, byte));
    view.setUint8(bytes.length, 0x80);
    const bits = bytes.length * 8;
    view.setUint32((length - (isLittle ? 2 : 1)) * 4, bits, isLittle);
    view.setUint32((length - (isLittle ? 1 : 2)) * 4, Math.floor(bits / 2 ** 32), isLittle);
    return Array.from({ length }, (_, at) => view.getUint32(at * 4, isLittle));
}

function result(state, isLittle) {
    const view = new DataView(new ArrayBuffer(state.length * 4));
    state.forEach((word, at) => view.setUint32(at * 4, word, isLittle));
    return Buffer.from(view.buffer);
}

function primes(count) {
    const found = [];
    for (let number = 2; found.length < count; number++) {
        if (found.every((prime) => number % prime !== 0)) found.push(number);
    }
    return found;
}

const fraction = (value) => ((value - Math.floor(value)) * 2 ** 32) | 0;

// FIPS 180-4.
function sha256(bytes) {
    const constants = primes(64).map((prime) => fraction(Math.cbrt(prime)));
    const state = primes(8).map((prime) => fraction(Math.sqrt(prime)));
    const message = words(bytes, false);
    for (let start = 0; start < message.length; start += 16) {
        const schedule = message.slice(start, start + 16);
        for (let i = 16; i < 64; i++) {
            const [early, late] = [schedule[i - 15], schedule[i - 2]];
            const small = rotated(early, 25) ^ rotated(early, 14) ^ (early >>> 3);
            const large = rotated(late, 15) ^ rotated(late, 13) ^ (late >>> 10);
            schedule[i] = (schedule[i - 16] + small + schedule[i - 7] + large) | 0;
        }
        let [a, b, c, d, e, f, g, h] = state;
        for (let i = 0; i < 64; i++) {
            const sum = rotated(e, 26) ^ rotated(e, 21) ^ rotated(e, 7);
            const first = (h + sum + ((e & f) ^ (~e & g)) + constants[i] + schedule[i]) | 0;
            const other = rotated(a, 30) ^ rotated(a, 19) ^ rotated(a, 10);
            const second = (other + ((a & b) ^ (a & c) ^ (b & c))) | 0;
            [h, g, f, e, d, c, b, a] = [g, f, e, (d + first) | 0, c, b, a, (first + second) | 0];
        }
        [a, b, c, d, e, f, g, h].forEach((word, at) => (state[at] = (state[at] + word) | 0));
    }
    return result(state, false);
}

function sha1(bytes) {
    const state = [0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476, 0xc3d2e1f0];
    const message = words(bytes, false);
    for (let start = 0; start < message.length; start += 16) {
        const schedule = message.slice(start, start + 16);
        for (let i = 16; i < 80; i++) {
            const mixed = schedule[i - 3] ^ schedule[i - 8] ^ schedule[i - 14] ^ schedule[i - 16];
            schedule[i] = rotated(mixed, 1);
        }
        let [a, b, c, d, e] = state;
        for (let i = 0; i < 80; i++) {
            let [mixed, constant] = [b ^ c ^ d, i < 40 ? 0x6ed9eba1 : 0xca62c1d6];
            if (i < 20) [mixed, constant] = [(b & c) | (~b & d), 0x5a827999];
            else if (i >= 40 && i < 60)
                [mixed, constant] = [(b & c) | (b & d) | (c & d), 0x8f1bbcdc];
            const next = (rotated(a, 5) + mixed + e + constant + schedule[i]) | 0;
            [e, d, c, b, a] = [d, c, rotated(b, 30), a, next];
        }
        [a, b, c, d, e].forEach((word, at) => (state[at] = (state[at] + word) | 0));
    }
    return result(state, false);
}

const SHIFTS = [7, 12, 17, 22, 5, 9, 14, 20, 4, 11, 16, 23, 6, 10, 15, 21];

// RFC 1321.
function md5(bytes) {
    const state = [0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476];
    const message = words(bytes, true);
    for (let start = 0; start < message.length; start += 16) {
        let [a, b, c, d] = state;
        for (let i = 0; i < 64; i++) {
            const round = i >> 4;
            let [mixed, at] = [(b & c) | (~b & d), i];
            if (round === 1) [mixed, at] = [(d & b) | (~d & c), (5 * i + 1) % 16];
            else if (round === 2) [mixed, at] = [b ^ c ^ d, (3 * i + 5) % 16];
            else if (round === 3) [mixed, at] = [c ^ (b | ~d), (7 * i) % 16];
            const constant = Math.floor(Math.abs(Math.sin(i + 1)) * 2 ** 32);
            const sum = (a + mixed + constant + message[start + at]) | 0;
            [a, d, c, b] = [d, c, b, (b + rotated(sum, SHIFTS[round * 4 + (i % 4)])) | 0];
        }
        [a, b, c, d].forEach((word, at) => (state[at] = (state[at] + word) | 0));
    }
    return result(state, true);
}

const HASHES = { sha256, sha1, md5 };

class Hash {
    #compute;
    #parts = [];

    constructor(compute) {
        this.#compute = compute;
    }

    update(data, encoding) {
        this.#parts.push(typeof data === 'string' ? bytesOfText(data, encoding) : data);
        return this;
    }

    digest(encoding) {
        const bytes = this.#compute(Buffer.concat(this.#parts));
        return encoding === undefined ? bytes : bytes.toString(encoding);
    }
}

function hashNamed(name) {
    const compute = HASHES[`${name}`.toLowerCase().replace('-', '')];
    if (compute === undefined)
        throw plainError('ERR_OSSL_EVP_UNSUPPORTED', 'Digest method not supported');
    return compute;
}

function createHmac(name, key) {
    const compute = hashNamed(name);
    let secret = typeof key === 'string' ? bytesOfText(key) : key;
    if (secret.length > 64) secret = compute(secret);
    const pads = [0x36, 0x5c].map((byte) =>
        Buffer.alloc(64, byte).map((value, at) => value ^ (secret[at] ?? 0)),
    );
    return new Hash((bytes) => {
        const inner = compute(Buffer.concat([pads[0], bytes]));
        return compute(Buffer.concat([pads[1], inner]));
    });
}

function randomBytes(size, callback) {
    const bytes = Buffer.alloc(size);
    random(bytes);
    if (callback === undefined) return bytes;
    queueMicrotask(() => callback(null, bytes));
    return undefined;
}

function getRandomValues(array) {
    random(new Uint8Array(array.buffer, array.byteOffset, array.byteLength));
    return array;
}

function randomInt(least, most) {
    const [low, high] = most === undefined ? [0, least] : [least, most];
    return low + Math.floor(Math.random() * (high - low));
}

function randomUUID() {
    const bytes = randomBytes(16);
    bytes[6] = (bytes[6] & 15) | 64;
    bytes[8] = (bytes[8] & 63) | 128;
    return bytes.toString('hex').replace(/(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-');
}

const webcrypto = { getRandomValues, randomUUID };

export const crypto = {
    createHash: (name) => new Hash(hashNamed(name)),
    createHmac,
    getHashes: () => Object.keys(HASHES),
    getRandomValues,
    randomBytes,
    randomFillSync: getRandomValues,
    randomInt,
    randomUUID,
    timingSafeEqual: (one, other) => Buffer.compare(one, other) === 0,
    webcrypto,
};

// The module `url`: addresses with a scheme and a host, and their queries.

import { typeError } from './errors.js';

const encoded = (text) =>
    encodeURIComponent(text)
        .replace(/[!'()~]/g, (letter) => `%${letter.charCodeAt(0).toString(16).toUpperCase()}`)
        .replaceAll('%20', '+');

function decoded(text) {
    const spaced = text.replaceAll('+', ' ');
    try {
        return decodeURIComponent(spaced);
    } catch {
        return spaced;
    }
}

export class URLSearchParams {
    #pairs = [];
    #changed;

    constructor(source = '', changed = () => {}) {
        this.#changed = changed;
        if (typeof source === 'string') {
            for (const part of source.replace(/^\?/, '').split('&')) {
                if (part === '') continue;
                const at = part.indexOf('=');
                const [name, value] = at < 0 ? [part, ''] : [part.slice(0, at), part.slice(at + 1)];
                this.#pairs.push([decoded(name), decoded(value)]);
            }
        } else {
            const pairs = source[Symbol.iterator] === undefined ? Object.entries(source) : source;
            for (const [name, value] of pairs) this.#pairs.push([`${name}`, `${value}`]);
        }
    }

    get size() {
        return this.#pairs.length;
    }

    append(name, value) {
        this.#pairs.push([`${name}`, `${value}`]);
        this.#changed(this);
    }

    delete(name) {
        this.#pairs = this.#pairs.filter(([known]) => known !== `${name}`);
        this.#changed(this);
    }

    get(name) {
        return this.#pairs.find(([known]) => known === `${name}`)?.[1] ?? null;
    }

    getAll(name) {
        return this.#pairs.filter(([known]) => known === `${name}`).map(([, value]) => value);
    }

    has(name) {
        return this.#pairs.some(([known]) => known === `${name}`);
    }

    set(name, value) {
        const first = this.#pairs.findIndex(([known]) => known === `${name}`);
        if (first < 0) {
            this.append(name, value);
            return;
        }
        this.#pairs[first][1] = `${value}`;
        this.#pairs = this.#pairs.filter(([known], at) => known !== `${name}` || at === first);
        this.#changed(this);
    }

    sort() {
        this.#pairs.sort(([one], [other]) => (one < other ? -1 : one > other ? 1 : 0));
        this.#changed(this);
    }

    forEach(callback, self) {
        for (const [name, value] of this.#pairs) callback.call(self, value, name, this);
    }

    *entries() {
        yield* this.#pairs.map((pair) => [...pair]);
    }

    *keys() {
        for (const [name] of this.#pairs) yield name;
    }

    *values() {
        for (const [, value] of this.#pairs) yield value;
    }

    [Symbol.iterator]() {
        return this.entries();
    }

    toString() {
        return this.#pairs.map(([name, value]) => `${encoded(name)}=${encoded(value)}`).join('&');
    }
}

const PORTS = { 'http:': '80', 'https:': '443', 'ftp:': '21', 'ws:': '80', 'wss:': '443' };
// The scheme, then user, host and port if there is a host, then path, query and fragment.
const SCHEME = /([a-z][a-z0-9+.-]*:)/;
const AUTHORITY = /(?:\/\/(?:([^/?#@]*)@)?([^/?#:]*|\[[^\]]*\])(?::(\d*))?)?/;
const REST = /([^?#]*)(\?[^#]*)?(#.*)?/;
const PATTERN = new RegExp(`^${SCHEME.source}${AUTHORITY.source}${REST.source}$`, 'i');

function resolved(path) {
    const parts = [];
    const pieces = path.split('/').slice(1);
    pieces.forEach((part, at) => {
        if (part === '..') parts.pop();
        if ((part === '..' || part === '.') && at === pieces.length - 1) parts.push('');
        if (part !== '..' && part !== '.') parts.push(part);
    });
    return `/${parts.join('/')}`;
}

function absolute(address, base) {
    if (/^[a-z][a-z0-9+.-]*:/i.test(address) || base === undefined) return address;
    const from = new URL(base);
    if (address.startsWith('//')) return from.protocol + address;
    const origin = `${from.protocol}//${from.host}`;
    if (address.startsWith('/')) return origin + address;
    if (address.startsWith('?')) return origin + from.pathname + address;
    if (address.startsWith('#')) return origin + from.pathname + from.search + address;
    return origin + from.pathname.replace(/[^/]*$/, '') + address;
}

export class URL {
    #query = '';

    constructor(address, base) {
        const found = PATTERN.exec(absolute(`${address}`.trim(), base));
        const isSpecial = found !== null && found[1].toLowerCase() in PORTS;
        if (found === null || (isSpecial && !found[3])) {
            const error = typeError('ERR_INVALID_URL', 'Invalid URL');
            error.input = `${address}`;
            throw error;
        }
        const [, protocol, user = '', host = '', port = '', path, query = '', hash = ''] = found;
        this.protocol = protocol.toLowerCase();
        [this.username, this.password = ''] = user.split(':');
        this.hostname = host.toLowerCase();
        this.port = port === PORTS[this.protocol] ? '' : port;
        this.pathname = isSpecial ? encodeURI(decodeURI(resolved(path || '/'))) : path;
        this.#query = query === '?' ? '' : query.replaceAll(' ', '%20');
        this.hash = hash === '#' ? '' : hash;
        this.searchParams = new URLSearchParams(this.#query, (params) => {
            this.#query = params.size > 0 ? `?${params}` : '';
        });
    }

    static canParse(address, base) {
        try {
            return Boolean(new URL(address, base));
        } catch {
            return false;
        }
    }

    get search() {
        return this.#query;
    }

    set search(query) {
        this.#query = query === '' || query.startsWith('?') ? query : `?${query}`;
    }

    get host() {
        return this.port === '' ? this.hostname : `${this.hostname}:${this.port}`;
    }

    get origin() {
        return this.protocol in PORTS ? `${this.protocol}//${this.host}` : 'null';
    }

    get href() {
        const password = this.password === '' ? '' : `:${this.password}`;
        const user = this.username === '' ? '' : `${this.username}${password}@`;
        const start = this.hostname === '' && !this.pathname.startsWith('/') ? '' : '//';
        return this.protocol + start + user + this.host + this.pathname + this.search + this.hash;
    }

    toString() {
        return this.href;
    }

    toJSON() {
        return this.href;
    }
}

export const url = {
    URL,
    URLSearchParams,
    fileURLToPath: (address) => decodeURIComponent(new URL(address).pathname),
    pathToFileURL: (path) => new URL(`file://${path}`),
    parse: (address) => new URL(address),
    format: (address) => `${address}`,
};

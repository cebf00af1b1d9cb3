// The table of modules, and `require`.

import { now } from 'host';

import { assert, strict } from './assert.js';
import { Buffer, StringDecoder, atob, btoa } from './buffer.js';
import { console } from './console.js';
import { crypto } from './crypto.js';
import { limited } from './errors.js';
import { EventEmitter } from './events.js';
import { fs, promises as fsPromises } from './fs.js';
import { path } from './path.js';
import { process } from './process.js';
import { promises as readlinePromises, readline } from './readline.js';
import { promises as streamPromises, stream } from './streams.js';
import * as timers from './timers.js';
import { url } from './url.js';
import { types, util } from './util.js';

export const performance = {
    now: () => now() / 1e6,
    timeOrigin: 1767225600000,
    mark: () => ({}),
    measure: () => ({ duration: 0 }),
    toJSON: () => ({ timeOrigin: 1767225600000 }),
};

const os = {
    EOL: '\n',
    arch: () => 'x64',
    platform: () => 'linux',
    type: () => 'Linux',
    release: () => '6.1.0',
    hostname: () => 'localhost',
    homedir: () => '/',
    tmpdir: () => '/tmp',
    endianness: () => 'LE',
    cpus: () => [{ model: '', speed: 0, times: {} }],
    availableParallelism: () => 1,
    totalmem: () => 2 ** 31,
    freemem: () => 2 ** 30,
    uptime: () => now() / 1e9,
    loadavg: () => [0, 0, 0],
    userInfo: () => ({ uid: 0, gid: 0, username: 'root', homedir: '/', shell: null }),
    networkInterfaces: () => ({}),
    constants: { signals: {}, errno: {} },
};

class AsyncLocalStorage {
    #store;

    run(store, callback, ...args) {
        const before = this.#store;
        this.#store = store;
        try {
            return callback(...args);
        } finally {
            this.#store = before;
        }
    }

    getStore() {
        return this.#store;
    }
}

const { promises: timerPromises, ...timerModule } = timers;

const MODULES = {
    assert,
    'assert/strict': strict,
    async_hooks: { AsyncLocalStorage },
    buffer: { Buffer, atob, btoa, kMaxLength: 2 ** 32, constants: { MAX_LENGTH: 2 ** 32 } },
    console,
    crypto,
    events: EventEmitter,
    fs,
    'fs/promises': fsPromises,
    module: { builtinModules: [], createRequire: () => requireModule },
    os,
    path,
    'path/posix': path,
    perf_hooks: { performance },
    process,
    punycode: { toASCII: (text) => text, toUnicode: (text) => text },
    querystring: {
        parse: (text) => Object.fromEntries(new url.URLSearchParams(text)),
        stringify: (object) => `${new url.URLSearchParams(object)}`,
        escape: encodeURIComponent,
        unescape: decodeURIComponent,
    },
    readline,
    'readline/promises': readlinePromises,
    stream,
    'stream/promises': streamPromises,
    string_decoder: { StringDecoder },
    timers: timerModule,
    'timers/promises': timerPromises,
    tty: { isatty: () => false },
    url,
    util,
    'util/types': types,
};
MODULES.module.builtinModules.push(...Object.keys(MODULES));

export const moduleNames = Object.keys(MODULES);

function find(name) {
    const plain = name.startsWith('node:') ? name.slice(5) : name;
    return Object.hasOwn(MODULES, plain) ? MODULES[plain] : undefined;
}

// The first part of the name of a package or module, for the evidence.
function topName(name) {
    const parts = name.replace(/^node:/, '').split('/');
    return name.startsWith('@') ? parts.slice(0, 2).join('/') : parts[0];
}

const isRelative = (name) => /^(\.{0,2}\/|\.{1,2}$)/.test(name);

function missing(name, message, code) {
    const error = new Error(message);
    error.code = code;
    return isRelative(name) ? error : limited(error, 'module', topName(name));
}

export function requireModule(name) {
    const found = find(`${name}`);
    if (found !== undefined) return found;
    if (typeof name === 'string' && name.endsWith('.json') && fs.existsSync(name)) {
        return JSON.parse(fs.readFileSync(name, 'utf8'));
    }
    const message = `Cannot find module '${name}'\nRequire stack:\n- /main.js`;
    const error = missing(`${name}`, message, 'MODULE_NOT_FOUND');
    error.requireStack = ['/main.js'];
    throw error;
}

requireModule.resolve = (name) => {
    requireModule(name);
    return name;
};
requireModule.cache = Object.create(null);
requireModule.main = undefined;

// For `import`.
export function importModule(name) {
    const found = find(name);
    if (found !== undefined) return found;
    const message = `Cannot find package '${name}' imported from /main.js`;
    throw missing(name, message, 'ERR_MODULE_NOT_FOUND');
}

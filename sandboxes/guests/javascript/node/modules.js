// The table of modules, and `require`.

import { compile, importFile, load, now, promise as promiseState } from 'host';

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

// Modules of the task's files, by path. The program is one of them.
const loaded = new Map();

// Endings that `require` adds to a name. Files in TypeScript have been translated.
const ENDINGS = [
    ...['', '.js', '.json', '.cjs', '.mjs', '.ts', '.cts', '.mts'],
    ...['/index.js', '/index.json', '/index.ts'],
];

const isFile = (name) => {
    try {
        return fs.statSync(name).isFile();
    } catch {
        return false;
    }
};

// Path of the file that a relative name refers to, or undefined.
export function resolveFile(name, folder = '/') {
    const whole = path.resolve(folder, name);
    if (loaded.has(whole)) return whole;
    const exists = (file) => loaded.has(file) || isFile(file);
    const ending = ENDINGS.find((end) => exists(whole + end));
    if (ending !== undefined) return whole + ending;
    // Modules in TypeScript import each other by the name of the translated file.
    const source = whole.replace(/\.([cm]?)js$/, '.$1ts');
    return exists(source) ? source : undefined;
}

const looksLikeModule = (text) => /^\s*(?:import|export)\b(?!\s*\()/m.test(text);

const textOf = (file) => {
    return fs
        .readFileSync(file, 'utf8')
        .replace(/^\ufeff/, '')
        .replace(/^#!/, '//');
};

// The body of a CommonJS module; undefined if the file is an ES module.
function compileFile(file, text) {
    if (/\.m[jt]s$/.test(file)) return undefined;
    const start = '(function (exports, require, module, __filename, __dirname) {';
    try {
        return compile(`${start}\n${text}\n})`, file, 0, false)[0];
    } catch (error) {
        if (/\.c[jt]s$/.test(file) || !looksLikeModule(text)) throw error;
        return undefined;
    }
}

export function addModule(file, module) {
    loaded.set(file, module);
}

function loadNamespace(file) {
    const [promise, namespace] = importFile(file);
    const [state, reason] = promiseState(promise);
    if (state === 2) throw reason;
    return namespace;
}

function loadFile(file) {
    const known = loaded.get(file);
    if (known !== undefined) return known.exports;
    const folder = path.dirname(file);
    const module = {
        id: file,
        path: folder,
        exports: {},
        filename: file,
        loaded: false,
        children: [],
        paths: [],
    };
    try {
        if (file.endsWith('.json')) {
            module.exports = JSON.parse(fs.readFileSync(file, 'utf8'));
            loaded.set(file, module);
        } else {
            const code = compileFile(file, textOf(file));
            if (code === undefined) return loadNamespace(file);
            loaded.set(file, module);
            runFile(module, load(code));
        }
    } catch (error) {
        loaded.delete(file);
        throw error;
    }
    module.loaded = true;
    return module.exports;
}

function runFile(module, body) {
    const { exports, filename, path: folder } = module;
    const args = [exports, makeRequire(filename), module, filename, folder];
    Reflect.apply(body, exports, args);
}

// The function `require` of a file.
function makeRequire(file) {
    const folder = path.dirname(file);
    const locate = (name) => {
        const text = `${name}`;
        const found = find(text);
        if (found !== undefined) return { exports: found };
        const target = isRelative(text) ? resolveFile(text, folder) : undefined;
        if (target !== undefined) return { file: target };
        const message = `Cannot find module '${name}'\nRequire stack:\n- ${file}`;
        const error = missing(text, message, 'MODULE_NOT_FOUND');
        error.requireStack = [file];
        throw error;
    };
    const require = (name) => {
        const found = locate(name);
        return found.file === undefined ? found.exports : loadFile(found.file);
    };
    require.resolve = (name) => locate(name).file ?? name;
    require.cache = Object.create(null);
    require.main = undefined;
    return require;
}

export const requireModule = makeRequire('/main.js');

// For `import`: the exports of a module, or the text of a file that is an ES module. Names of files
// are absolute.
export function importModule(name) {
    const found = find(name);
    if (found !== undefined) return found;
    const file = name.startsWith('/') ? resolveFile(name) : undefined;
    if (file !== undefined) {
        if (loaded.has(file) || file.endsWith('.json')) return loadFile(file);
        const text = textOf(file);
        return compileFile(file, text) === undefined ? text : loadFile(file);
    }
    const message = `Cannot find package '${name}' imported from /main.js`;
    throw missing(name, message, 'ERR_MODULE_NOT_FOUND');
}

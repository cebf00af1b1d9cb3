// The object `process`.

import { exit as leave, flush, memory, now, published } from 'host';

import { invalidType } from './errors.js';
import { EventEmitter } from './events.js';
import { stderr, stdin, stdout } from './standard.js';

const { addTick } = published();

class Process extends EventEmitter {}

export const process = new Process();

let isExiting = false;
let exitCode;

// Runs the `exit` listeners once. They may change the status.
export function atExit(status) {
    if (isExiting) return;
    isExiting = true;
    process.emit('exit', exitCode ?? status);
}

export function currentStatus() {
    return Number(exitCode ?? 0);
}

function exit(status) {
    if (status !== undefined) exitCode = status;
    atExit(currentStatus());
    flush();
    leave(currentStatus() & 255);
}

function hrtime(start) {
    const time = now();
    const whole = [Math.floor(time / 1e9), time % 1e9];
    if (start === undefined) return whole;
    const difference = [whole[0] - start[0], whole[1] - start[1]];
    return difference[1] < 0 ? [difference[0] - 1, difference[1] + 1e9] : difference;
}

hrtime.bigint = () => BigInt(Math.floor(now()));

function memoryUsage() {
    const bytes = memory();
    return { rss: bytes, heapTotal: bytes, heapUsed: bytes, external: 0, arrayBuffers: 0 };
}

memoryUsage.rss = memory;

const VERSION = 'v20.20.2';

Object.assign(process, {
    title: 'node',
    version: VERSION,
    versions: { node: VERSION.slice(1), v8: '11.3.244.8', uv: '1.46.0', modules: '115' },
    arch: 'x64',
    platform: 'linux',
    release: { name: 'node' },
    argv: ['/usr/bin/node', '/main.js'],
    argv0: 'node',
    execArgv: [],
    execPath: '/usr/bin/node',
    env: { HOME: '/', PATH: '/usr/bin', PWD: '/' },
    pid: 1,
    ppid: 0,
    config: {},
    features: {},
    stdin,
    stdout,
    stderr,
    exit,
    reallyExit: exit,
    abort: () => leave(134),
    kill: () => leave(143),
    hrtime,
    memoryUsage,
    cwd: () => '/',
    chdir() {},
    uptime: () => now() / 1e9,
    cpuUsage: () => ({ user: Math.floor(now() / 1e3), system: 0 }),
    resourceUsage: () => ({ userCPUTime: Math.floor(now() / 1e3), systemCPUTime: 0 }),
    umask: () => 18,
    getuid: () => 0,
    getgid: () => 0,
    emitWarning(warning) {
        const text = warning instanceof Error ? `${warning}` : `Warning: ${warning}`;
        stderr.write(`(node:1) ${text}\n`);
    },
    nextTick(callback, ...args) {
        if (typeof callback !== 'function') {
            throw invalidType('callback', 'of type function', callback);
        }
        addTick(() => Reflect.apply(callback, undefined, args));
    },
});

Object.defineProperty(process, 'exitCode', {
    get: () => exitCode,
    set: (status) => {
        exitCode = status;
    },
    enumerable: true,
    configurable: true,
});
Object.defineProperty(process, Symbol.toStringTag, { value: 'process', configurable: true });

// The table of listeners is created before the snapshot.
process.eventNames();

// Passes an uncaught exception to a listener. Returns false if there is none: the program ends.
export function catches(error, origin) {
    if (origin === 'unhandledRejection' && process.listenerCount(origin) > 0) return false;
    if (process.listenerCount('uncaughtException') === 0) return false;
    process.emit('uncaughtException', error, origin);
    return true;
}

export function catchesRejection(reason, promise) {
    return process.emit('unhandledRejection', reason, promise);
}

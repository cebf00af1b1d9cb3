// The program's side of an `assert` test: answers the requests of the test.

import { exchange, firstJob, mayUnwind, sleep } from 'host';

import { describe, limitOf } from './failures.js';
import { loop, nextImmediate, nextTimer, runImmediate, runRejection, runTimer } from './loop.js';
import { runJob, runLocalTicks } from './loop.js';
import * as messages from './messages.js';
import { replace } from './overrides.js';
import { Packer } from './packer.js';
import { binding, bindingNames, endOf, exportsOfProgram, requireForTest } from './program.js';
import { begin, hasSettled } from './sharing.js';
import { carryOut } from './stand_ins.js';
import { Unpacker } from './unpacker.js';

const MILLISECOND = 1e6;

// Maximum number of variables that the test gets before it reads them.
const VARIABLES = 16;

// Variables that the test has, with their values.
const watched = new Map();
const UNKNOWN = {};

// Sends a request to the test.
function ask(method, target, args) {
    const packer = new Packer();
    let message;
    try {
        const packed = args.map((arg) => packer.pack(arg));
        message = packer.finish({ op: 'peer', do: method, t: target, a: packed });
    } catch (error) {
        packer.discard();
        throw error;
    }
    const { header: reply } = messages.read(exchange(messages.write(message)));
    const unpacker = new Unpacker();
    unpacker.begin(reply);
    const result = unpacker.unpack('x' in reply ? reply.x : reply.v);
    if ('x' in reply) throw result;
    return result;
}

begin(false, ask);

// Requests about the program as a whole.
const OF_PROGRAM = {
    name: ([name]) => {
        const found = binding(name);
        if (found === undefined) return undefined;
        watched.set(name, found.value);
        return [found.value];
    },
    // Watches the variables of the program, so that the reply contains their values. Objects are
    // not sent before the test reads them, because they can be large.
    variables: () => {
        for (const name of bindingNames().slice(0, VARIABLES)) {
            const found = binding(name);
            const isObject = typeof found?.value === 'object' && found.value !== null;
            if (found !== undefined && !isObject) watched.set(name, UNKNOWN);
        }
    },
    exports: ([name]) => [requireForTest(name)],
    default: () => [exportsOfProgram()],
    ticks: () => runLocalTicks(),
    // Runs the jobs before the first one of the test.
    jobs: ([end]) => {
        while (firstJob() > 0 && (end === 0 || firstJob() < end) && !hasSettled()) runJob();
    },
    timer: () => runTimer(),
    immediate: () => runImmediate(),
    rejection: () => runRejection(),
};

// What the event loop of the program still has to do.
function status() {
    const timer = nextTimer();
    const immediate = nextImmediate();
    const isWanted = timer !== undefined && !timer.isUnreferenced;
    return [
        loop.ticks.length > 0,
        firstJob(),
        loop.rejected.size > 0,
        immediate === undefined ? -1 : immediate.order,
        timer === undefined ? -1 : timer.at,
        timer === undefined ? -1 : timer.order,
        isWanted,
        loop.time,
    ];
}

// Time passes in both instances when the test waits.
function passTime(time) {
    if (time <= loop.time) return;
    sleep((time - loop.time) * MILLISECOND);
    loop.time = time;
}

function changedNames(packer) {
    const changed = [];
    for (const [name, value] of watched) {
        const found = binding(name);
        if (found === undefined || Object.is(found.value, value)) continue;
        watched.set(name, found.value);
        changed.push([name, packer.pack(found.value)]);
    }
    return changed;
}

export function answerTest(header) {
    mayUnwind(false);
    if (typeof header.time === 'number') passTime(header.time);
    let reply;
    let packer = new Packer();
    try {
        const unpacker = new Unpacker();
        unpacker.begin(header);
        if (header.o !== undefined) replace(header.o, unpacker);
        const args = header.a.map((arg) => unpacker.unpack(arg));
        if (header.t === null) {
            const found = OF_PROGRAM[header.do](args);
            reply = {};
            if (Array.isArray(found)) reply.v = packer.pack(found[0]);
        } else {
            reply = { v: packer.pack(carryOut(header.do, header.t, args)) };
        }
        reply = finish(packer, reply);
    } catch (thrown) {
        packer.discard();
        packer = new Packer();
        reply = failed(packer, endOf(thrown));
    }
    reply.s = status();
    return messages.write(reply);
}

function finish(packer, reply) {
    const changed = changedNames(packer);
    if (changed.length > 0) reply.w = changed;
    return packer.finish(reply);
}

function failed(packer, error) {
    const reply = { text: describe(error) };
    const limit = limitOf(error);
    if (limit !== undefined) reply.limit = limit;
    try {
        reply.x = packer.pack(error);
        return finish(packer, reply);
    } catch {
        packer.discard();
        return { ...reply, x: 'the error cannot be sent' };
    }
}

// The connection of a test with its program: sends requests about the program's objects, and
// answers requests about those of the test.
//
// The program's instance may be under an attacker's control. It can answer a request with any data,
// but cannot see this instance, in which no code of the program runs. It can use what the test has
// passed to it, as it could natively, except that it cannot change functions and classes.

import { exchange } from 'host';

import { noteStatus } from './joint.js';
import { loop } from './loop.js';
import * as messages from './messages.js';
import { replaced } from './overrides.js';
import { Recorder } from './recorder.js';
import { Packer } from './packer.js';
import { isLent, numberOf } from './sharing.js';
import { carryOut } from './stand_ins.js';
import { Unpacker } from './unpacker.js';

export const state = {
    isJudging: false,
    // Whether the test has ended. No requests are sent after that.
    isClosed: false,
    // Whether the test has used anything from the program.
    isUsed: false,
    // Status with which the test exits.
    status: undefined,
    // Time that the program knows, in milliseconds.
    time: 0,
    // Variables of the program that the test has read.
    variables: new Map(),
};

export const recorder = new Recorder();

// Errors that the program raised, with the reply: their description from the program's instance,
// and the limit.
export const raised = new WeakMap();

export const isJudging = () => state.isJudging;

// Marks an error as raised by the program.
function blame(error, reply) {
    const isObject = error !== null && typeof error === 'object';
    if (isObject) raised.set(error, reply);
    return error;
}

// Sends a request about an object of the program, or about the program as a whole.
function exchangeWith(method, target, args) {
    if (state.isClosed) throw new Error('the test has ended');
    const packer = new Packer();
    let message;
    try {
        const packed = args.map((arg) => packer.pack(arg));
        message = { op: 'peer', do: method, t: target, a: packed };
        const changed = replaced(packer);
        if (changed.length > 0) message.o = changed;
        packer.finish(message);
    } catch (error) {
        packer.discard();
        throw error;
    }
    if (loop.time !== state.time) message.time = state.time = loop.time;
    const { header: reply } = messages.read(exchange(messages.write(message)));
    return reply;
}

function noteVariable(name, value) {
    state.variables.set(`${name}`, value);
    const number = numberOf(value);
    if (number !== undefined) recorder.name(number, name, true);
}

function read(reply, record) {
    const unpacker = new Unpacker();
    let result;
    try {
        noteStatus(reply.s);
        state.time = loop.time;
        unpacker.begin(reply);
        for (const [name, packed] of reply.w ?? []) noteVariable(name, unpacker.unpack(packed));
        result = unpacker.unpack('x' in reply ? reply.x : reply.v);
    } catch (error) {
        throw blame(error, {});
    }
    if ('x' in reply) {
        recorder.fail(record, reply.text);
        throw blame(result, reply);
    }
    recorder.end(record, result, isLent(result));
    return result;
}

// Reads the values that the program sent before the test began.
export function readFirst(message) {
    if (message.length > 0) read(messages.read(message).header);
}

// Requests the value of a variable of the program. Returns whether there is one.
export function requestVariable(name) {
    const reply = exchangeWith('name', null, [name]);
    const value = read(reply);
    if (!('v' in reply)) return false;
    noteVariable(name, value);
    return true;
}

// Uses an object of the program.
export function ask(method, target, args) {
    state.isUsed = true;
    const isCall = method === 'call' || method === 'construct';
    const record = isCall ? recorder.begin(target, args.slice(1)) : undefined;
    const result = read(exchangeWith(method, target, args), record);
    if (method === 'get') recorder.nameProperty(target, args[0], numberOf(result));
    return result;
}

// Uses the program as a whole.
export function tell(method, args) {
    return read(exchangeWith(method, null, args));
}

// Answers a request of the program.
export function answerProgram(header) {
    let packer = new Packer();
    try {
        const unpacker = new Unpacker();
        unpacker.begin(header);
        const args = header.a.map((arg) => unpacker.unpack(arg));
        const value = carryOut(header.do, header.t, args);
        return messages.write(packer.finish({ v: packer.pack(value) }));
    } catch (error) {
        packer.discard();
        packer = new Packer();
        return messages.write(packer.finish({ x: packer.pack(error) }));
    }
}

// The driver: connects the host with a program through messages.
//
// The driver and the library for programs are in different realms: nothing that a program changes
// in its own realm, such as methods of arrays, affects this code. Still, the program shares the
// interpreter, so this instance never decides about the program: everything it sends is treated as
// output of the program, which the host or another instance judges.

import { published, rejections } from 'host';

import { compileParts } from './compiler.js';
import { answerProgram, isJudging } from './connection.js';
import { judge } from './judge.js';
import { answerTest } from './lending.js';
import * as messages from './messages.js';
import { call, load, main, noteRejection, prelude } from './program.js';
import { session } from './session.js';
import { compileTest } from './test_text.js';

const VERSION = 'quickjs-ng 0.16.2';

function version() {
    return messages.write({ version: VERSION, modules: published().moduleNames });
}

const OPERATIONS = {
    version,
    compile: compileParts,
    load,
    prelude,
    main,
    call,
    peer: answerTest,
    compile_test: compileTest,
    judge,
    session,
};

rejections(noteRejection);

globalThis.handle = (message) => {
    const { header, blobs } = messages.read(message);
    // Once the test runs, every message comes from the program's instance.
    if (isJudging()) return answerProgram(header);
    return OPERATIONS[header.op](header, blobs);
};

// What the driver passes to the library for programs, which is in the realm of programs.

import { publish } from 'host';

import { format, formatWithOptions, table } from './format.js';
import { inspect } from './inspect.js';
import {
    addImmediate,
    addTick,
    loop,
    refreshTimer,
    runLoop,
    startTimer,
    stopTimer,
} from './loop.js';
import { widthOf } from './texts.js';

publish({
    addImmediate,
    addTick,
    format,
    formatWithOptions,
    inspect,
    loop,
    refreshTimer,
    runLoop,
    startTimer,
    stopTimer,
    table,
    widthOf,
});

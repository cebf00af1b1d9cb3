// The event loop: ticks, promise jobs, timers and immediates, in Node's order. Time is virtual: it
// advances with work, and waiting for a timer costs work but no wall time.

import { firstJob, now, run, sleep } from 'host';

const MILLISECOND = 1e6;

// Maximum delay, in milliseconds. Longer delays become 1, as in Node.
const LONGEST = 2 ** 31 - 1;

export const loop = {
    ticks: [],
    timers: [],
    immediates: [],
    // Rejected promises without a handler, with their reasons.
    rejected: new Map(),
    // Called with an uncaught exception.
    uncaught: null,
    unhandled: null,
    // Time at which the current round of the loop began, in milliseconds.
    time: 0,
    sequence: 0,
    // Number of the job that is running.
    job: 0,
};

export function addTick(callback) {
    loop.ticks.push(callback);
}

function isEarlier(one, other) {
    return one.at < other.at || (one.at === other.at && one.order < other.order);
}

// The timers form a binary heap.
function push(timer) {
    const { timers } = loop;
    let at = timers.length;
    timers.push(timer);
    while (at > 0) {
        const parent = (at - 1) >> 1;
        if (!isEarlier(timer, timers[parent])) break;
        timers[at] = timers[parent];
        at = parent;
    }
    timers[at] = timer;
}

function pop() {
    const { timers } = loop;
    const first = timers[0];
    const last = timers.pop();
    if (timers.length === 0) return first;
    let at = 0;
    for (;;) {
        let child = 2 * at + 1;
        if (child >= timers.length) break;
        if (child + 1 < timers.length && isEarlier(timers[child + 1], timers[child])) child++;
        if (!isEarlier(timers[child], last)) break;
        timers[at] = timers[child];
        at = child;
    }
    timers[at] = last;
    return first;
}

// Starts a timer; `timer` has `callback`, `delay` and `repeats`.
export function startTimer(timer) {
    const delay = Number(timer.delay);
    timer.delay = delay >= 1 && delay <= LONGEST ? Math.trunc(delay) : 1;
    timer.isActive = true;
    schedule(timer);
}

function schedule(timer) {
    timer.at = loop.time + timer.delay;
    timer.order = loop.sequence++;
    push({ at: timer.at, order: timer.order, timer });
}

export function stopTimer(timer) {
    timer.isActive = false;
}

export function refreshTimer(timer) {
    timer.isActive = true;
    schedule(timer);
}

export function addImmediate(immediate) {
    immediate.isActive = true;
    immediate.order = loop.sequence++;
    loop.immediates.push(immediate);
}

export function guarded(callback) {
    try {
        callback();
    } catch (error) {
        loop.uncaught(error);
    }
}

// Runs the first promise job.
export function runJob() {
    loop.job = firstJob();
    try {
        run();
    } catch (error) {
        loop.uncaught(error);
    }
}

// Runs promise jobs until there are none.
function runJobs() {
    for (;;) {
        try {
            if (!run()) return;
        } catch (error) {
            loop.uncaught(error);
        }
    }
}

export function runLocalTicks() {
    for (let i = 0; i < loop.ticks.length; i++) {
        guarded(loop.ticks[i]);
    }
    loop.ticks.length = 0;
}

// Reports a rejected promise without a handler.
export function runRejection() {
    const [[promise, reason]] = loop.rejected;
    loop.rejected.delete(promise);
    guarded(() => loop.unhandled(reason, promise));
}

// Runs ticks and jobs until there are none of either.
export function runTicks() {
    do {
        runLocalTicks();
        runJobs();
        while (loop.ticks.length === 0 && loop.rejected.size > 0) {
            runRejection();
            runJobs();
        }
    } while (loop.ticks.length > 0);
}

export function updateTime() {
    loop.time = Math.max(loop.time, Math.floor(now() / MILLISECOND));
}

// Waits for a time, in milliseconds.
export function waitUntil(time) {
    sleep(time * MILLISECOND - now());
    updateTime();
    loop.time = Math.max(loop.time, time);
}

// Runs the first timer.
export function runTimer() {
    const { timer } = pop();
    if (timer.repeats) {
        schedule(timer);
    } else {
        timer.isActive = false;
    }
    guarded(timer.callback);
}

function runTimers() {
    for (;;) {
        const timer = nextTimer();
        if (timer === undefined || timer.at > loop.time) return;
        runTimer();
        runTicks();
    }
}

function runImmediates() {
    const due = loop.immediates;
    loop.immediates = [];
    for (const immediate of due) {
        if (!immediate.isActive) continue;
        immediate.isActive = false;
        guarded(immediate.callback);
        runTicks();
    }
}

// Runs the first immediate.
export function runImmediate() {
    const immediate = nextImmediate();
    if (immediate === undefined) return;
    loop.immediates.shift();
    immediate.isActive = false;
    guarded(immediate.callback);
}

export function nextImmediate() {
    while (loop.immediates.length > 0 && !loop.immediates[0].isActive) loop.immediates.shift();
    return loop.immediates[0];
}

// The first timer that is active.
export function nextTimer() {
    while (loop.timers.length > 0) {
        const [{ order, timer }] = loop.timers;
        if (timer.isActive && timer.order === order) return timer;
        pop();
    }
    return undefined;
}

// Whether something keeps the loop running.
export function hasWork() {
    nextTimer();
    const isWanted = ({ timer }) => timer.isActive && !timer.isUnreferenced;
    return loop.immediates.some(({ isActive }) => isActive) || loop.timers.some(isWanted);
}

// Runs the loop until nothing is left to do, or `isDone` returns true.
export function runLoop(isDone = () => false) {
    runTicks();
    while (!isDone() && hasWork()) {
        updateTime();
        const timer = nextTimer();
        if (loop.immediates.length === 0 && timer !== undefined && timer.at > loop.time) {
            waitUntil(timer.at);
        }
        runTimers();
        if (isDone()) return;
        runImmediates();
    }
}

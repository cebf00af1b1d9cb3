// The event loop of a test: runs what the test and the program have scheduled, in one order.
// Jobs, timers and immediates of both instances have common numbers, and timers a common time.

import { firstJob } from 'host';

import {
    guarded,
    hasWork,
    loop,
    nextImmediate,
    nextTimer,
    runImmediate,
    runJob,
    runLocalTicks,
    runRejection,
    runTimer,
    updateTime,
    waitUntil,
} from './loop.js';
import { hasSettled } from './sharing.js';

// Latest time that a program can report, in milliseconds: 35 years.
const LATEST = 2 ** 40;

// What the program still has to do, as its last reply says.
const program = {
    hasTicks: false,
    // Number of its first job.
    job: 0,
    hasRejections: false,
    immediate: -1,
    timer: -1,
    timerOrder: -1,
    isWaiting: false,
};

export function noteStatus(status) {
    if (!Array.isArray(status)) return;
    const [ticks, job, rejections, immediate, timer, timerOrder, isWaiting, time] = status;
    program.hasTicks = ticks === true;
    program.job = Number.isSafeInteger(job) && job > 0 ? job : 0;
    program.hasRejections = rejections === true;
    program.immediate = Number.isSafeInteger(immediate) ? immediate : -1;
    program.timer = Number.isSafeInteger(timer) ? timer : -1;
    program.timerOrder = Number.isSafeInteger(timerOrder) ? timerOrder : -1;
    program.isWaiting = isWaiting === true;
    if (Number.isSafeInteger(time) && time > loop.time && time < LATEST) loop.time = time;
}

// `tell` sends a request about the program as a whole.
export class JointLoop {
    constructor(tell) {
        this.tell = (method, ...args) => guarded(() => tell(method, args));
    }

    runJobs() {
        for (;;) {
            const own = firstJob();
            const isTheirs = program.job > 0 && (own === 0 || program.job < own);
            if (isTheirs || hasSettled()) this.tell('jobs', own);
            else if (own > 0) runJob();
            else return;
        }
    }

    runTicks() {
        do {
            runLocalTicks();
            if (program.hasTicks) this.tell('ticks');
            this.runJobs();
            while (loop.ticks.length === 0 && !program.hasTicks) {
                if (loop.rejected.size > 0) runRejection();
                else if (program.hasRejections) this.tell('rejection');
                else break;
                this.runJobs();
            }
        } while (loop.ticks.length > 0 || program.hasTicks);
    }

    // The first timer of either instance, and whether it is the program's.
    next() {
        const own = nextTimer();
        const isTheirs =
            program.timer >= 0 &&
            (own === undefined ||
                program.timer < own.at ||
                (program.timer === own.at && program.timerOrder < own.order));
        if (isTheirs) return { at: program.timer, isTheirs };
        return own && { at: own.at, isTheirs };
    }

    runTimers() {
        for (;;) {
            const next = this.next();
            if (next === undefined || next.at > loop.time) return;
            if (next.isTheirs) this.tell('timer');
            else runTimer();
            this.runTicks();
        }
    }

    hasImmediates() {
        return nextImmediate() !== undefined || program.immediate >= 0;
    }

    // Runs the immediates that exist now.
    runImmediates() {
        const end = loop.sequence;
        for (;;) {
            const own = nextImmediate()?.order ?? -1;
            const theirs = program.immediate;
            const isTheirs = theirs >= 0 && (own < 0 || theirs < own);
            const order = isTheirs ? theirs : own;
            if (order < 0 || order >= end) return;
            if (isTheirs) this.tell('immediate');
            else runImmediate();
            this.runTicks();
        }
    }

    // Runs until the test is done, or until nothing is left to do. The program alone keeps the loop
    // running only while the test waits for a promise.
    run(isDone, isWaiting) {
        const canContinue = () => {
            if (hasWork()) return true;
            return isWaiting() && (program.immediate >= 0 || program.isWaiting);
        };
        this.runTicks();
        while (!isDone() && canContinue()) {
            updateTime();
            const next = this.next();
            if (!this.hasImmediates() && next !== undefined && next.at > loop.time) {
                waitUntil(next.at);
            }
            this.runTimers();
            if (isDone()) return;
            this.runImmediates();
        }
    }
}

// Mock functions as in Jest.

import { limited } from './errors.js';

function unsupported(name) {
    throw limited(new Error(`\`${name}\` is not supported`), 'module', name);
}

export const isMock = (value) => typeof value === 'function' && value.mock?.isMock === true;

function fn(original) {
    let implementation = original;
    let once = [];
    const state = { isMock: true, calls: [], results: [], instances: [], contexts: [] };
    Object.defineProperty(state, 'isMock', { enumerable: false });
    Object.defineProperty(state, 'lastCall', { get: () => state.calls.at(-1) });
    function mock(...args) {
        state.calls.push(args);
        state.instances.push(this);
        state.contexts.push(this);
        const result = { type: 'incomplete', value: undefined };
        state.results.push(result);
        const called = once.length > 0 ? once.shift() : implementation;
        try {
            result.value =
                new.target && called ? Reflect.construct(called, args) : called?.apply(this, args);
            result.type = 'return';
            return result.value;
        } catch (error) {
            Object.assign(result, { type: 'throw', value: error });
            throw error;
        }
    }
    const set = (value) => {
        implementation = value;
        return mock;
    };
    const addOnce = (value) => {
        once.push(value);
        return mock;
    };
    const clear = () => {
        for (const list of [state.calls, state.results, state.instances, state.contexts]) {
            list.length = 0;
        }
        return mock;
    };
    const reset = () => {
        once = [];
        return set(original && undefined) && clear();
    };
    return Object.assign(mock, {
        mock: state,
        mockImplementation: set,
        mockImplementationOnce: addOnce,
        mockReturnValue: (value) => set(() => value),
        mockReturnValueOnce: (value) => addOnce(() => value),
        mockResolvedValue: (value) => set(() => Promise.resolve(value)),
        mockResolvedValueOnce: (value) => addOnce(() => Promise.resolve(value)),
        mockRejectedValue: (value) => set(() => Promise.reject(value)),
        mockRejectedValueOnce: (value) => addOnce(() => Promise.reject(value)),
        mockReturnThis: () =>
            set(function () {
                return this;
            }),
        mockName: () => mock,
        getMockName: () => 'mock',
        mockClear: clear,
        mockReset: reset,
        mockRestore: reset,
    });
}

const spies = [];

function spyOn(object, name) {
    const original = object[name];
    const spy = fn(original);
    const isOwn = Object.hasOwn(object, name);
    spy.mockRestore = () => {
        if (isOwn) object[name] = original;
        else delete object[name];
    };
    object[name] = spy;
    spies.push(spy);
    return spy;
}

const known = {
    fn,
    spyOn,
    isMockFunction: isMock,
    clearAllMocks: () => spies.forEach((spy) => spy.mockClear()),
    resetAllMocks: () => spies.forEach((spy) => spy.mockReset()),
    restoreAllMocks: () => spies.splice(0).forEach((spy) => spy.mockRestore()),
    setTimeout() {},
};

// A test that uses anything else cannot be judged.
export const jest = new Proxy(known, {
    get: (target, key) => {
        if (typeof key === 'string' && !Object.hasOwn(target, key)) unsupported(`jest.${key}`);
        return target[key];
    },
});

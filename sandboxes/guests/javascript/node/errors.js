// Errors with a code, as thrown by Node's library.

function withCode(Base, code, message) {
    const error = new Base(message);
    error.code = code;
    const { stack } = error;
    error.stack = `${error.name} [${code}]${stack.slice(stack.indexOf(':'))}`;
    return error;
}

export function typeError(code, message) {
    return withCode(TypeError, code, message);
}

export function rangeError(code, message) {
    return withCode(RangeError, code, message);
}

export function plainError(code, message) {
    return withCode(Error, code, message);
}

export function invalidType(name, expected, value) {
    const shown = value === null || value === undefined ? `${value}` : `type ${typeof value}`;
    return typeError(
        'ERR_INVALID_ARG_TYPE',
        `The "${name}" argument must be ${expected}. Received ${shown}`,
    );
}

// Marks an error as caused by a limit of the sandbox, for the evidence.
export const limits = new WeakMap();

export function limited(error, cause, name) {
    limits.set(error, [cause, `${name}`.slice(0, 100)]);
    return error;
}

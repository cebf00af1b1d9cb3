// The format of messages: the length of the header (four bytes, little-endian), a JSON header, and
// blobs. The header lists the lengths of the blobs.

import { readMessage, writeMessage } from 'host';

export const read = readMessage;

// Reply of an operation that has no result.
const FINISHED = '{"end":"finished"}';

export function write(header, ...blobs) {
    return writeMessage(JSON.stringify(header), blobs);
}

export function writeFinished() {
    return writeMessage(FINISHED, []);
}

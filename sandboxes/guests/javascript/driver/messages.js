// The format of messages: the length of the header (four bytes, little-endian), a JSON header, and
// blobs. The header lists the lengths of the blobs.

import { decode, encode } from 'host';

export function write(header, ...blobs) {
    header.blobs = blobs.map((blob) => blob.length);
    const head = encode(JSON.stringify(header));
    const total = blobs.reduce((sum, blob) => sum + blob.length, 4 + head.length);
    const message = new Uint8Array(total);
    new DataView(message.buffer).setUint32(0, head.length, true);
    message.set(head, 4);
    let at = 4 + head.length;
    for (const blob of blobs) {
        message.set(blob, at);
        at += blob.length;
    }
    return message;
}

export function read(message) {
    const length = new DataView(message.buffer, message.byteOffset).getUint32(0, true);
    let at = 4 + length;
    const header = JSON.parse(decode(message, 4, at));
    const blobs = header.blobs.map((size) => message.subarray(at, (at += size)));
    return { header, blobs };
}

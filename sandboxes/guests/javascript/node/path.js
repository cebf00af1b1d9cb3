// The module `path`, for POSIX.

function normalizedParts(path, isAbsolute) {
    const parts = [];
    for (const part of path.split('/')) {
        if (part === '' || part === '.') continue;
        if (part !== '..') parts.push(part);
        else if (parts.length > 0 && parts.at(-1) !== '..') parts.pop();
        else if (!isAbsolute) parts.push('..');
    }
    return parts;
}

function normalize(path) {
    if (path === '') return '.';
    const isAbsolute = path.startsWith('/');
    let joined = normalizedParts(path, isAbsolute).join('/');
    if (joined === '' && !isAbsolute) joined = '.';
    if (joined !== '' && path.endsWith('/')) joined += '/';
    return isAbsolute ? `/${joined}` : joined;
}

function join(...parts) {
    const joined = parts.filter((part) => part !== '').join('/');
    return joined === '' ? '.' : normalize(joined);
}

function resolve(...parts) {
    let path = '';
    for (let i = parts.length - 1; i >= 0 && !path.startsWith('/'); i--) {
        if (parts[i] !== '') path = path === '' ? parts[i] : `${parts[i]}/${path}`;
    }
    if (!path.startsWith('/')) path = `/${path}`;
    return `/${normalizedParts(path, true).join('/')}`;
}

function dirname(path) {
    const end = path.replace(/\/+$/, '').lastIndexOf('/');
    if (end === -1) return path.startsWith('/') ? '/' : '.';
    return end === 0 ? '/' : path.slice(0, end);
}

function basename(path, suffix) {
    const name = path.replace(/\/+$/, '').split('/').at(-1);
    const isCut = suffix !== undefined && name !== suffix && name.endsWith(suffix);
    return isCut ? name.slice(0, -suffix.length) : name;
}

function extname(path) {
    const name = basename(path);
    const at = name.lastIndexOf('.');
    return at <= 0 ? '' : name.slice(at);
}

function relative(from, to) {
    const [one, other] = [resolve(from), resolve(to)].map((path) => normalizedParts(path, true));
    let same = 0;
    while (same < one.length && same < other.length && one[same] === other[same]) same++;
    return [...one.slice(same).map(() => '..'), ...other.slice(same)].join('/');
}

function parse(path) {
    const base = basename(path);
    const ext = extname(path);
    const dir = path.includes('/') ? dirname(path) : '';
    const root = path.startsWith('/') ? '/' : '';
    return { root, dir, base, ext, name: ext === '' ? base : base.slice(0, -ext.length) };
}

function format({ dir, root = '', base, name = '', ext = '' }) {
    const file = base ?? name + ext;
    if (!dir) return root + file;
    return dir === root ? dir + file : `${dir}/${file}`;
}

export const path = {
    sep: '/',
    delimiter: ':',
    normalize,
    join,
    resolve,
    dirname,
    basename,
    extname,
    relative,
    parse,
    format,
    isAbsolute: (name) => name.startsWith('/'),
    toNamespacedPath: (name) => name,
};
path.posix = path;

// Locale-dependent functions, for `en-US` only: comparison of texts, numbers and dates.

// Order of the ASCII characters that are neither letters nor digits, as in the root collation of
// Unicode.
const PUNCTUATION = '\t\n\v\f\r _-,;:!?.\'"()[]{}@*/\\&#%`^+<=>|~$';

const DIGITS = PUNCTUATION.length + 1;
const LETTERS = DIGITS + 10;

function primary(character) {
    const code = character.charCodeAt(0);
    if (code >= 97 && code <= 122) return LETTERS + code - 97;
    if (code >= 65 && code <= 90) return LETTERS + code - 65;
    if (code >= 48 && code <= 57) return DIGITS + code - 48;
    const at = PUNCTUATION.indexOf(character);
    return at >= 0 ? at + 1 : LETTERS + 26 + character.toLowerCase().codePointAt(0);
}

const isMark = (code) => code >= 0x300 && code <= 0x36f;

// Letters with their marks: [primary key, marks, is upper case].
function elements(text) {
    const found = [];
    for (const character of text.normalize('NFD')) {
        const code = character.codePointAt(0);
        if (isMark(code)) {
            if (found.length > 0) found.at(-1)[1] += character;
        } else if (code >= 0x20 || (code >= 9 && code <= 13)) {
            const isUpper = character !== character.toLowerCase();
            found.push([primary(character), '', isUpper ? 1 : 0, character]);
        }
    }
    return found;
}

// Consecutive digits as one number, for `numeric`.
function grouped(found) {
    const result = [];
    for (let i = 0; i < found.length; i++) {
        let digits = '';
        while (i < found.length && found[i][3] >= '0' && found[i][3] <= '9')
            digits += found[i++][3];
        if (digits !== '')
            result.push([DIGITS + Number(digits) * 1e-300, '', 0, digits, Number(digits)]);
        if (i < found.length) result.push(found[i]);
    }
    return result;
}

function comparePrimary(one, other) {
    if (one[4] !== undefined && other[4] !== undefined) return one[4] - other[4];
    return one[0] - other[0];
}

function compareElements(left, right, sensitivity) {
    const length = Math.min(left.length, right.length);
    let marks = 0;
    let cases = 0;
    for (let i = 0; i < length; i++) {
        const difference = comparePrimary(left[i], right[i]);
        if (difference !== 0) return Math.sign(difference);
        if (marks === 0 && left[i][1] !== right[i][1]) marks = left[i][1] < right[i][1] ? -1 : 1;
        if (cases === 0) cases = left[i][2] - right[i][2];
    }
    if (left.length !== right.length) return Math.sign(left.length - right.length);
    if (marks !== 0 && sensitivity !== 'base' && sensitivity !== 'case') return marks;
    if (cases !== 0 && sensitivity !== 'base' && sensitivity !== 'accent') return cases;
    return 0;
}

const LOWER = /^[a-z]*$/;

function compareTexts(one, other, options = {}) {
    if (one === other) return 0;
    if (LOWER.test(one) && LOWER.test(other)) return one < other ? -1 : 1;
    let [left, right] = [elements(one), elements(other)];
    if (options?.numeric) [left, right] = [grouped(left), grouped(right)];
    return compareElements(left, right, options?.sensitivity);
}

const SYMBOLS = { USD: '$', EUR: '€', GBP: '£', JPY: '¥', INR: '₹', CNY: 'CN¥', KRW: '₩' };
const UNITS = [
    [1e12, 'T'],
    [1e9, 'B'],
    [1e6, 'M'],
    [1e3, 'K'],
];

const withGroups = (digits) => digits.replace(/\B(?=(\d{3})+$)/g, ',');

function fixed(value, least, most) {
    let [whole, part = ''] = rounded(value, most).split('.');
    while (part.length > least && part.endsWith('0')) part = part.slice(0, -1);
    return [whole, part.padEnd(least, '0')];
}

// Rounds halves away from zero, by the decimal digits of the number.
function rounded(value, digits) {
    const text = `${value}`;
    if (text.includes('e')) return value.toFixed(digits);
    const [whole, part = ''] = text.split('.');
    if (part.length <= digits) return part === '' ? whole : text;
    const scaled = BigInt(whole + part.slice(0, digits)) + (part[digits] >= '5' ? 1n : 0n);
    const all = `${scaled}`.padStart(digits + 1, '0');
    return digits === 0 ? all : `${all.slice(0, -digits)}.${all.slice(-digits)}`;
}

function significant(value, options) {
    const most = options.maximumSignificantDigits ?? 21;
    let text = Number(value.toPrecision(Math.min(most, 100)));
    text = fixed(text, 0, 20);
    const least = options.minimumSignificantDigits ?? 1;
    const digits = (text[0] === '0' ? '' : text[0]).length + text[1].length;
    if (digits < least) text[1] = text[1].padEnd(text[1].length + least - digits, '0');
    return text;
}

function formatNumber(value, options = {}) {
    const style = options.style ?? 'decimal';
    if (typeof value === 'bigint') {
        const digits = `${value < 0n ? -value : value}`;
        return (value < 0n ? '-' : '') + withGroups(digits);
    }
    if (Number.isNaN(value)) return 'NaN';
    const isNegative = value < 0 || Object.is(value, -0);
    let number = Math.abs(value) * (style === 'percent' ? 100 : 1);
    let suffix = style === 'percent' ? '%' : '';
    const isCompact = options.notation === 'compact';
    if (isCompact) {
        const unit = UNITS.find(([size]) => number >= size);
        if (unit !== undefined) {
            number /= unit[0];
            suffix = unit[1];
        }
    }
    let text;
    if (number === Infinity) {
        text = '∞';
    } else {
        const isMoney = style === 'currency';
        const digits = isMoney ? (['JPY', 'KRW'].includes(options.currency) ? 0 : 2) : 0;
        const least =
            options.minimumFractionDigits ??
            Math.min(digits, options.maximumFractionDigits ?? digits);
        const usual = isMoney ? digits : style === 'percent' ? 0 : 3;
        const compactDigits = isCompact ? (number < 10 ? 1 : 0) : usual;
        const most = options.maximumFractionDigits ?? Math.max(least, compactDigits);
        const isSignificant =
            options.maximumSignificantDigits !== undefined ||
            options.minimumSignificantDigits !== undefined;
        let [whole, part] = isSignificant
            ? significant(number, options)
            : fixed(number, least, most);
        whole = whole.padStart(options.minimumIntegerDigits ?? 1, '0');
        if (options.useGrouping !== false) whole = withGroups(whole);
        text = part === '' ? whole : `${whole}.${part}`;
    }
    if (style === 'currency') {
        text = (SYMBOLS[options.currency] ?? `${options.currency} `) + text;
    }
    return (isNegative ? '-' : '') + text + suffix;
}

const DAYS = ['Sunday', 'Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday'];
const MONTHS = ['January', 'February', 'March', 'April', 'May', 'June', 'July', 'August'].concat([
    'September',
    'October',
    'November',
    'December',
]);
const DATE_PARTS = ['weekday', 'year', 'month', 'day'];
const TIME_PARTS = ['hour', 'minute', 'second', 'fractionalSecondDigits'];

const padded = (value, style) =>
    style === '2-digit' ? `${value}`.padStart(2, '0').slice(-2) : `${value}`;

function formatDay(date, options) {
    const { weekday, year, month, day } = options;
    const number = date.getDate();
    const yearText = year && padded(date.getFullYear(), year);
    const names = [];
    if (weekday) names.push(DAYS[date.getDay()].slice(0, weekday === 'long' ? undefined : 3));
    if (month === 'long' || month === 'short') {
        const name = MONTHS[date.getMonth()].slice(0, month === 'long' ? undefined : 3);
        names.push(day ? `${name} ${padded(number, day)}` : name);
        if (yearText) {
            if (!day && names.length === 1) names[0] += ` ${yearText}`;
            else names.push(yearText);
        }
        return names.join(', ');
    }
    const numbers = [];
    if (month) numbers.push(padded(date.getMonth() + 1, month));
    if (day) numbers.push(padded(number, day));
    if (yearText) numbers.push(yearText);
    if (numbers.length > 0) names.push(numbers.join('/'));
    return names.join(', ');
}

function formatTime(date, options) {
    const isHalf =
        options.hour12 ?? (options.hourCycle === undefined || options.hourCycle.startsWith('h1'));
    const hours = date.getHours();
    const parts = [];
    if (options.hour) {
        const shown = isHalf ? hours % 12 || 12 : hours;
        parts.push(isHalf ? padded(shown, options.hour) : `${shown}`.padStart(2, '0'));
    }
    const two = (value) => `${value}`.padStart(2, '0');
    if (options.minute) parts.push(two(date.getMinutes()));
    if (options.second) parts.push(two(date.getSeconds()));
    const text = parts.join(':');
    return options.hour && isHalf ? `${text} ${hours < 12 ? 'AM' : 'PM'}` : text;
}

const STYLES = {
    full: { weekday: 'long', year: 'numeric', month: 'long', day: 'numeric' },
    long: { year: 'numeric', month: 'long', day: 'numeric' },
    medium: { year: 'numeric', month: 'short', day: 'numeric' },
    short: { year: '2-digit', month: 'numeric', day: 'numeric' },
};
const DATE = { year: 'numeric', month: 'numeric', day: 'numeric' };
const TIME = { hour: 'numeric', minute: '2-digit', second: '2-digit' };

function inZone(date, zone) {
    if (zone === undefined || /^(utc|gmt|etc\/utc)$/i.test(zone)) return date;
    throw new RangeError(`Invalid time zone specified: ${zone}`);
}

function formatDate(value, options = {}, usual = DATE) {
    const date = inZone(new Date(value), options.timeZone);
    if (Number.isNaN(date.getTime())) return 'Invalid Date';
    let chosen = options;
    if (options.dateStyle !== undefined || options.timeStyle !== undefined) {
        const { second, ...short } = TIME;
        const time = options.timeStyle === 'short' ? short : TIME;
        chosen = { ...options, ...STYLES[options.dateStyle], ...(options.timeStyle && time) };
    } else if (![...DATE_PARTS, ...TIME_PARTS].some((part) => options[part] !== undefined)) {
        chosen = { ...options, ...usual };
    }
    const day = formatDay(date, chosen);
    const time = TIME_PARTS.some((part) => chosen[part]) ? formatTime(date, chosen) : '';
    const isNamed = options.dateStyle === 'full' || options.dateStyle === 'long';
    return [day, time].filter((part) => part !== '').join(isNamed ? ' at ' : ', ');
}

class NumberFormat {
    #options;

    constructor(locale, options = {}) {
        this.#options = options;
        this.format = (value) =>
            formatNumber(typeof value === 'bigint' ? value : Number(value), options);
    }

    resolvedOptions() {
        return { locale: 'en-US', numberingSystem: 'latn', style: 'decimal', ...this.#options };
    }
}

class DateTimeFormat {
    #options;

    constructor(locale, options = {}) {
        this.#options = options;
        this.format = (date) => formatDate(date ?? Date.now(), options);
    }

    resolvedOptions() {
        return { locale: 'en-US', calendar: 'gregory', timeZone: 'UTC', ...this.#options };
    }
}

class Collator {
    constructor(locale, options = {}) {
        this.compare = (one, other) => compareTexts(`${one}`, `${other}`, options);
    }

    resolvedOptions() {
        return { locale: 'en-US', usage: 'sort', sensitivity: 'variant' };
    }
}

class PluralRules {
    #isOrdinal;

    constructor(locale, options = {}) {
        this.#isOrdinal = options.type === 'ordinal';
    }

    select(value) {
        if (!this.#isOrdinal) return value === 1 ? 'one' : 'other';
        const tens = value % 100;
        if (tens >= 11 && tens <= 13) return 'other';
        return ['other', 'one', 'two', 'few'][value % 10] ?? 'other';
    }
}

class ListFormat {
    #word;

    constructor(locale, options = {}) {
        this.#word = options.type === 'disjunction' ? 'or' : 'and';
    }

    format(list) {
        const items = [...list];
        if (items.length <= 2) return items.join(` ${this.#word} `);
        return `${items.slice(0, -1).join(', ')}, ${this.#word} ${items.at(-1)}`;
    }
}

export const Intl = {
    NumberFormat,
    DateTimeFormat,
    Collator,
    PluralRules,
    ListFormat,
    getCanonicalLocales: (locales) => [locales].flat(),
};

function define(prototype, name, method) {
    Object.defineProperty(prototype, name, { value: method, writable: true, configurable: true });
}

export function installLocale() {
    const methods = {
        localeCompare(other, locale, options) {
            return compareTexts(`${this}`, `${other}`, options);
        },
    };
    define(String.prototype, 'localeCompare', methods.localeCompare);
    define(Number.prototype, 'toLocaleString', function toLocaleString(locale, options) {
        return formatNumber(Number(this), options);
    });
    define(BigInt.prototype, 'toLocaleString', function toLocaleString(locale, options) {
        return formatNumber(BigInt(this), options);
    });
    define(Date.prototype, 'toLocaleDateString', function toLocaleDateString(locale, options) {
        return formatDate(this, options, DATE);
    });
    define(Date.prototype, 'toLocaleTimeString', function toLocaleTimeString(locale, options) {
        return formatDate(this, options, TIME);
    });
    define(Date.prototype, 'toLocaleString', function toLocaleString(locale, options) {
        return formatDate(this, options, { ...DATE, ...TIME });
    });
}

// The arguments and the returned value of a `call` test. The host passes each argument as JSON, and
// compares the value, whose notation `graders/code/src/value` defines. Programs in C++ call these
// functions by `assay/calls.h`, and programs in C by a text of the host.

#include <cctype>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <unistd.h>

extern "C" {

// Appends to the returned value (`wasi.c`).
void assay_return(const char* bytes, size_t length);

[[noreturn]] void assay_unfit(const char* expected);

} // extern "C"

namespace {

// The argument that is read: the called function, its number, and the rest of its JSON.
const char* function_name;
int argument_number;
const char* at;

// What has been written but not passed to the host.
char buffer[16 << 10];
size_t buffered;

// Longest part of an argument that a message shows.
constexpr int SHOWN = 60;

void skip_space()
{
    while (*at && std::strchr(" \t\r\n", *at))
        at++;
}

void append(const char* bytes, size_t length)
{
    if (length > sizeof buffer - buffered) {
        assay_return(buffer, buffered);
        buffered = 0;
    }
    if (length > sizeof buffer) {
        assay_return(bytes, length);
        return;
    }
    std::memcpy(buffer + buffered, bytes, length);
    buffered += length;
}

bool read_word(const char* word)
{
    size_t length = std::strlen(word);
    skip_space();
    if (std::strncmp(at, word, length))
        return false;
    at += length;
    return true;
}

// The end of the number at the current place.
const char* number_end(const char* expected)
{
    skip_space();
    size_t length = std::strspn(at, "+-.0123456789eE");
    if (length == 0)
        assay_unfit(expected);
    return at + length;
}

struct Integer {
    bool is_negative;
    unsigned long long size;
};

// Reads an integer, which may be written with a point or an exponent.
Integer read_integer(const char* expected)
{
    const char* end = number_end(expected);
    const char* digits = at + (*at == '-');
    Integer number = {*at == '-', 0};
    auto [read, error] = std::from_chars(digits, end, number.size);
    if (read != end) {
        double real = std::strtod(digits, nullptr);
        if (std::floor(real) != real || real >= 0x1p64)
            assay_unfit(expected);
        number.size = static_cast<unsigned long long>(real);
    } else if (error != std::errc()) {
        assay_unfit(expected);
    }
    at = end;
    return number;
}

unsigned read_hexadecimal()
{
    unsigned unit = 0;
    for (int i = 0; i < 4 && std::isxdigit(static_cast<unsigned char>(*at)); i++, at++)
        unit = unit * 16 + (std::isdigit(*at) ? *at - '0' : (*at | 0x20) - 'a' + 10);
    return unit;
}

// Reads what follows a backslash, and writes it as UTF-8.
char* read_escape(char* to)
{
    static const char names[] = "bfnrt", values[] = "\b\f\n\r\t";
    char kind = *at++;
    if (kind != 'u') {
        const char* found = std::strchr(names, kind);
        *to++ = found ? values[found - names] : kind;
        return to;
    }
    unsigned point = read_hexadecimal();
    if (point >= 0xd800 && point < 0xdc00 && at[0] == '\\' && at[1] == 'u') {
        at += 2;
        point = 0x10000 + ((point - 0xd800) << 10) + (read_hexadecimal() - 0xdc00);
    }
    if (point < 0x80) {
        *to++ = static_cast<char>(point);
        return to;
    }
    int more = point < 0x800 ? 1 : point < 0x10000 ? 2 : 3;
    *to++ = static_cast<char>((0xf00 >> more & 0xff) | point >> 6 * more);
    while (more-- > 0)
        *to++ = static_cast<char>(0x80 | (point >> 6 * more & 0x3f));
    return to;
}

} // namespace

extern "C" {

bool assay_is(const char* text, const char* other) { return std::strcmp(text, other) == 0; }

void assay_begin(const char* function, int number, const char* json)
{
    function_name = function;
    argument_number = number;
    at = json;
}

// Ends the program, because an argument does not fit the parameter of its function.
[[noreturn]] void assay_unfit(const char* expected)
{
    std::fprintf(stderr, "argument %d of `%s`: expected %s, not `%.*s`\n", argument_number,
                 function_name, expected, SHOWN, at);
    std::exit(EXIT_FAILURE);
}

bool assay_read_null() { return read_word("null"); }

bool assay_read_bool()
{
    if (read_word("true"))
        return true;
    if (read_word("false"))
        return false;
    assay_unfit("a boolean");
}

long long assay_read_signed(long long least, long long most)
{
    const char* start = at;
    const char* expected = "an integer in the range of the parameter";
    auto [is_negative, size] = read_integer(expected);
    unsigned long long limit = is_negative ? -static_cast<unsigned long long>(least) : most;
    if (size > limit) {
        at = start;
        assay_unfit(expected);
    }
    return static_cast<long long>(is_negative ? -size : size);
}

unsigned long long assay_read_unsigned(unsigned long long most)
{
    const char* start = at;
    const char* expected = "an integer in the range of the parameter, which has no sign";
    auto [is_negative, size] = read_integer(expected);
    if (size > most || (is_negative && size > 0)) {
        at = start;
        assay_unfit(expected);
    }
    return size;
}

double assay_read_double()
{
    const char* end = number_end("a number");
    double number = std::strtod(at, nullptr);
    at = end;
    return number;
}

// Reads a string into memory that is never freed. A zero byte follows it.
char* assay_read_text(size_t* length)
{
    skip_space();
    if (*at != '"')
        assay_unfit("a string");
    const char* end = at + 1;
    while (*end && *end != '"')
        end += *end == '\\' && end[1] ? 2 : 1;
    char* text = static_cast<char*>(std::malloc(end - at));
    if (!text)
        std::abort();
    char* to = text;
    at++;
    while (at < end) {
        if (*at == '\\') {
            at++;
            to = read_escape(to);
        } else {
            *to++ = *at++;
        }
    }
    *to = 0;
    at = *end ? end + 1 : end;
    *length = to - text;
    return text;
}

char assay_read_char()
{
    const char* start = at;
    size_t length;
    skip_space();
    if (*at == '"') {
        const char* text = assay_read_text(&length);
        if (length == 1)
            return *text;
        at = start;
    }
    assay_unfit("a string of one character in ASCII");
}

// Reads the opening bracket of an array or an object.
char assay_open(const char* brackets, const char* expected)
{
    skip_space();
    if (!*at || !std::strchr(brackets, *at))
        assay_unfit(expected);
    return *at++;
}

// Whether another element follows. Reads the comma or the colon before it, or the closing bracket.
bool assay_next()
{
    skip_space();
    if (*at == ']' || *at == '}') {
        at++;
        return false;
    }
    if (*at == ',' || *at == ':')
        at++;
    return *at != 0;
}

// Reads the key of an object, whose text is read next. Returns what follows it.
const char* assay_read_key()
{
    size_t length;
    const char* text = assay_read_text(&length);
    const char* rest = at;
    at = text;
    return rest;
}

void assay_end_key(const char* rest) { at = rest; }

void assay_write(const char* text) { append(text, std::strlen(text)); }

void assay_write_signed(long long value)
{
    char text[24];
    append(text, std::to_chars(text, text + sizeof text, value).ptr - text);
}

void assay_write_unsigned(unsigned long long value)
{
    char text[24];
    append(text, std::to_chars(text, text + sizeof text, value).ptr - text);
}

void assay_write_double(double value)
{
    if (!std::isfinite(value)) {
        assay_write("{\"$\":\"float\",\"v\":\"");
        assay_write(std::isnan(value) ? "nan" : value < 0 ? "-inf" : "inf");
        assay_write("\"}");
        return;
    }
    char text[40];
    char* end = std::to_chars(text, text + sizeof text - 2, value).ptr;
    // A number without a point is an integer.
    if (!std::memchr(text, '.', end - text) && !std::memchr(text, 'e', end - text)) {
        *end++ = '.';
        *end++ = '0';
    }
    append(text, end - text);
}

void assay_write_text(const char* text, size_t length)
{
    append("\"", 1);
    for (size_t start = 0, i = 0; i <= length; i++) {
        unsigned char character = i < length ? text[i] : 0;
        if (i < length && character >= 0x20 && character != '"' && character != '\\')
            continue;
        append(text + start, i - start);
        start = i + 1;
        if (i < length) {
            char escape[8];
            append(escape, std::snprintf(escape, sizeof escape, "\\u%04x", character));
        }
    }
    append("\"", 1);
}

// Passes the returned value to the host, and ends the program.
[[noreturn]] void assay_finish()
{
    assay_return(buffer, buffered);
    std::fflush(nullptr);
    _exit(0);
}

} // extern "C"

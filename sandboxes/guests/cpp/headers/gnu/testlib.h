// Checkers, validators and generators of contests: the common part of the interface of testlib.
//
// A checker is called as `checker INPUT OUTPUT ANSWER`. It ends with a verdict, whose number is the
// exit status, and one line on the standard error stream.
#ifndef ASSAY_TESTLIB_H
#define ASSAY_TESTLIB_H

#include <algorithm>
#include <cctype>
#include <climits>
#include <cmath>
#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <functional>
#include <iostream>
#include <iterator>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

enum TResult {
    _ok = 0,
    _wa = 1,
    _pe = 2,
    _fail = 3,
    _dirt = 4,
    _points = 5,
    _unexpected_eof = 8,
    _partially = 16
};
// A partial result, in units of 1/200.
#define _pc(score) TResult(_partially + (score))

enum TMode { _input, _output, _answer };
enum TTestlibMode { _unknown, _checker, _validator, _generator, _interactor };

const int OK_EXIT_CODE = 0, WA_EXIT_CODE = 1, PE_EXIT_CODE = 2, FAIL_EXIT_CODE = 3;
const int DIRT_EXIT_CODE = 4, POINTS_EXIT_CODE = 7, UNEXPECTED_EOF_EXIT_CODE = 8;
const int PC_BASE_EXIT_CODE = 50;
const int EOFC = 255;
const char LF = 10, CR = 13, SPACE = 32, TAB = 9;

#define ASSAY_FORMAT(position) __attribute__((format(printf, position, position + 1)))

namespace assay_testlib {

inline std::string formatted(const char* pattern, std::va_list values)
{
    std::va_list again;
    va_copy(again, values);
    int size = std::vsnprintf(nullptr, 0, pattern, again);
    va_end(again);
    std::string text(size > 0 ? size : 0, '\0');
    std::vsnprintf(&text[0], text.size() + 1, pattern, values);
    return text;
}

inline std::string& name()
{
    static std::string value;
    return value;
}

inline TTestlibMode& mode()
{
    static TTestlibMode value = _unknown;
    return value;
}

// Whether the checker prints a verdict instead of returning a status.
inline bool& prints_verdict()
{
    static bool value = false;
    return value;
}

// The strings of the JSON object on standard input, by key. Empty if there is no such object.
inline std::map<std::string, std::string> read_json()
{
    std::string json(std::istreambuf_iterator<char>(std::cin), {});
    std::size_t at = 0;
    auto skip = [&](char c) {
        while (at < json.size() && std::isspace((unsigned char)json[at]))
            at++;
        return at < json.size() && json[at] == c && ++at;
    };
    auto hexadecimal = [&] {
        unsigned long value = std::strtoul(json.substr(at, 4).c_str(), nullptr, 16);
        at += 4;
        return value;
    };
    auto append = [](std::string& text, unsigned long c) {
        if (c < 0x80) {
            text += char(c);
            return;
        }
        int more = c < 0x800 ? 1 : c < 0x10000 ? 2 : 3;
        text += char((0xff00 >> (more + 1)) | (c >> (6 * more)));
        while (more-- > 0)
            text += char(0x80 | ((c >> (6 * more)) & 0x3f));
    };
    auto string = [&] {
        std::string text;
        while (at < json.size() && json[at] != '"') {
            char c = json[at++];
            if (c != '\\' || at == json.size()) {
                text += c;
                continue;
            }
            switch (c = json[at++]) {
            case 'b': text += '\b'; break;
            case 'f': text += '\f'; break;
            case 'n': text += '\n'; break;
            case 'r': text += '\r'; break;
            case 't': text += '\t'; break;
            case 'u': {
                unsigned long code = hexadecimal();
                if (code >= 0xd800 && code < 0xdc00 && json.compare(at, 2, "\\u") == 0) {
                    at += 2;
                    code = 0x10000 + ((code - 0xd800) << 10) + (hexadecimal() - 0xdc00);
                }
                append(text, code);
                break;
            }
            default: text += c;
            }
        }
        at++;
        return text;
    };
    std::map<std::string, std::string> found;
    if (!skip('{'))
        return found;
    while (skip('"')) {
        std::string key = string();
        if (!skip(':') || !skip('"'))
            break;
        found[key] = string();
        skip(',');
    }
    return found;
}

inline bool is_blank(int c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

} // namespace assay_testlib

#define ASSAY_TESTLIB_TEXT(text, pattern)                                                          \
    std::va_list values;                                                                           \
    va_start(values, pattern);                                                                     \
    std::string text = assay_testlib::formatted(pattern, values);                                  \
    va_end(values)

ASSAY_FORMAT(1) inline std::string format(const char* pattern, ...)
{
    ASSAY_TESTLIB_TEXT(text, pattern);
    return text;
}
inline std::string format(const std::string& text) { return text; }

ASSAY_FORMAT(1) inline void setName(const char* pattern, ...)
{
    ASSAY_TESTLIB_TEXT(text, pattern);
    assay_testlib::name() = text;
}

template <class T>
std::string vtos(const T& value)
{
    std::ostringstream out;
    out << value;
    return out.str();
}
template <class T>
std::string toString(const T& value)
{
    return vtos(value);
}

[[noreturn]] inline void assay_quit(TResult result, const std::string& message)
{
    static const std::map<int, std::pair<const char*, int>> results = {
        {_ok, {"ok", OK_EXIT_CODE}},
        {_wa, {"wrong answer", WA_EXIT_CODE}},
        {_pe, {"wrong output format", PE_EXIT_CODE}},
        {_fail, {"FAIL", FAIL_EXIT_CODE}},
        {_dirt, {"wrong output format", DIRT_EXIT_CODE}},
        {_points, {"points", POINTS_EXIT_CODE}},
        {_unexpected_eof, {"unexpected eof", UNEXPECTED_EOF_EXIT_CODE}},
    };
    std::cout.flush();
    std::fflush(stdout);
    if (assay_testlib::prints_verdict() && result != _fail) {
        bool is_accepted = result == _ok || result >= _partially + 100;
        std::printf("%s %s\n", is_accepted ? "accepted" : "wrong_answer", message.c_str());
        std::fflush(stdout);
        std::exit(0);
    }
    auto found = results.find(result);
    if (found != results.end()) {
        std::fprintf(stderr, "%s %s\n", found->second.first, message.c_str());
        std::exit(found->second.second);
    }
    int score = result - _partially;
    std::fprintf(stderr, "partially correct (%d) %s\n", score, message.c_str());
    std::exit(PC_BASE_EXIT_CODE + score);
}

// A file that is read as tokens or strictly, character by character.
class InStream {
public:
    TMode mode = _input;
    bool strict = false;
    std::string name;

    void init(const std::string& path, TMode as)
    {
        std::ifstream file(path, std::ios::binary);
        mode = as;
        name = path;
        if (!file)
            assay_quit(as == _output ? _pe : _fail, "cannot open file " + path);
        text.assign(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
        at = 0;
    }
    void init(std::FILE* file, TMode as)
    {
        mode = as;
        char block[65536];
        while (std::size_t size = std::fread(block, 1, sizeof block, file))
            text.append(block, size);
        at = 0;
    }
    void init_text(std::string content, TMode as)
    {
        mode = as;
        text = std::move(content);
        at = 0;
    }
    void reset() { at = 0; }
    void close() {}

    // Reports a problem of this file. One in the input or the answer is a failure of the test.
    [[noreturn]] void quit(TResult result, const char* message)
    {
        if (result != _ok && result != _fail && result < _partially && result != _points) {
            if (mode != _output)
                result = _fail;
            else if (result == _unexpected_eof || result == _dirt)
                result = _pe;
        }
        assay_quit(result, message);
    }
    [[noreturn]] ASSAY_FORMAT(3) void quitf(TResult result, const char* pattern, ...)
    {
        ASSAY_TESTLIB_TEXT(message, pattern);
        quit(result, message.c_str());
    }
    ASSAY_FORMAT(4) void quitif(bool condition, TResult result, const char* pattern, ...)
    {
        ASSAY_TESTLIB_TEXT(message, pattern);
        if (condition)
            quit(result, message.c_str());
    }

    int curChar() const { return at < text.size() ? (unsigned char)text[at] : EOFC; }
    int nextChar() { return at < text.size() ? (unsigned char)text[at++] : EOFC; }
    char readChar()
    {
        if (at >= text.size())
            quit(_unexpected_eof, "Unexpected end of file - character expected");
        return text[at++];
    }
    char readChar(char expected)
    {
        char found = readChar();
        if (found != expected)
            quitf(_pe, "Unexpected character '%c', but '%c' expected", found, expected);
        return found;
    }
    char readSpace() { return readChar(' '); }
    void unreadChar(char c)
    {
        if (at > 0)
            text[--at] = c;
    }
    void skipChar() { at += at < text.size(); }
    void skipBlanks()
    {
        while (at < text.size() && assay_testlib::is_blank(text[at]))
            at++;
    }
    bool eof() const { return at >= text.size(); }
    bool eoln() const { return eof() || text[at] == '\n' || text[at] == '\r'; }
    bool seekEof()
    {
        skipBlanks();
        return eof();
    }
    bool seekEoln()
    {
        while (at < text.size() && (text[at] == ' ' || text[at] == '\t'))
            at++;
        return eoln();
    }
    void readEoln()
    {
        if (!eoln() || eof())
            quit(_pe, "Expected EOLN");
        at += text[at] == '\r';
        at += at < text.size() && text[at] == '\n';
    }
    void readEof()
    {
        if (!eof())
            quit(_pe, "Expected EOF");
    }
    void nextLine() { readLine(); }

    std::string readToken()
    {
        if (!strict)
            skipBlanks();
        std::size_t first = at;
        while (at < text.size() && !assay_testlib::is_blank(text[at]))
            at++;
        if (first == at)
            quit(eof() ? _unexpected_eof : _pe, "Unexpected end of file - token expected");
        return text.substr(first, at - first);
    }
    std::string readWord() { return readToken(); }
    void readTokenTo(std::string& target) { target = readToken(); }
    void readWordTo(std::string& target) { target = readToken(); }
    std::string readLine()
    {
        if (eof())
            quit(_unexpected_eof, "Expected line");
        std::size_t end = std::min(text.find('\n', at), text.size());
        std::string line = text.substr(at, end - at);
        at = std::min(end + 1, text.size());
        if (!line.empty() && line.back() == '\r')
            line.pop_back();
        return line;
    }
    std::string readString() { return readLine(); }
    void readLineTo(std::string& target) { target = readLine(); }
    void readStringTo(std::string& target) { target = readLine(); }

    long long readLong()
    {
        std::string token = readToken();
        std::size_t digits = token[0] == '-';
        bool valid = token.size() > digits && token.size() <= digits + 19 &&
                     !(token[digits] == '0' && token.size() > digits + (digits == 0));
        __int128 value = 0;
        for (std::size_t i = digits; i < token.size() && valid; i++) {
            valid = token[i] >= '0' && token[i] <= '9';
            value = value * 10 + (token[i] - '0');
        }
        value = digits ? -value : value;
        if (!valid || value > LLONG_MAX || value < LLONG_MIN)
            quitf(_pe, "Expected integer, but \"%s\" found", token.substr(0, 64).c_str());
        return (long long)value;
    }
    long long readLong(long long least, long long most, const std::string& what = "")
    {
        long long value = readLong();
        check(value >= least && value <= most, what, vtos(value), vtos(least), vtos(most));
        return value;
    }
    unsigned long long readUnsignedLong()
    {
        std::string token = readToken();
        char* end;
        errno = 0;
        unsigned long long value = std::strtoull(token.c_str(), &end, 10);
        if (token[0] < '0' || token[0] > '9' || *end || errno)
            quitf(_pe, "Expected unsigned integer, but \"%s\" found", token.substr(0, 64).c_str());
        return value;
    }
    unsigned long long readUnsignedLong(unsigned long long least, unsigned long long most,
                                        const std::string& what = "")
    {
        unsigned long long value = readUnsignedLong();
        check(value >= least && value <= most, what, vtos(value), vtos(least), vtos(most));
        return value;
    }
    int readInt()
    {
        long long value = readLong();
        if (value < INT_MIN || value > INT_MAX)
            quitf(_pe, "Expected int32, but \"%lld\" found", value);
        return (int)value;
    }
    int readInt(int least, int most, const std::string& what = "")
    {
        int value = readInt();
        check(value >= least && value <= most, what, vtos(value), vtos(least), vtos(most));
        return value;
    }
    int readInteger() { return readInt(); }
    int readInteger(int least, int most, const std::string& what = "")
    {
        return readInt(least, most, what);
    }
    double readDouble()
    {
        std::string token = readToken();
        bool valid = token.find_first_not_of("0123456789+-.eE") == std::string::npos &&
                     token.find_first_of("0123456789") != std::string::npos;
        char* end = nullptr;
        double value = valid ? std::strtod(token.c_str(), &end) : 0;
        if (!valid || *end || !std::isfinite(value))
            quitf(_pe, "Expected double, but \"%s\" found", token.substr(0, 64).c_str());
        return value;
    }
    double readDouble(double least, double most, const std::string& what = "")
    {
        double value = readDouble();
        check(value >= least && value <= most, what, vtos(value), vtos(least), vtos(most));
        return value;
    }
    double readReal() { return readDouble(); }
    double readReal(double least, double most, const std::string& what = "")
    {
        return readDouble(least, most, what);
    }
    double readStrictDouble(double least, double most, int, int, const std::string& what = "")
    {
        return readDouble(least, most, what);
    }

    std::vector<int> readInts(int count, int least = INT_MIN, int most = INT_MAX,
                              const std::string& what = "")
    {
        std::vector<int> list(count);
        readEach(list, [&] { return readInt(least, most, what); });
        return list;
    }
    std::vector<int> readIntegers(int count, int least = INT_MIN, int most = INT_MAX,
                                  const std::string& what = "")
    {
        return readInts(count, least, most, what);
    }
    std::vector<long long> readLongs(int count, long long least = LLONG_MIN,
                                     long long most = LLONG_MAX, const std::string& what = "")
    {
        std::vector<long long> list(count);
        readEach(list, [&] { return readLong(least, most, what); });
        return list;
    }
    std::vector<double> readDoubles(int count)
    {
        std::vector<double> list(count);
        readEach(list, [&] { return readDouble(); });
        return list;
    }
    std::vector<std::string> readTokens(int count)
    {
        std::vector<std::string> list(count);
        readEach(list, [&] { return readToken(); });
        return list;
    }
    std::vector<std::string> readWords(int count) { return readTokens(count); }

private:
    std::string text;
    std::size_t at = 0;

    template <class T, class Read>
    void readEach(std::vector<T>& list, Read read)
    {
        for (std::size_t i = 0; i < list.size(); i++) {
            if (strict && i > 0)
                readSpace();
            list[i] = read();
        }
    }
    void check(bool valid, const std::string& what, const std::string& value,
               const std::string& least, const std::string& most)
    {
        if (!valid)
            quitf(_wa, "%s%s%s is %s, which violates the range [%s, %s]",
                  what.empty() ? "Number" : "Parameter [", what.c_str(), what.empty() ? "" : "]",
                  value.c_str(), least.c_str(), most.c_str());
    }
};

inline InStream inf, ouf, ans;

// A verdict of a checker. `_ok` demands that the output ends where it was read to.
[[noreturn]] inline void quit(TResult result, const std::string& message)
{
    if (result == _ok && assay_testlib::mode() == _checker && !ouf.seekEof())
        assay_quit(_pe, "Extra information in the output file");
    assay_quit(result, message);
}
[[noreturn]] ASSAY_FORMAT(2) inline void quitf(TResult result, const char* pattern, ...)
{
    ASSAY_TESTLIB_TEXT(message, pattern);
    quit(result, message);
}
ASSAY_FORMAT(3) inline void quitif(bool condition, TResult result, const char* pattern, ...)
{
    ASSAY_TESTLIB_TEXT(message, pattern);
    if (condition)
        quit(result, message);
}
[[noreturn]] inline void quitp(double points, const std::string& message = "")
{
    assay_quit(_points, format("%.10g %s", points, message.c_str()));
}
[[noreturn]] ASSAY_FORMAT(2) inline void quitp(double points, const char* pattern, ...)
{
    ASSAY_TESTLIB_TEXT(message, pattern);
    quitp(points, message);
}
inline void ensure(bool condition)
{
    if (!condition)
        quit(_fail, "Condition failed");
}
ASSAY_FORMAT(2) inline void ensuref(bool condition, const char* pattern, ...)
{
    ASSAY_TESTLIB_TEXT(message, pattern);
    if (!condition)
        quit(_fail, message);
}

// A linear congruential generator of 48 bits, as that of Java.
class random_t {
    static constexpr unsigned long long FACTOR = 0x5DEECE66DULL, ADDEND = 0xB;
    static constexpr unsigned long long MASK = (1ULL << 48) - 1;
    unsigned long long seed = 3905348978240129619ULL & MASK;

    long long bits(int count)
    {
        if (count > 48) {
            long long high = bits(31), low = bits(32);
            return high << 32 ^ low;
        }
        seed = (seed * FACTOR + ADDEND) & MASK;
        return (long long)(seed >> (48 - count));
    }

public:
    void setSeed(long long value) { seed = ((unsigned long long)value ^ FACTOR) & MASK; }
    void setSeed(int count, char* arguments[])
    {
        seed = 3905348978240129619ULL;
        for (int i = 1; i < count; i++) {
            for (const char* c = arguments[i]; *c; c++)
                seed = seed * FACTOR + (unsigned)*c + ADDEND;
            seed += FACTOR / ADDEND;
        }
        seed &= MASK;
    }
    int next(int limit)
    {
        ensuref(limit > 0, "random_t::next(int): the limit must be positive");
        if ((limit & -limit) == limit)
            return int(((long long)limit * bits(31)) >> 31);
        const long long most = INT_MAX / limit * (long long)limit;
        long long value;
        do
            value = bits(31);
        while (value >= most);
        return int(value % limit);
    }
    long long next(long long limit)
    {
        ensuref(limit > 0, "random_t::next(long long): the limit must be positive");
        const long long most = LLONG_MAX / limit * limit;
        long long value;
        do
            value = bits(63);
        while (value >= most);
        return value % limit;
    }
    unsigned next(unsigned limit) { return (unsigned)next((long long)limit); }
    long next(long limit) { return (long)next((long long)limit); }
    double next()
    {
        long long high = bits(26), low = bits(27);
        return double((high << 27) + low) / double(1LL << 53);
    }
    double next(double limit) { return limit * next(); }
    double next(double from, double to) { return next(to - from) + from; }
    int next(int from, int to) { return int(next((long long)to - from + 1) + from); }
    long long next(long long from, long long to) { return next(to - from + 1) + from; }
    long next(long from, long to) { return (long)next((long long)from, (long long)to); }
    template <class T>
    int wnext(T limit, int kind)
    {
        T best = next(limit);
        for (int i = 0; i < std::abs(kind); i++)
            best = kind > 0 ? std::max(best, T(next(limit))) : std::min(best, T(next(limit)));
        return best;
    }
    template <class Container>
    typename Container::value_type any(const Container& items)
    {
        return *std::next(items.begin(), next((int)items.size()));
    }
    std::vector<int> perm(int count, int first = 0)
    {
        std::vector<int> list(count);
        for (int i = 0; i < count; i++)
            list[i] = i + first;
        for (int i = 1; i < count; i++)
            std::swap(list[i], list[next(i + 1)]);
        return list;
    }
};

inline random_t rnd;

template <class Iterator>
void shuffle(Iterator first, Iterator last)
{
    for (auto i = first; i != last; ++i)
        std::iter_swap(i, first + rnd.next(int(i - first) + 1));
}

inline void registerTestlibCmd(int count, char* arguments[])
{
    assay_testlib::mode() = _checker;
    rnd.setSeed(count, arguments);
    if (count < 4) {
        // A checker program of a task: the files are strings of a JSON object.
        auto files = assay_testlib::read_json();
        if (files.empty())
            assay_quit(_fail, "Program must be run with the following arguments: <input-file> "
                              "<output-file> <answer-file>");
        assay_testlib::prints_verdict() = true;
        inf.init_text(files["input"], _input);
        ouf.init_text(files["got"], _output);
        ans.init_text(files["expected"], _answer);
        return;
    }
    inf.init(arguments[1], _input);
    ouf.init(arguments[2], _output);
    ans.init(arguments[3], _answer);
}
inline void registerTestlib(int count, ...)
{
    std::va_list values;
    va_start(values, count);
    std::vector<char*> arguments(1, const_cast<char*>("checker"));
    for (int i = 0; i < count; i++)
        arguments.push_back(va_arg(values, char*));
    va_end(values);
    registerTestlibCmd(count + 1, arguments.data());
}
inline void registerInteraction(int count, char* arguments[])
{
    registerTestlibCmd(count, arguments);
    assay_testlib::mode() = _interactor;
}
inline void registerValidation()
{
    assay_testlib::mode() = _validator;
    inf.strict = true;
    inf.init(stdin, _input);
}
inline void registerValidation(int count, char* arguments[])
{
    rnd.setSeed(count, arguments);
    registerValidation();
}
inline void registerGen(int count, char* arguments[], int = 1)
{
    assay_testlib::mode() = _generator;
    rnd.setSeed(count, arguments);
}

// Whether a result differs from what is expected by at most `error`, absolutely or relatively.
inline bool doubleCompare(double expected, double result, double error)
{
    error += 1e-15;
    if (std::isnan(expected) || std::isinf(expected))
        return std::isnan(expected) ? std::isnan(result) : result == expected;
    if (std::isnan(result) || std::isinf(result))
        return false;
    double difference = std::fabs(result - expected);
    return difference <= error || difference <= error * std::fabs(expected);
}
inline double doubleDelta(double expected, double result)
{
    double absolute = std::fabs(result - expected);
    return std::fabs(expected) > 1e-9 ? std::min(absolute, absolute / std::fabs(expected))
                                      : absolute;
}

inline std::string englishEnding(long long number)
{
    number = std::llabs(number) % 100;
    if (number / 10 == 1)
        return "th";
    number %= 10;
    return number == 1 ? "st" : number == 2 ? "nd" : number == 3 ? "rd" : "th";
}
inline std::string compress(const std::string& text)
{
    return text.size() <= 64 ? text : text.substr(0, 30) + "..." + text.substr(text.size() - 31);
}
inline std::string trim(const std::string& text)
{
    std::size_t first = text.find_first_not_of(" \t\r\n");
    std::size_t last = text.find_last_not_of(" \t\r\n");
    return first == std::string::npos ? "" : text.substr(first, last - first + 1);
}
inline std::string upperCase(std::string text)
{
    for (char& c : text)
        c = c >= 'a' && c <= 'z' ? char(c - 32) : c;
    return text;
}
inline std::string lowerCase(std::string text)
{
    for (char& c : text)
        c = c >= 'A' && c <= 'Z' ? char(c + 32) : c;
    return text;
}
inline std::vector<std::string> tokenize(const std::string& text, char separator)
{
    std::vector<std::string> parts;
    std::istringstream in(text);
    for (std::string part; std::getline(in, part, separator);)
        if (!part.empty())
            parts.push_back(part);
    return parts;
}
inline long long stringToLongLong(InStream& in, const std::string& text)
{
    char* end;
    errno = 0;
    long long value = std::strtoll(text.c_str(), &end, 10);
    if (text.empty() || *end || errno)
        in.quitf(_pe, "Expected integer, but \"%s\" found", compress(text).c_str());
    return value;
}

#endif

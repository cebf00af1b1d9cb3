// Input and output of text, numbers and characters on streams of `char`, in the common case:
// decimal numbers and the classic locale. libc++ asks facets for each character. Here they are
// called only in the other cases. The headers declare these functions (`streams.py`).

#include <charconv>
#include <cstdlib>
#include <cstring>
#include <istream>
#include <limits>
#include <ostream>
#include <string>

_LIBCPP_BEGIN_NAMESPACE_STD

namespace {

using Buffer = streambuf;

// Access to the characters that are already in a buffer.
struct Access : Buffer {
    static char* next(Buffer* buffer) { return (buffer->*&Access::gptr)(); }
    static char* end(Buffer* buffer) { return (buffer->*&Access::egptr)(); }
    static void skip(Buffer* buffer, int count) { (buffer->*&Access::gbump)(count); }
};

bool is_space(int c) { return c == ' ' || (c >= '\t' && c <= '\r'); }
bool is_digit(int c) { return c >= '0' && c <= '9'; }

bool classic(const ios_base& stream) { return stream.__assay_has_classic_locale(); }

void fail(istream& in)
{
    in.__setstate_nothrow(ios_base::badbit);
    if (in.exceptions() & ios_base::badbit)
        throw;
}

// Appends characters up to one for which `ends` is true, at most `most`. Returns false at the end
// of the input.
template <class Ends>
bool append_until(Buffer* buffer, string& text, size_t most, Ends ends)
{
    while (most > 0) {
        if (buffer->sgetc() == EOF)
            return false;
        char* first = Access::next(buffer);
        size_t there = Access::end(buffer) - first;
        if (there == 0) {
            // A buffer without an area for reading.
            int c = buffer->sgetc();
            if (ends(first, c))
                return true;
            text.push_back(static_cast<char>(c));
            buffer->sbumpc();
            most--;
            continue;
        }
        size_t limit = min<size_t>(min(there, most), 1 << 30);
        size_t count = ends.count(first, limit);
        text.append(first, count);
        Access::skip(buffer, static_cast<int>(count));
        most -= count;
        if (count < limit)
            return true;
    }
    return true;
}

struct AtSpace {
    bool operator()(const char*, int c) const { return is_space(c); }
    size_t count(const char* first, size_t limit) const
    {
        size_t at = 0;
        while (at < limit && !is_space(static_cast<unsigned char>(first[at])))
            at++;
        return at;
    }
};

struct AtCharacter {
    char wanted;
    bool operator()(const char*, int c) const { return static_cast<char>(c) == wanted; }
    size_t count(const char* first, size_t limit) const
    {
        const void* found = memchr(first, wanted, limit);
        return found ? static_cast<const char*>(found) - first : limit;
    }
};

void write(ostream& out, const char* text, size_t size)
{
    try {
        ostream::sentry ready(out);
        if (!ready)
            return;
        Buffer* buffer = out.rdbuf();
        size_t width = out.width() > 0 ? out.width() : 0;
        size_t missing = width > size ? width - size : 0;
        bool left = (out.flags() & ios_base::adjustfield) == ios_base::left;
        bool done = true;
        char fill = missing ? out.fill() : ' ';
        for (size_t i = 0; i < missing && !left; i++)
            done = done && buffer->sputc(fill) != EOF;
        done = done && buffer->sputn(text, size) == static_cast<streamsize>(size);
        for (size_t i = 0; i < missing && left; i++)
            done = done && buffer->sputc(fill) != EOF;
        out.width(0);
        if (!done)
            out.setstate(ios_base::badbit | ios_base::failbit);
    } catch (...) {
        out.__set_badbit_and_consider_rethrow();
    }
}

} // namespace

// A locale is one pointer.
bool ios_base::__assay_has_classic_locale() const
{
    static const locale& known = locale::classic();
    return memcmp(&__loc_, &known, sizeof known) == 0;
}

bool __assay_skip_spaces(istream& in, bool& ended)
{
    if (!classic(in))
        return false;
    Buffer* buffer = in.rdbuf();
    int c = buffer->sgetc();
    while (is_space(c))
        c = buffer->snextc();
    ended = c == EOF;
    return true;
}

bool __assay_reads_decimal(istream& in)
{
    return (in.flags() & ios_base::basefield) == ios_base::dec && classic(in);
}

template <class T>
void __assay_read_integer(istream& in, T& value)
{
    using Wide = unsigned long long;
    istream::sentry ready(in);
    if (!ready)
        return;
    ios_base::iostate state = ios_base::goodbit;
    try {
        Buffer* buffer = in.rdbuf();
        int c = buffer->sgetc();
        bool negative = c == '-', digits = false, overflow = false;
        if (c == '-' || c == '+')
            c = buffer->snextc();
        Wide size = 0;
        for (; is_digit(c); c = buffer->snextc()) {
            digits = true;
            overflow |= __builtin_mul_overflow(size, 10, &size);
            overflow |= __builtin_add_overflow(size, static_cast<Wide>(c - '0'), &size);
        }
        if (c == EOF)
            state |= ios_base::eofbit;
        constexpr T least = numeric_limits<T>::min(), most = numeric_limits<T>::max();
        Wide limit = static_cast<Wide>(most) + (is_signed<T>::value && negative);
        if (!digits) {
            value = 0;
            state |= ios_base::failbit;
        } else if (overflow || size > limit) {
            value = is_signed<T>::value && negative ? least : most;
            state |= ios_base::failbit;
        } else {
            value = static_cast<T>(negative ? 0 - size : size);
        }
    } catch (...) {
        fail(in);
    }
    in.setstate(state);
}

template void __assay_read_integer(istream&, short&);
template void __assay_read_integer(istream&, unsigned short&);
template void __assay_read_integer(istream&, int&);
template void __assay_read_integer(istream&, unsigned&);
template void __assay_read_integer(istream&, long&);
template void __assay_read_integer(istream&, unsigned long&);
template void __assay_read_integer(istream&, long long&);
template void __assay_read_integer(istream&, unsigned long long&);

namespace {

double parse(const char* text, double) { return strtod(text, nullptr); }
float parse(const char* text, float) { return strtof(text, nullptr); }
long double parse(const char* text, long double) { return strtold(text, nullptr); }

} // namespace

template <class T>
void __assay_read_real(istream& in, T& value)
{
    istream::sentry ready(in);
    if (!ready)
        return;
    ios_base::iostate state = ios_base::goodbit;
    try {
        Buffer* buffer = in.rdbuf();
        string text;
        int c = buffer->sgetc();
        auto take = [&] {
            text.push_back(static_cast<char>(c));
            c = buffer->snextc();
        };
        bool digits = false;
        auto take_digits = [&] {
            for (; is_digit(c); digits = true)
                take();
        };
        if (c == '-' || c == '+')
            take();
        take_digits();
        if (c == '.') {
            take();
            take_digits();
        }
        if (digits && (c == 'e' || c == 'E')) {
            take();
            if (c == '-' || c == '+')
                take();
            digits = false;
            take_digits();
        }
        if (c == EOF)
            state |= ios_base::eofbit;
        value = digits ? parse(text.c_str(), value) : T(0);
        constexpr T most = numeric_limits<T>::max();
        if (!digits) {
            state |= ios_base::failbit;
        } else if (value > most || value < -most) {
            value = value > 0 ? most : -most;
            state |= ios_base::failbit;
        }
    } catch (...) {
        fail(in);
    }
    in.setstate(state);
}

template void __assay_read_real(istream&, float&);
template void __assay_read_real(istream&, double&);
template void __assay_read_real(istream&, long double&);

istream& operator>>(istream& in, string& text)
{
    istream::sentry ready(in);
    if (!ready)
        return in;
    ios_base::iostate state = ios_base::goodbit;
    try {
        text.clear();
        size_t most = in.width() > 0 ? in.width() : text.max_size();
        if (!append_until(in.rdbuf(), text, most, AtSpace()))
            state |= ios_base::eofbit;
        in.width(0);
        if (text.empty())
            state |= ios_base::failbit;
    } catch (...) {
        fail(in);
    }
    in.setstate(state);
    return in;
}

istream& getline(istream& in, string& text, char end)
{
    istream::sentry ready(in, true);
    if (!ready)
        return in;
    ios_base::iostate state = ios_base::goodbit;
    try {
        text.clear();
        if (append_until(in.rdbuf(), text, text.max_size(), AtCharacter{end}))
            in.rdbuf()->sbumpc();
        else
            state |= text.empty() ? ios_base::eofbit | ios_base::failbit : ios_base::eofbit;
    } catch (...) {
        fail(in);
    }
    in.setstate(state);
    return in;
}

istream& getline(istream& in, string& text) { return getline(in, text, '\n'); }

istream& operator>>(istream& in, char& value)
{
    istream::sentry ready(in);
    if (!ready)
        return in;
    int c = EOF;
    try {
        c = in.rdbuf()->sbumpc();
    } catch (...) {
        fail(in);
    }
    if (c == EOF)
        in.setstate(ios_base::eofbit | ios_base::failbit);
    else
        value = static_cast<char>(c);
    return in;
}

bool __assay_write_integer(ostream& out, unsigned long long size, bool negative)
{
    ios_base::fmtflags flags = out.flags();
    ios_base::fmtflags base = flags & ios_base::basefield;
    bool padded = out.width() > 0 && (flags & ios_base::adjustfield) == ios_base::internal;
    bool decimal = base == ios_base::dec || base == 0;
    if (!decimal || flags & ios_base::showpos || padded || !classic(out))
        return false;
    char text[24];
    text[0] = '-';
    char* end = to_chars(text + negative, text + sizeof text, size).ptr;
    write(out, text, end - text);
    return true;
}

ostream& operator<<(ostream& out, char c)
{
    write(out, &c, 1);
    return out;
}

ostream& operator<<(ostream& out, const char* text)
{
    if (text)
        write(out, text, strlen(text));
    else
        out.setstate(ios_base::badbit);
    return out;
}

ostream& operator<<(ostream& out, const string& text)
{
    write(out, text.data(), text.size());
    return out;
}

ostream& endl(ostream& out)
{
    out.put('\n');
    out.flush();
    return out;
}

_LIBCPP_END_NAMESPACE_STD

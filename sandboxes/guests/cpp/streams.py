"""Checked changes of libc++ for `c/streams.cpp` and `c/standard_streams.h`, which make input and
output of the standard streams fast, and programs that use them small.
"""

from downloads import Substitution

ISTREAM = "libcxx/include/istream"
OSTREAM = "libcxx/include/__ostream/basic_ostream.h"
IOSTREAM = "libcxx/src/iostream.cpp"

NARROW = (
    "__input_arithmetic_with_numeric_limits"
    "(basic_istream<_CharT, _Traits>& __is, _Tp& __n) {\n"
)

SUBSTITUTIONS = (
    Substitution(
        "libcxx/include/ios",
        "tells without copying the locale whether it is the classic one",
        "  [[__nodiscard__]] locale getloc() const;\n",
        "  [[__nodiscard__]] locale getloc() const;\n"
        "  bool __assay_has_classic_locale() const;\n",
    ),
    Substitution(
        IOSTREAM,
        "buffers of the standard streams",
        '#include "std_stream.h"\n',
        '#include "std_stream.h"\n#include "standard_streams.h"\n',
    ),
    Substitution(IOSTREAM, "the same", "__stdinbuf, char, cin", "__assay_input, char, cin"),
    Substitution(IOSTREAM, "the same", "__stdoutbuf, char, c", "__assay_output, char, c", 3),
    Substitution(
        "libcxx/src/ostream.cpp",
        "the same",
        '#include "std_stream.h"\n',
        '#include "std_stream.h"\n#include "standard_streams.h"\n',
    ),
    Substitution(
        "libcxx/src/ostream.cpp", "the same", "<__stdoutbuf<char>*>", "<__assay_output<char>*>"
    ),
    Substitution(
        ISTREAM,
        "skips spaces without facets",
        "    if (!__noskipws && (__is.flags() & ios_base::skipws)) {\n",
        "    bool __ended = false, __skipped = false;\n"
        "    if constexpr (is_same<_CharT, char>::value)\n"
        "      __skipped = !__noskipws && (__is.flags() & ios_base::skipws) &&\n"
        "                  std::__assay_skip_spaces(__is, __ended);\n"
        "    if (__ended)\n"
        "      __is.setstate(ios_base::failbit | ios_base::eofbit);\n"
        "    if (!__skipped && !__noskipws && (__is.flags() & ios_base::skipws)) {\n",
    ),
    Substitution(
        ISTREAM,
        "reads numbers without facets",
        "__input_arithmetic(basic_istream<_CharT, _Traits>& __is, _Tp& __n) {\n",
        "__input_arithmetic(basic_istream<_CharT, _Traits>& __is, _Tp& __n) {\n"
        "  if constexpr (is_same<_CharT, char>::value && is_arithmetic<_Tp>::value &&\n"
        "                !is_same<_Tp, bool>::value)\n"
        "    if (std::__assay_reads_decimal(__is)) {\n"
        "      if constexpr (is_integral<_Tp>::value)\n"
        "        std::__assay_read_integer(__is, __n);\n"
        "      else\n"
        "        std::__assay_read_real(__is, __n);\n"
        "      return __is;\n"
        "    }\n",
    ),
    Substitution(
        ISTREAM,
        "the same",
        NARROW,
        NARROW +
        "  if constexpr (is_same<_CharT, char>::value)\n"
        "    if (std::__assay_reads_decimal(__is)) {\n"
        "      std::__assay_read_integer(__is, __n);\n"
        "      return __is;\n"
        "    }\n",
    ),
    Substitution(
        ISTREAM,
        "declares the functions",
        "template <class _CharT, class _Traits>\n"
        "basic_istream<_CharT, _Traits>::sentry::sentry(",
        "bool __assay_skip_spaces(istream&, bool&);\n"
        "bool __assay_reads_decimal(istream&);\n"
        "template <class _Tp>\n"
        "void __assay_read_integer(istream&, _Tp&);\n"
        "template <class _Tp>\n"
        "void __assay_read_real(istream&, _Tp&);\n"
        "istream& operator>>(istream&, char&);\n"
        "istream& operator>>(istream&, basic_string<char>&);\n"
        "istream& getline(istream&, basic_string<char>&);\n"
        "istream& getline(istream&, basic_string<char>&, char);\n"
        "\n"
        "template <class _CharT, class _Traits>\n"
        "basic_istream<_CharT, _Traits>::sentry::sentry(",
    ),
    Substitution(
        OSTREAM,
        "writes integers without facets",
        "  _LIBCPP_HIDE_FROM_ABI basic_ostream& __put_num(_Tp __value) {\n",
        "  _LIBCPP_HIDE_FROM_ABI basic_ostream& __put_num(_Tp __value) {\n"
        "    if constexpr (is_same<_CharT, char>::value && is_integral<_Tp>::value &&\n"
        "                  !is_same<_Tp, bool>::value)\n"
        "      if (std::__assay_write_integer(*this,\n"
        "              __value < 0 ? 0 - static_cast<unsigned long long>(__value)\n"
        "                          : static_cast<unsigned long long>(__value), __value < 0))\n"
        "        return *this;\n",
    ),
    Substitution(
        OSTREAM,
        "the same",
        "  _LIBCPP_HIDE_FROM_ABI basic_ostream& __put_num_integer_promote(_Tp __value) {\n",
        "  _LIBCPP_HIDE_FROM_ABI basic_ostream& __put_num_integer_promote(_Tp __value) {\n"
        "    if constexpr (is_same<_CharT, char>::value)\n"
        "      if (std::__assay_write_integer(*this,\n"
        "              __value < 0 ? 0 - static_cast<unsigned long long>(__value)\n"
        "                          : static_cast<unsigned long long>(__value), __value < 0))\n"
        "        return *this;\n",
    ),
    Substitution(
        OSTREAM,
        "declares the function",
        "template <class _CharT, class _Traits>\nclass basic_ostream ",
        "bool __assay_write_integer(ostream&, unsigned long long, bool);\n"
        "\n"
        "template <class _CharT, class _Traits>\nclass basic_ostream ",
    ),
    Substitution(
        OSTREAM,
        "functions that the library contains",
        "template <class _CharT, class _Traits>\n"
        "_LIBCPP_HIDE_FROM_ABI inline basic_ostream<_CharT, _Traits>& "
        "endl(basic_ostream<_CharT, _Traits>& __os) {\n",
        "ostream& operator<<(ostream&, char);\n"
        "ostream& operator<<(ostream&, const char*);\n"
        "ostream& operator<<(ostream&, const basic_string<char>&);\n"
        "ostream& endl(ostream&);\n"
        "\n"
        "template <class _CharT, class _Traits>\n"
        "_LIBCPP_HIDE_FROM_ABI inline basic_ostream<_CharT, _Traits>& "
        "endl(basic_ostream<_CharT, _Traits>& __os) {\n",
    ),
    Substitution(
        "libc/src/stdio/stdout.c", "fewer calls of the host", "[BUFSIZ+UNGET]", "[65536+UNGET]"
    ),
    Substitution("include/stdio.h", "as in glibc", "#define BUFSIZ 1024", "#define BUFSIZ 8192"),
)

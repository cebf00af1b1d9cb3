"""Which headers of GCC 12's C++ library declare the names of each C header, in C++17 or C++20, as
`g++ -M` lists them. Those of libc++ declare more, so a program may use names that clash only here.
"""

ALL = "bits/stdc++.h"
THREADS = "barrier condition_variable execution future memory stop_token thread"
ATOMICS = "atomic latch semaphore"
STREAMS = (
    "ccomplex chrono complex ctgmath filesystem fstream iomanip ios iostream istream locale ostream"
    " regex sstream strstream syncstream"
)
BUFFERS = "codecvt iterator memory_resource mutex ranges shared_mutex streambuf"
STRINGS = "bitset random stdexcept string system_error"

PROCESSES = f"{THREADS} {ATOMICS} {STREAMS} {BUFFERS}"
TEXTS = f"{PROCESSES} {STRINGS}"

HEADERS = {
    "assert.h": "cassert",
    "ctype.h": f"{TEXTS} cctype",
    "errno.h": f"{TEXTS} cerrno charconv",
    "fenv.h": "cfenv",
    "inttypes.h": "cinttypes",
    "locale.h": f"{TEXTS} clocale",
    "math.h": "ccomplex cmath complex ctgmath random valarray",
    "pthread.h": PROCESSES,
    "sched.h": PROCESSES,
    "setjmp.h": "csetjmp",
    "signal.h": "csignal",
    "stdio.h": f"{TEXTS} cstdio",
    "stdlib.h": f"{TEXTS} algorithm cmath cstdlib functional valarray",
    "string.h": "cstring",
    "strings.h": "cstring string.h",
    "time.h": f"{PROCESSES} ctime pthread.h sched.h",
    "unistd.h": f"{THREADS} {ATOMICS} csignal",
    "wchar.h": f"{TEXTS} cuchar cwchar iosfwd string_view",
    "wctype.h": f"{THREADS} {STREAMS} cwctype",
}

# Headers of this C library that others include.
PARTS = {"__functions_malloc.h": "stdlib.h", "__functions_memcpy.h": "string.h"}
PARTS |= {f"__header_{name}.h": f"{name}.h" for name in ("inttypes", "stdlib", "string", "time", "unistd")}

# All headers of the standard library. What others declare is not known.
STANDARD = sorted(
    f"{TEXTS} algorithm any array assert.h bit cassert cctype cerrno cfenv cfloat charconv cinttypes"
    " ciso646 climits clocale cmath compare concepts coroutine csetjmp csignal cstdalign cstdarg"
    " cstdbool cstddef cstdint cstdio cstdlib cstring ctime cuchar cwchar cwctype deque exception"
    " float.h forward_list functional initializer_list iosfwd limits limits.h list map new numbers"
    " numeric optional queue ratio scoped_allocator set source_location span stack stdarg.h"
    " stdbool.h stddef.h stdint.h string_view tuple type_traits typeindex typeinfo unordered_map"
    " unordered_set utility valarray variant vector version".split()
)


def table():
    """The names of the headers that declare those of a C header, which is one of them."""
    declaring = {name: sorted({name, ALL, *words.split()}) for name, words in HEADERS.items()}
    return declaring | {part: declaring[whole] for part, whole in PARTS.items()}

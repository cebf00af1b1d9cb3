"""The files that are compiled into the image.

There is no `configure` and no makefile. `c/pyconfig.h` declares the features of WASI, and the
tables here list the files of CPython 3.13 and of the libraries that it uses. This file owns these
tables, the compiler flags and the two link steps: the host tool that freezes modules, and the
image.
"""

import os
from typing import NamedTuple, Tuple

import libm
import sources
from toolchain import GUEST, Failed, Unit, hash_of

# For WASI, clang assumes by default that mathematical functions do not set `errno`, which
# `complex.__pow__` and `cmath.phase` read.
OPTIMISE = (
    "-O2",
    "-g0",
    "-w",
    "-std=gnu11",
    "-fno-strict-aliasing",
    "-fwrapv",
    "-fvisibility=hidden",
    "-fmath-errno",
)
PYTHON_H = ("-Icpython/Include", "-Icpython/Include/internal", "-Icpython")
CORE = OPTIMISE + PYTHON_H + ("-DPy_BUILD_CORE",)
MODULE = OPTIMISE + PYTHON_H + ("-DPy_BUILD_CORE_BUILTIN",)

STACK_BYTES = 32 << 20
INITIAL_MEMORY_BYTES = 72 << 20

PARSER = """
    token pegen pegen_errors action_helpers parser string_parser peg_api myreadline lexer/buffer
    lexer/lexer lexer/state tokenizer/file_tokenizer tokenizer/readline_tokenizer
    tokenizer/string_tokenizer tokenizer/utf8_tokenizer tokenizer/helpers
"""

OBJECTS = """
    abstract boolobject bytes_methods bytearrayobject bytesobject call capsule cellobject
    classobject codeobject complexobject descrobject enumobject exceptions genericaliasobject
    genobject fileobject floatobject frameobject funcobject iterobject listobject longobject
    dictobject odictobject memoryobject methodobject moduleobject namespaceobject object obmalloc
    picklebufobject rangeobject setobject sliceobject structseq tupleobject typeobject typevarobject
    unicodeobject unicodectype unionobject weakrefobject
"""

PYTHON = """
    _warnings Python-ast Python-tokenize asdl assemble ast ast_opt ast_unparse bltinmodule brc ceval
    codecs compile context critical_section crossinterp dynamic_annotations errors flowgraph frame
    frozenmain future gc gc_free_threading gc_gil getargs getcompiler getcopyright getplatform
    getversion ceval_gil hamt hashtable import importdl initconfig interpconfig instrumentation
    instruction_sequence intrinsics jit legacy_tracing lock marshal modsupport mysnprintf mystrtoul
    object_stack optimizer optimizer_analysis optimizer_symbols parking_lot pathconfig preconfig
    pyarena pyctype pyfpe pyhash pylifecycle pymath pystate pythonrun pytime qsbr bootstrap_hash
    specialize structmember symtable sysmodule thread traceback tracemalloc getopt pystrcmp pystrtod
    pystrhex dtoa formatter_unicode fileutils suggestions perf_trampoline perf_jit_trampoline
    dynload_stub
"""

# Files of this folder in the image. `freeze.c` is only part of the host tool.
OWN = ("bisect.c", "clock.c", "guest.c", "immortal.c", "lookup.c", "malloc.c", "paths.c", "wide.c")

# Modules whose C file is in this folder.
OWN_MODULES = ("_bisect",)

# The core calls these modules, so the host tool needs them as well.
CORE_MODULES = {
    "atexit": ["atexitmodule.c"],
    "faulthandler": ["faulthandler.c"],
    "posix": ["posixmodule.c"],
    "_signal": ["signalmodule.c"],
    "_tracemalloc": ["_tracemalloc.c"],
    "_thread": ["_threadmodule.c"],
    "_typing": ["_typingmodule.c"],
    "_weakref": ["_weakref.c"],
    "_io": [
        f"_io/{name}.c"
        for name in "_iomodule iobase fileio bytesio bufferedio textio stringio".split()
    ],
}

MODULES = {
    "_abc": ["_abc.c"],
    "_asyncio": ["_asynciomodule.c"],
    "_blake2": ["_blake2/blake2module.c", "_blake2/blake2b_impl.c", "_blake2/blake2s_impl.c"],
    "_bz2": ["_bz2module.c"],
    "_codecs": ["_codecsmodule.c"],
    "_codecs_cn": ["cjkcodecs/_codecs_cn.c"],
    "_codecs_hk": ["cjkcodecs/_codecs_hk.c"],
    "_codecs_iso2022": ["cjkcodecs/_codecs_iso2022.c"],
    "_codecs_jp": ["cjkcodecs/_codecs_jp.c"],
    "_codecs_kr": ["cjkcodecs/_codecs_kr.c"],
    "_codecs_tw": ["cjkcodecs/_codecs_tw.c"],
    "_collections": ["_collectionsmodule.c"],
    "_contextvars": ["_contextvarsmodule.c"],
    "_csv": ["_csv.c"],
    "_datetime": ["_datetimemodule.c"],
    "_decimal": ["_decimal/_decimal.c"],
    "_elementtree": ["_elementtree.c"],
    "_functools": ["_functoolsmodule.c"],
    "_heapq": ["_heapqmodule.c"],
    "_json": ["_json.c"],
    "_locale": ["_localemodule.c"],
    "_lsprof": ["_lsprof.c", "rotatingtree.c"],
    "_lzma": ["_lzmamodule.c"],
    "_md5": ["md5module.c", "_hacl/Hacl_Hash_MD5.c"],
    "_multibytecodec": ["cjkcodecs/multibytecodec.c"],
    "_opcode": ["_opcode.c"],
    "_operator": ["_operator.c"],
    "_pickle": ["_pickle.c"],
    "_queue": ["_queuemodule.c"],
    "_random": ["_randommodule.c"],
    "_sha1": ["sha1module.c", "_hacl/Hacl_Hash_SHA1.c"],
    "_sha2": ["sha2module.c", "_hacl/Hacl_Hash_SHA2.c"],
    "_sha3": ["sha3module.c", "_hacl/Hacl_Hash_SHA3.c"],
    "_socket": ["socketmodule.c"],
    "_sre": ["_sre/sre.c"],
    "_stat": ["_stat.c"],
    "_statistics": ["_statisticsmodule.c"],
    "_struct": ["_struct.c"],
    "_suggestions": ["_suggestions.c"],
    "_symtable": ["symtablemodule.c"],
    "_sysconfig": ["_sysconfig.c"],
    "_zoneinfo": ["_zoneinfo.c"],
    "array": ["arraymodule.c"],
    "binascii": ["binascii.c"],
    "cmath": ["cmathmodule.c"],
    "errno": ["errnomodule.c"],
    "itertools": ["itertoolsmodule.c"],
    "math": ["mathmodule.c"],
    "pyexpat": ["pyexpat.c"],
    "select": ["selectmodule.c"],
    "time": ["timemodule.c"],
    "unicodedata": ["unicodedata.c"],
    "zlib": ["zlibmodule.c"],
}

# Flags for the files of a module, in addition to MODULE.
MODULE_FLAGS = {
    "_bz2": ("-Ibzip2",),
    "_decimal": ("-Icpython/Modules/_decimal/libmpdec", "-DCONFIG_32=1", "-DANSI=1"),
    "_elementtree": ("-Icpython/Modules/expat", "-DUSE_PYEXPAT_CAPI"),
    "_lzma": ("-Ixz/src/liblzma/api",),
    "_md5": ("-Icpython/Modules/_hacl/include", "-D_BSD_SOURCE", "-D_DEFAULT_SOURCE"),
    "_sha1": ("-Icpython/Modules/_hacl/include", "-D_BSD_SOURCE", "-D_DEFAULT_SOURCE"),
    "_sha2": ("-Icpython/Modules/_hacl/include", "-D_BSD_SOURCE", "-D_DEFAULT_SOURCE"),
    "_sha3": ("-Icpython/Modules/_hacl/include", "-D_BSD_SOURCE", "-D_DEFAULT_SOURCE"),
    "pyexpat": ("-Icpython/Modules/expat",),
    "time": ("-Wno-int-conversion",),  # a clock is a pointer in WASI
    "zlib": ("-Izlib",),
}

# Modules of the core: their init functions are not named PyInit_<name>, or their file is already in
# CORE.
EMBEDDED = {
    "marshal": "PyMarshal_Init",
    "_imp": "PyInit__imp",
    "_ast": "PyInit__ast",
    "_tokenize": "PyInit__tokenize",
    "builtins": None,
    "sys": None,
    "gc": "PyInit_gc",
    "_warnings": "_PyWarnings_Init",
    "_string": "PyInit__string",
}

FILE_FLAGS = {
    "cpython/Modules/getbuildinfo.c": ('-DDATE="Jan  1 1970"', '-DTIME="00:00:00"'),
    "cpython/Python/getplatform.c": ('-DPLATFORM="wasi"',),
    "cpython/Python/initconfig.c": ('-DPLATLIBDIR="lib"',),
    "cpython/Python/sysmodule.c": ('-DABIFLAGS=""',),
}

MPDECIMAL = """
    basearith constants context convolute crt difradix2 fnt fourstep io mpalloc mpdecimal
    numbertheory sixstep transpose
"""
EXPAT = "xmlparse xmlrole xmltok"
ZLIB = "adler32 compress crc32 deflate infback inffast inflate inftrees trees uncompr zutil"
BZIP2 = "blocksort huffman crctable randtable compress decompress bzlib"
XZ = """
    common/tuklib_physmem common/tuklib_cpucores
    liblzma/check/check liblzma/check/crc32_fast liblzma/check/crc64_fast liblzma/check/sha256
    liblzma/common/common liblzma/common/block_util liblzma/common/easy_preset
    liblzma/common/filter_common liblzma/common/hardware_physmem liblzma/common/index
    liblzma/common/stream_flags_common liblzma/common/string_conversion liblzma/common/vli_size
    liblzma/common/alone_encoder liblzma/common/block_buffer_encoder liblzma/common/block_encoder
    liblzma/common/block_header_encoder liblzma/common/easy_buffer_encoder
    liblzma/common/easy_encoder liblzma/common/easy_encoder_memusage
    liblzma/common/filter_buffer_encoder liblzma/common/filter_encoder
    liblzma/common/filter_flags_encoder liblzma/common/index_encoder
    liblzma/common/stream_buffer_encoder liblzma/common/stream_encoder
    liblzma/common/stream_flags_encoder liblzma/common/vli_encoder liblzma/common/alone_decoder
    liblzma/common/auto_decoder liblzma/common/block_buffer_decoder liblzma/common/block_decoder
    liblzma/common/block_header_decoder liblzma/common/easy_decoder_memusage
    liblzma/common/file_info liblzma/common/filter_buffer_decoder liblzma/common/filter_decoder
    liblzma/common/filter_flags_decoder liblzma/common/index_decoder liblzma/common/index_hash
    liblzma/common/stream_buffer_decoder liblzma/common/stream_decoder
    liblzma/common/stream_flags_decoder liblzma/common/vli_decoder liblzma/lz/lz_encoder
    liblzma/lz/lz_encoder_mf liblzma/lz/lz_decoder liblzma/lzma/lzma_encoder_presets
    liblzma/lzma/lzma_encoder liblzma/lzma/lzma_encoder_optimum_fast
    liblzma/lzma/lzma_encoder_optimum_normal liblzma/lzma/fastpos_table liblzma/lzma/lzma_decoder
    liblzma/lzma/lzma2_encoder liblzma/lzma/lzma2_decoder liblzma/rangecoder/price_table
    liblzma/delta/delta_common liblzma/delta/delta_encoder liblzma/delta/delta_decoder
    liblzma/simple/simple_coder liblzma/simple/simple_encoder liblzma/simple/simple_decoder
    liblzma/simple/x86 liblzma/simple/powerpc liblzma/simple/ia64 liblzma/simple/arm
    liblzma/simple/armthumb liblzma/simple/arm64 liblzma/simple/sparc liblzma/simple/riscv
"""
XZ_FOLDERS = """
    common liblzma/api liblzma/common liblzma/check liblzma/lz liblzma/rangecoder liblzma/lzma
    liblzma/delta liblzma/simple
"""


def units(folder, names, flags=()):
    """Units for the names in a table: `folder/<name>.c`."""
    found = []
    for name in names.split():
        source = f"{folder}/{name}.c"
        found.append(Unit(source, tuple(flags) + FILE_FLAGS.get(source, ())))
    return found


def core_units():
    """The interpreter without its path computation and frozen modules, which this folder
    replaces.
    """
    found = (
        units("cpython/Parser", PARSER)
        + units("cpython/Objects", OBJECTS)
        + units("cpython/Python", PYTHON)
    )
    return found + units("cpython/Modules", "getbuildinfo gcmodule main")


def module_units(table):
    found = []
    for name in sorted(table):
        for source in table[name]:
            found.append(Unit(f"cpython/Modules/{source}", MODULE_FLAGS.get(name, ())))
    return found


def library_units():
    mpdecimal = "cpython/Modules/_decimal/libmpdec"
    xz_flags = ("-DHAVE_CONFIG_H",) + tuple(f"-Ixz/src/{folder}" for folder in XZ_FOLDERS.split())
    return (
        units(mpdecimal, MPDECIMAL, MODULE_FLAGS["_decimal"])
        + units("cpython/Modules/expat", EXPAT, MODULE_FLAGS["pyexpat"] + PYTHON_H)
        + units("zlib", ZLIB, ("-DHAVE_UNISTD_H",))
        + units("bzip2", BZIP2)
        + units("xz/src", XZ, xz_flags)
    )


def build_freezer(steps, scratch):
    """Builds the host tool: the core of the interpreter with `c/freeze.c` as its program."""
    sources.say("compiling the freezing tool")
    target = f"{sources.host()}-linux-musl"
    quick = tuple("-O1" if flag == "-O2" else flag for flag in CORE)
    objects = steps.compile_all(core_units(), target, quick)
    objects += steps.compile_all(module_units(CORE_MODULES), target, quick)
    objects += steps.compile_all(
        [Unit(name, own=True) for name in ("freeze.c", "paths.c", "wide.c")], target, quick
    )
    tool = scratch / "freeze"
    command = [str(steps.zig), "cc", "-target", target, "-s", "-o", str(tool)] + [
        str(item) for item in objects
    ]
    steps.run(command, "linking the freezing tool")
    key = hash_of(*(item.name for item in objects))
    return tool, key


class Addition(NamedTuple):
    """What an image contains in addition to CPython: objects, and built-in modules with their init
    functions.
    """

    objects: Tuple = ()
    modules: dict = {}
    initial_memory: int = INITIAL_MEMORY_BYTES
    # Links with the C++ library if it is `c++`.
    compiler: str = "cc"


def inittab(modules):
    """The C table of built-in modules (`sys.builtin_module_names`)."""
    starts = {**EMBEDDED, **modules}
    starts.update({name: f"PyInit_{name}" for name in (*CORE_MODULES, *MODULES, *OWN_MODULES)})
    lines = ['#include "Python.h"']
    lines += [f"extern PyObject *{start}(void);" for start in starts.values() if start]
    lines.append("struct _inittab _PyImport_Inittab[] = {")
    lines += [f'    {{"{name}", {starts[name] or "NULL"}}},' for name in sorted(starts)]
    lines += ["    {0, 0},", "};", ""]
    return "\n".join(lines)


def link_image(steps, table, scratch, output, addition):
    """Links the image. `table` is the object with the frozen modules."""
    sources.say("compiling the image")
    # The C library precedes these objects on the linker's command line. Objects that replace a part
    # of it come first, before any reference resolves to the library's version.
    objects = libm.objects(steps, ("cc", "-target", GUEST), [libm.BASIC])
    objects += steps.compile_all(
        [Unit(name, own=True) for name in OWN] + units("cpython/Python", "thread"), GUEST, CORE
    )
    objects += steps.compile_all(
        [unit for unit in core_units() if unit.source != "cpython/Python/thread.c"], GUEST, CORE
    )
    objects += steps.compile_all(module_units(CORE_MODULES) + module_units(MODULES), GUEST, MODULE)
    objects += steps.compile_all(library_units(), GUEST, OPTIMISE)
    objects.append(generated(steps, inittab(addition.modules), scratch, "inittab.c"))
    objects.append(table)
    objects += addition.objects
    sources.say("linking the image")
    output.parent.mkdir(parents=True)
    command = [
        str(steps.zig),
        addition.compiler,
        "-target",
        GUEST,
        "-O2",
        "-mexec-model=reactor",
        "-s",
        "-o",
        str(output),
    ]
    command += [f"-Wl,-z,stack-size={STACK_BYTES}", f"-Wl,--initial-memory={addition.initial_memory}"]
    command += [str(item) for item in objects]
    command += ["-lwasi-emulated-signal", "-lwasi-emulated-getpid", "-lm"]
    steps.run(command, "linking the image")
    os.chmod(output, 0o644)
    if os.path.getsize(output) < 1 << 20:
        raise Failed(f"the linker wrote only {os.path.getsize(output)} bytes")


def generated(steps, text, scratch, name, embedded=b""):
    """Compiles a C file generated by this build. `embedded` is the data that it includes with
    #embed.
    """
    path = scratch / name
    path.write_text(text)
    flags = list(CORE)
    key = hash_of(
        sources.ZIG, steps.tree.name, steps.headers, GUEST, repr(flags), name, text, embedded
    )
    command = [
        str(steps.zig),
        "cc",
        "-target",
        GUEST,
        "-c",
        str(path),
        f"-I{steps.own}",
        f"--embed-dir={scratch}",
    ]
    command += flags + [f"-ffile-prefix-map={scratch}=generated"]
    return steps.kept(
        key, ".o", lambda out: steps.run(command + ["-o", str(out)], f"compiling {name}")
    )

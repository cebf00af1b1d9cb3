"""Runs clang, the linker and zig of the compiler's wheel. The results are stored under the hash of
their inputs, as in `toolchain.py`, whose compiler has no C library for 64-bit WebAssembly.
"""

import json
import shutil

import downloads
from toolchain import Steps, hash_of

ZIG_TARGET = "wasm64-wasi-musl"

# A description of a C library that is not used: only with one does zig compile files that call it.
NO_LIBRARY = (
    "include_dir=.\nsys_include_dir=.\ncrt_dir=.\nmsvc_lib_dir=\nkernel32_lib_dir=\ngcc_dir=\n"
    "darwin_sdk_dir=\n"
)


class Compilation(Steps):
    """The steps of this guest."""

    def clang(self, unit, flags):
        """The object of a C, C++ or assembler file."""
        path = self.path_of(unit)
        content = path.read_bytes() if unit.own else b""
        shared = [*flags, *unit.flags]
        inputs = self.inputs_of(unit.source)
        key = hash_of(
            downloads.ZIG, inputs, self.headers, json.dumps(shared), unit.source, content
        )
        command = [str(self.zig), "clang", "-c", str(path), *shared]
        command += [f"-ffile-prefix-map={self.own}=guest"]
        return self.kept(
            key, ".o", lambda out: self.run(command + ["-o", str(out)], f"compiling {unit.source}")
        )

    def zig_object(self, source, scratch):
        """The object of one of zig's own libraries."""
        library = scratch / "library.txt"
        library.write_text(NO_LIBRARY)
        command = [str(self.zig), "build-obj", str(self.tree / "zig" / source), "-lc"]
        command += ["--libc", str(library), "-target", ZIG_TARGET, "-O", "ReleaseFast"]
        command += ["-fno-compiler-rt", "-fstrip"]

        def make(out):
            name = scratch / source.replace(".zig", ".o")
            self.run([*command, f"-femit-bin={name}"], f"compiling {source}")
            shutil.move(name, out)

        key = hash_of(self.inputs_of(f"zig/{source}"), ZIG_TARGET, source, NO_LIBRARY)
        return self.kept(key, ".o", make)

"""The files that the compiler sees: headers, and what programs are linked with. They are one
archive, which the host mounts read-only at `ROOT`.
"""

import io
import tarfile
from pathlib import Path

HERE = Path(__file__).resolve().parent

ROOT = "/lib"

# Folders of libc++ that no program uses: a copy for C++03, and descriptions of modules.
UNUSED = ("__cxx03/", "module.modulemap", "CMakeLists.txt")


def headers(tree, compiler_headers):
    """Names and contents of all headers."""
    found = {f"builtin/{name}": content for name, content in compiler_headers.items()}
    for source, target in (
        (tree / "include", "c"),
        (tree / "libcxx/include", "c++"),
        (tree / "libcxxabi/include", "c++"),
        (HERE / "headers/gnu", "gnu"),
    ):
        for path in sorted(source.rglob("*")):
            name = path.relative_to(source).as_posix()
            if path.is_file() and not name.startswith(UNUSED):
                found[f"{target}/{name}"] = path.read_bytes()
    for path in sorted((HERE / "headers/standard").iterdir()):
        if path.stem != "__config_site":
            found[f"gnu/{path.stem}"] = path.read_bytes()
    return found


def archive(files):
    """An uncompressed tar archive of names and contents, with the same bytes everywhere."""
    output = io.BytesIO()
    with tarfile.open(fileobj=output, mode="w", format=tarfile.USTAR_FORMAT) as tar:
        for name, content in sorted(files.items()):
            member = tarfile.TarInfo(name)
            member.size = len(content)
            member.mode = 0o644
            tar.addfile(member, io.BytesIO(content))
    return output.getvalue()

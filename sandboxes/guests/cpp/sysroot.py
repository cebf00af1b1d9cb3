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


# Headers of GCC's library that only include others.
FORWARDED = {
    "ext/cmath": "cmath",
    "tr1/cmath": "cmath",
    "ext/iterator": "iterator",
    "ext/memory": "memory",
    "ext/slist": "forward_list",
    "ext/string_conversions.h": "string",
    **{
        f"bits/{name}.h": header
        for header, names in {
            "algorithm": "stl_algo stl_algobase stl_heap predefined_ops ranges_algo",
            "deque": "stl_deque deque",
            "fstream": "basic_file",
            "functional": "stl_function std_function functional_hash refwrap",
            "initializer_list": "initializer_list",
            "ios": "ios_base basic_ios",
            "iterator": "stl_iterator stl_iterator_base_funcs stl_iterator_base_types range_access",
            "list": "stl_list list",
            "locale": "locale_classes locale_facets",
            "map": "stl_map stl_multimap stl_tree",
            "memory": "shared_ptr unique_ptr allocator alloc_traits stl_construct",
            "numeric": "stl_numeric",
            "queue": "stl_queue",
            "random": "random",
            "regex": "regex",
            "set": "stl_set stl_multiset",
            "sstream": "sstream",
            "stack": "stl_stack",
            "string": "basic_string char_traits stringfwd",
            "tuple": "tuple",
            "unordered_map": "unordered_map hashtable",
            "unordered_set": "unordered_set",
            "utility": "stl_pair move stl_relops",
            "vector": "stl_vector stl_bvector vector",
        }.items()
        for name in names.split()
    },
}

# Names that the first technical report has, by header.
REPORTED = {
    "array": "array",
    "functional": "bad_function_call bind cref function hash is_bind_expression is_placeholder"
    " mem_fn ref reference_wrapper",
    "memory": "bad_weak_ptr const_pointer_cast dynamic_pointer_cast enable_shared_from_this"
    " get_deleter shared_ptr static_pointer_cast weak_ptr",
    "random": "bernoulli_distribution binomial_distribution exponential_distribution"
    " gamma_distribution geometric_distribution minstd_rand minstd_rand0 mt19937"
    " normal_distribution poisson_distribution random_device",
    "regex": "cmatch cregex_iterator match_results regex regex_error regex_match regex_replace"
    " regex_search smatch sregex_iterator sregex_token_iterator sub_match",
    "tuple": "get ignore make_tuple tie tuple tuple_element tuple_size",
    "type_traits": "add_const add_pointer is_array is_base_of is_class"
    " is_convertible is_enum is_floating_point is_fundamental is_integral is_pointer is_same"
    " is_signed is_unsigned is_void remove_const remove_cv remove_pointer remove_reference",
    "unordered_map": "hash unordered_map unordered_multimap",
    "unordered_set": "hash unordered_multiset unordered_set",
    "utility": "get tuple_element tuple_size",
}

# Allocators of GCC's library, by header.
ALLOCATORS = {
    "bitmap_allocator": "bitmap_allocator",
    "malloc_allocator": "malloc_allocator",
    "mt_allocator": "__mt_alloc",
    "new_allocator": "new_allocator",
    "pool_allocator": "__pool_alloc",
}


def forwarding():
    """Headers that only give names to parts of others."""
    found = {name: f"#include <{header}>\n" for name, header in FORWARDED.items()}
    for header, names in REPORTED.items():
        uses = "".join(f"using std::{name};\n" for name in names.split())
        if header == "functional":
            uses += "namespace placeholders = std::placeholders;\n"
        found[f"tr1/{header}"] = (
            f"#include <{header}>\nnamespace std {{\nnamespace tr1 {{\n{uses}}}\n}}\n"
        )
    for header, name in ALLOCATORS.items():
        found[f"ext/{header}.h"] = (
            "#include <memory>\nnamespace __gnu_cxx {\ntemplate <class T>\n"
            f"using {name} = std::allocator<T>;\n}}\n"
        )
    return {f"gnu/{name}": f"#pragma once\n{text}".encode() for name, text in found.items()}


def headers(tree, compiler_headers):
    """Names and contents of all headers."""
    found = {f"builtin/{name}": content for name, content in compiler_headers.items()}
    found.update(forwarding())
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

// What happens when an exception leaves `main`, a constructor of the program, or a function that is
// `noexcept`. WebAssembly unwinds in one phase, so a handler at the start of the program catches
// what nothing else does. Messages are those of libstdc++.

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <cxxabi.h>
#include <exception>
#include <typeinfo>

namespace {

void print_name(const std::type_info* type)
{
    int status;
    char* name = abi::__cxa_demangle(type->name(), nullptr, nullptr, &status);
    std::fputs(name ? name : type->name(), stderr);
}

[[noreturn]] void report()
{
    static bool reporting;
    const std::type_info* type = reporting ? nullptr : abi::__cxa_current_exception_type();
    if (!type) {
        std::fputs(reporting ? "terminate called recursively\n"
                             : "terminate called without an active exception\n",
                   stderr);
        std::abort();
    }
    reporting = true;
    std::fputs("terminate called after throwing an instance of '", stderr);
    print_name(type);
    std::fputs("'\n", stderr);
    try {
        throw;
    } catch (const std::exception& error) {
        std::fprintf(stderr, "  what():  %s\n", error.what());
    } catch (...) {
    }
    std::abort();
}

[[gnu::constructor]] void report_by_default() { std::set_terminate(report); }

} // namespace

extern "C" {

int assay_call_main(int (*main)(int, char**), int count, char** arguments)
{
    try {
        return main(count, arguments);
    } catch (...) {
        std::terminate();
    }
}

void assay_call_constructors(void (*constructors)())
{
    try {
        constructors();
    } catch (...) {
        std::terminate();
    }
}
}

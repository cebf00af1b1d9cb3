// <algorithm> with extensions of GCC.
#include_next <algorithm>

#ifndef ASSAY_ALGORITHM
#define ASSAY_ALGORITHM

namespace std {

template <class T>
constexpr T __gcd(T first, T second)
{
    while (second != T(0)) {
        T rest = first % second;
        first = second;
        second = rest;
    }
    return first;
}

constexpr int __lg(int value) { return 31 - __builtin_clz(value); }
constexpr unsigned __lg(unsigned value) { return 31 - __builtin_clz(value); }
constexpr long __lg(long value) { return 63 - __builtin_clzl(value); }
constexpr unsigned long __lg(unsigned long value) { return 63 - __builtin_clzl(value); }
constexpr long long __lg(long long value) { return 63 - __builtin_clzll(value); }
constexpr unsigned long long __lg(unsigned long long value) { return 63 - __builtin_clzll(value); }

} // namespace std

#endif

// Modular powers with 128-bit products, and a hash.
#include <cstdint>
#include <cstdio>

long power(long base, long exponent, long modulus) {
    long result = 1;
    for (base %= modulus; exponent > 0; exponent /= 2) {
        if (exponent & 1) result = (__int128)result * base % modulus;
        base = (__int128)base * base % modulus;
    }
    return result;
}

int main() {
    long sum = 0;
    for (long i = 1; i < 40000; i++) sum ^= power(i * 7919, 1000000005L + i, 1000000007L);
    uint64_t hash = 14695981039346656037ULL;
    for (int i = 0; i < 60000000; i++) {
        hash ^= i & 255;
        hash *= 1099511628211ULL;
    }
    printf("%ld %llu\n", sum, (unsigned long long)hash);
}

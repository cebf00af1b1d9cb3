// Sieve of Eratosthenes: sequential writes.
#include <cstdio>
#include <vector>

int main() {
    const int n = 20000000;
    std::vector<char> prime(n + 1, 1);
    long count = 0;
    for (long i = 2; i <= n; i++) {
        if (!prime[i]) continue;
        count++;
        for (long j = i * i; j <= n; j += i) prime[j] = 0;
    }
    printf("%ld\n", count);
}

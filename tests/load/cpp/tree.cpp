// A balanced tree: cache misses and allocations.
#include <cstdio>
#include <map>
#include <random>

int main() {
    std::mt19937 random(5);
    std::map<int, int> counts;
    for (int i = 0; i < 1000000; i++) counts[random() % 500000] += i;
    long sum = 0;
    for (const auto &[key, count] : counts) sum += key ^ count;
    printf("%ld %zu\n", sum, counts.size());
}

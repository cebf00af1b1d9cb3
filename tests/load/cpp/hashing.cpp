// A hash table.
#include <cstdio>
#include <random>
#include <unordered_map>

int main() {
    std::mt19937_64 random(5);
    std::unordered_map<long long, int> counts;
    for (int i = 0; i < 1500000; i++) counts[random() % 700000]++;
    long sum = 0;
    for (long i = 0; i < 700000; i++) {
        auto found = counts.find(i);
        if (found != counts.end()) sum += found->second * i;
    }
    printf("%ld\n", sum);
}

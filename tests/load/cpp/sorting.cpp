// Sorting of numbers.
#include <algorithm>
#include <cstdio>
#include <random>
#include <vector>

int main() {
    std::mt19937 random(5);
    std::vector<int> numbers(3000000);
    for (int &number : numbers) number = random();
    std::sort(numbers.begin(), numbers.end());
    long sum = 0;
    for (size_t i = 0; i < numbers.size(); i += 1000) sum += numbers[i];
    printf("%ld\n", sum);
}

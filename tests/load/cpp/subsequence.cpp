// Longest common subsequences: dynamic programming.
#include <algorithm>
#include <cstdio>
#include <random>
#include <string>

static int longest[2001][2001];

int main() {
    std::mt19937 random(5);
    std::string first, second;
    for (int i = 0; i < 2000; i++) {
        first += 'a' + random() % 4;
        second += 'a' + random() % 4;
    }
    long sum = 0;
    for (int round = 0; round < 15; round++) {
        for (int i = 1; i <= 2000; i++) {
            for (int j = 1; j <= 2000; j++) {
                longest[i][j] = first[i - 1] == second[j - 1]
                                    ? longest[i - 1][j - 1] + 1
                                    : std::max(longest[i - 1][j], longest[i][j - 1]);
            }
        }
        sum += longest[2000][2000];
        first[round] = 'z';
    }
    printf("%ld\n", sum);
}

// Queries of a segment tree.
#include <algorithm>
#include <cstdio>
#include <random>

const int n = 1 << 19;
int tree[2 * n];

int main() {
    std::mt19937 random(3);
    for (int i = 0; i < n; i++) tree[i + n] = random() % 1000;
    for (int i = n - 1; i > 0; i--) tree[i] = std::max(tree[2 * i], tree[2 * i + 1]);
    long sum = 0;
    for (int query = 0; query < 1500000; query++) {
        int left = random() % n, right = random() % n;
        if (left > right) std::swap(left, right);
        if (query % 3 == 0) {
            int at = left + n;
            tree[at] = random() % 100000;
            for (at /= 2; at > 0; at /= 2) tree[at] = std::max(tree[2 * at], tree[2 * at + 1]);
        }
        int most = 0;
        for (int a = left + n, b = right + n + 1; a < b; a /= 2, b /= 2) {
            if (a & 1) most = std::max(most, tree[a++]);
            if (b & 1) most = std::max(most, tree[--b]);
        }
        sum += most;
    }
    printf("%ld\n", sum);
}

// Depth-first search in a tree: deep recursion.
#include <algorithm>
#include <cstdio>
#include <vector>

std::vector<int> neighbours[1000001];
int sizes[1000001];

void visit(int node, int parent) {
    sizes[node] = 1;
    for (int next : neighbours[node]) {
        if (next == parent) continue;
        visit(next, node);
        sizes[node] += sizes[next];
    }
}

int main() {
    const int n = 1000000;
    for (unsigned i = 2; i <= n; i++) {
        int parent = std::max(1, (int)i - 1 - (int)(i * 2654435761u % 10));
        neighbours[i].push_back(parent);
        neighbours[parent].push_back(i);
    }
    long sum = 0;
    for (int round = 0; round < 4; round++) {
        visit(1, 0);
        sum += sizes[1 + round * 1000];
    }
    printf("%ld\n", sum);
}

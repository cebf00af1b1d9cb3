// Products of matrices of doubles.
#include <cstdio>

const int n = 500;
static double a[n][n], b[n][n], c[n][n];

int main() {
    for (int i = 0; i < n; i++) {
        for (int j = 0; j < n; j++) {
            a[i][j] = i + j;
            b[i][j] = i - j;
        }
    }
    for (int round = 0; round < 4; round++) {
        for (int i = 0; i < n; i++) {
            for (int k = 0; k < n; k++) {
                for (int j = 0; j < n; j++) c[i][j] += a[i][k] * b[k][j];
            }
        }
    }
    printf("%.1f\n", c[17][33]);
}

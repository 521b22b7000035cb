/* A matrix product by rows is that of one thread. */
#include "abi.h"

int main(void)
{
    enum { N = 40 };
    static double a[N][N], b[N][N], c[N][N];
    double sum = 0;
    for (int i = 0; i < N; i++)
        for (int k = 0; k < N; k++)
            a[i][k] = i + k, b[i][k] = i - k;
#pragma omp parallel for num_threads(4)
    for (int i = 0; i < N; i++)
        for (int k = 0; k < N; k++)
            for (int j = 0; j < N; j++)
                c[i][k] += a[i][j] * b[j][k];
    for (int i = 0; i < N; i++)
        sum += c[i][i] + c[i][N - 1 - i];
    printf("%.1f %.1f\n", sum, c[3][7]);
    return 0;
}

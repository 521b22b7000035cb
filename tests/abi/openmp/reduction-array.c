/* A reduction over an array, and one that the program declares. */
#include "abi.h"

struct pair {
    int sum, count;
};
#pragma omp declare reduction(join : struct pair : omp_out.sum += omp_in.sum, omp_out.count += omp_in.count)
int main(void)
{
    int bins[4] = {0};
    struct pair pair = {0, 0};
#pragma omp parallel for num_threads(4) reduction(+ : bins[:4]) reduction(join : pair)
    for (int i = 0; i < 100; i++) {
        bins[i % 4] += i;
        pair.sum += i;
        pair.count++;
    }
    printf("%d %d %d %d, %d %d\n", bins[0], bins[1], bins[2], bins[3], pair.sum, pair.count);
    return 0;
}

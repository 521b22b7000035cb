/* Reductions with all operators. */
#include "abi.h"

int main(void)
{
    int sum = 1, product = 1, all = 1, any = 0, bits = ~0, some = 0, odd = 0, least = 100, most = -1;
    double total = 0;
#pragma omp parallel for num_threads(4) reduction(+ : sum, total) reduction(* : product) reduction(&& : all) reduction(|| : any) reduction(& : bits) reduction(| : some) reduction(^ : odd) reduction(min : least) reduction(max : most)
    for (int i = 1; i <= 10; i++) {
        sum += i;
        total += i * 0.5;
        product *= i % 3 + 1;
        all = all && i > 0;
        any = any || i == 7;
        bits &= ~i;
        some |= i;
        odd ^= i;
        least = i < least ? i : least;
        most = i > most ? i : most;
    }
    printf("%d %d %d %d %d %d %d %d %d %.1f\n", sum, product, all, any, bits, some, odd, least, most, total);
    return 0;
}

/* All vector registers, rounding modes and the x87 stack move with a thread to every CPU. */
#include "abi.h"

struct state {
    uint64_t ymm[16][4];
    double st[2];
    uint32_t mxcsr;
    uint16_t control;
};

/* Loads all of IN, moves to the CPUs of MASK, and stores all to OUT. */
static long carry(const struct state *in, struct state *out, const unsigned long *mask)
{
    long result = SYS_sched_setaffinity;

    __asm__ volatile(
        "fninit; fldcw %c[control](%[in]); fldl %c[st]+8(%[in]); fldl %c[st](%[in]); ldmxcsr %c[mxcsr](%[in])\n"
        ".irp n,0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15\n"
        "vmovdqu \\n*32(%[in]), %%ymm\\n\n"
        ".endr\n"
        "syscall\n"
        ".irp n,0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15\n"
        "vmovdqu %%ymm\\n, \\n*32(%[out])\n"
        ".endr\n"
        "stmxcsr %c[mxcsr](%[out]); fnstcw %c[control](%[out]); fstpl %c[st](%[out]); fstpl %c[st]+8(%[out])\n"
        "fninit; ldmxcsr %[usual]; vzeroupper"
        : "+a"(result)
        : [in] "r"(in), [out] "r"(out), "D"(0l), "S"(16 * sizeof(long)),
          "d"(mask), [usual] "m"((uint32_t){0x1f80}), [st] "i"(offsetof(struct state, st)),
          [mxcsr] "i"(offsetof(struct state, mxcsr)), [control] "i"(offsetof(struct state, control))
        : "rcx", "r11", "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10",
          "xmm11", "xmm12", "xmm13", "xmm14", "xmm15", "st", "st(1)", "memory");
    return result;
}

static void *work(void *argument)
{
    static const uint16_t roundings[] = {0, 0x400, 0x800, 0xc00};
    long me = (long)argument, wrong = 0;
    cpu_set_t all;
    int count;

    MUST(sched_getaffinity(0, sizeof(all), &all));
    count = CPU_COUNT(&all);
    for (long i = 0; i < 32; i++) {
        unsigned long mask[16] = {1ul << ((i + me) % count)};
        struct state in, out;

        memset(&in, 0, sizeof(in));
        for (int k = 0; k < 64; k++)
            in.ymm[k / 4][k % 4] = (uint64_t)(me * 1000000 + i * 1000 + k) * 0x9e3779b97f4a7c15u;
        in.st[0] = (double)i + 0.5;
        in.st[1] = (double)-me;
        in.mxcsr = 0x1f80u | (uint32_t)roundings[i % 4] << 3;
        in.control = 0x37f | roundings[(i + 1) % 4];
        memset(&out, 0, sizeof(out));
        wrong += carry(&in, &out, mask) != 0 || memcmp(&in, &out, sizeof(in)) != 0;
    }
    return (void *)wrong;
}

int main(void)
{
    pthread_t threads[4];
    long wrong = 0;

    if (!__builtin_cpu_supports("avx"))
        return 0;
    for (long i = 0; i < 4; i++)
        threads[i] = start(work, (void *)i);
    for (int i = 0; i < 4; i++) {
        void *of;

        pthread_join(threads[i], &of);
        wrong += (long)of;
    }
    SHOW(wrong);
    return 0;
}

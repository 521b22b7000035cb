/* The compressor zstd with threads: a text of pseudorandom words, in jobs of a MiB. It is right if the decompressed
 * text is the original. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "userland/bench/real/realbench.h"

#define SIZE (8UL << 20)
#define WORDS 4096
#define WORD_MOST 12

static char *text;

static bool setup(const struct real_plan *plan)
{
    char words[WORDS][WORD_MOST];
    size_t lengths[WORDS];
    uint64_t state = 88172645463325252U;
    size_t at = 0;

    (void)plan;
    text = malloc(SIZE);
    if (text == NULL)
        return false;
    for (size_t i = 0; i < WORDS; i++) {
        lengths[i] = 2 + real_random(&state) % (WORD_MOST - 2);
        for (size_t j = 0; j + 1 < lengths[i]; j++)
            words[i][j] = (char)('a' + real_random(&state) % 26);
        words[i][lengths[i] - 1] = ' ';
    }
    while (at < SIZE) {
        uint64_t number = real_random(&state);
        size_t word = (number % WORDS) * (number >> 32 & 0xff) >> 8; /* some words are used more than others */
        size_t length = lengths[word] < SIZE - at ? lengths[word] : SIZE - at;

        memcpy(text + at, words[word], length);
        at += length;
    }
    return real_write("data", text, SIZE);
}

static bool run(const struct real_plan *plan)
{
    char program[256];
    char threads[16];

    snprintf(program, sizeof(program), "%s/zstd/zstd", plan->tools);
    snprintf(threads, sizeof(threads), "-T%d", plan->threads);
    return real_run((char *[]){program, "-q", "-f", threads, "-B1048576", "data", "-o", "data.zst", NULL}, NULL);
}

static bool verify(const struct real_plan *plan)
{
    char program[256];
    static char back[SIZE + 1];
    FILE *file;
    size_t size;
    bool same;

    snprintf(program, sizeof(program), "%s/zstd/zstd", plan->tools);
    if (!real_run((char *[]){program, "-q", "-d", "-f", "data.zst", "-o", "back", NULL}, NULL))
        return false;
    file = fopen("back", "r");
    if (file == NULL)
        return false;
    size = fread(back, 1, sizeof(back), file);
    fclose(file);
    same = size == SIZE && memcmp(back, text, SIZE) == 0;
    return same;
}

const struct real_case real_zstd = {"zstd", "zstd -T: 8 MiB of text in jobs of 1 MiB", setup, run, verify};

/* What the benchmark programs share. userland/bench/bench.h is the contract. */
#include "userland/bench/bench.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

uint64_t bench_now(void)
{
    struct timespec time;

    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

int bench_usage_error(const char *program, const char *problem, const char *word)
{
    fprintf(stderr, "%s: %s%s%s (try %s --help)\n", program, problem, word[0] == '\0' ? "" : ": ", word, program);
    return BENCH_STATUS_USAGE;
}

bool bench_number_parse(const char *text, uint64_t least, uint64_t most, uint64_t *value)
{
    char *end;

    if (text == NULL || text[0] < '0' || text[0] > '9')
        return false;
    errno = 0;
    *value = strtoull(text, &end, 10);
    return *end == '\0' && errno == 0 && *value >= least && *value <= most;
}

int bench_options_read(const char *program, const struct bench_option *options, int count, char **words)
{
    for (int at = 0; at < count; at++) {
        const struct bench_option *option = options;
        char *value = at + 1 < count ? words[at + 1] : NULL;
        char problem[96];

        while (option->name != NULL && strcmp(option->name, words[at]) != 0)
            option++;
        if (option->name == NULL)
            return bench_usage_error(program, "what is this?", words[at]);
        if (option->flag != NULL) {
            *option->flag = true;
            continue;
        }
        if (option->text != NULL && value != NULL && value[0] != '\0') {
            *option->text = value;
        } else if (option->number == NULL || !bench_number_parse(value, option->least, option->most, option->number)) {
            snprintf(problem, sizeof(problem), "%s needs a value", option->name);
            if (option->number != NULL)
                snprintf(problem, sizeof(problem), "%s needs a number from %" PRIu64 " to %" PRIu64, option->name,
                         option->least, option->most);
            return bench_usage_error(program, problem, value == NULL ? "" : value);
        }
        at++;
    }
    return 0;
}

void bench_samples_json(const uint64_t *samples, size_t count)
{
    putchar('[');
    for (size_t i = 0; i < count; i++)
        printf("%s%" PRIu64, i == 0 ? "" : ", ", samples[i]);
    putchar(']');
}

static int number_compare(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a;
    uint64_t y = *(const uint64_t *)b;

    return (x > y) - (x < y);
}

/* The sample that PERCENT of all are no greater than, in us; of sorted samples. */
static double percentile(const uint64_t *sorted, size_t count, size_t percent)
{
    size_t rank = (count * percent + 99) / 100;

    return (double)sorted[rank == 0 ? 0 : rank - 1] / 1e3;
}

void bench_samples_row(uint64_t *samples, size_t count)
{
    if (count == 0) {
        printf("%12s%12s\n", "-", "-");
        return;
    }
    qsort(samples, count, sizeof(*samples), number_compare);
    printf("%12.2f%12.2f\n", percentile(samples, count, 50), percentile(samples, count, 99));
}

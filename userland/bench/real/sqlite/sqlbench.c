/* sqlbench: the database engine sqlite with threads: each has its own connection to one file in WAL mode, and in turn
 * writes a transaction and reads what it has written. tools/hosttools/suites/real.py builds it with Debian's sqlite; it
 * is no part of the image.
 *
 *     sqlbench [--json] [--threads N]
 *
 * It is right if every row is there and sqlite finds nothing wrong with the file. Exit status: 0 right, 1 not, 2 for
 * what cannot be asked. Region 1 (userland/bench/mark.h) is the threads' work. */
#include <getopt.h>
#include <inttypes.h>
#include <pthread.h>
#include <sqlite3.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "userland/bench/mark.h"

#define THREADS_MAX 64
#define TRANSACTIONS 200 /* of all threads together */
#define ROWS 20          /* of a transaction */
#define BUSY_MS 120000   /* for which a connection waits for another's lock */
#define REGION 1

static const char path[] = "base.db";
static int threads = 1;

static void fail(sqlite3 *base, const char *what)
{
    fprintf(stderr, "sqlbench: %s: %s\n", what, base == NULL ? "no memory" : sqlite3_errmsg(base));
    exit(1);
}

static sqlite3 *base_open(void)
{
    sqlite3 *base;

    if (sqlite3_open(path, &base) != SQLITE_OK)
        fail(base, "open");
    sqlite3_busy_timeout(base, BUSY_MS);
    return base;
}

static void execute(sqlite3 *base, const char *text)
{
    if (sqlite3_exec(base, text, NULL, NULL, NULL) != SQLITE_OK)
        fail(base, text);
}

static sqlite3_stmt *prepare(sqlite3 *base, const char *text)
{
    sqlite3_stmt *made;

    if (sqlite3_prepare_v2(base, text, -1, &made, NULL) != SQLITE_OK)
        fail(base, text);
    return made;
}

/* The first column of the one row of TEXT, for THREAD as its parameter. */
static long long number_of(sqlite3 *base, const char *text, int thread)
{
    sqlite3_stmt *asked = prepare(base, text);
    long long number;

    sqlite3_bind_int(asked, 1, thread);
    if (sqlite3_step(asked) != SQLITE_ROW)
        fail(base, text);
    number = sqlite3_column_int64(asked, 0);
    sqlite3_finalize(asked);
    return number;
}

static int transactions_of(int thread)
{
    return TRANSACTIONS / threads + (thread < TRANSACTIONS % threads ? 1 : 0);
}

static void *work(void *argument)
{
    int thread = *(int *)argument;
    sqlite3 *base = base_open();
    sqlite3_stmt *insert = prepare(base,
                                   "INSERT INTO rows (thread, number, text) VALUES (?, ?, 'of the thread ' || ?)");

    for (int i = 0; i < transactions_of(thread); i++) {
        execute(base, "BEGIN IMMEDIATE");
        for (int row = 0; row < ROWS; row++) {
            sqlite3_bind_int(insert, 1, thread);
            sqlite3_bind_int(insert, 2, i * ROWS + row);
            sqlite3_bind_int(insert, 3, thread);
            if (sqlite3_step(insert) != SQLITE_DONE)
                fail(base, "insert");
            sqlite3_reset(insert);
        }
        execute(base, "COMMIT");
        if (number_of(base, "SELECT count(*) FROM rows WHERE thread = ?", thread) != (long long)(i + 1) * ROWS) {
            fprintf(stderr, "sqlbench: thread %d does not see its own rows\n", thread);
            exit(1);
        }
    }
    sqlite3_finalize(insert);
    sqlite3_close(base);
    return NULL;
}

static bool right(void)
{
    sqlite3 *base = base_open();
    sqlite3_stmt *check = prepare(base, "PRAGMA integrity_check");
    bool whole = sqlite3_step(check) == SQLITE_ROW && strcmp((const char *)sqlite3_column_text(check, 0), "ok") == 0;

    sqlite3_finalize(check);
    whole = whole && number_of(base, "SELECT count(DISTINCT thread * 1000000 + number) FROM rows WHERE thread >= 0 * ?",
                               0) == (long long)TRANSACTIONS * ROWS;
    sqlite3_close(base);
    return whole;
}

static uint64_t now(void)
{
    struct timespec time;

    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * 1000000000U + (uint64_t)time.tv_nsec;
}

static void base_make(void)
{
    sqlite3 *base = base_open();

    execute(base, "PRAGMA journal_mode = WAL");
    execute(base, "CREATE TABLE rows (thread INTEGER, number INTEGER, text TEXT)");
    execute(base, "CREATE INDEX of_threads ON rows (thread)");
    sqlite3_close(base);
}

static uint64_t measure(void)
{
    pthread_t made[THREADS_MAX];
    int numbers[THREADS_MAX];
    uint64_t before = now();

    mark_begin(REGION);
    for (int i = 0; i < threads; i++) {
        numbers[i] = i;
        if (pthread_create(&made[i], NULL, work, &numbers[i]) != 0)
            fail(NULL, "pthread_create");
    }
    for (int i = 0; i < threads; i++)
        pthread_join(made[i], NULL);
    mark_end(REGION);
    return now() - before;
}

int main(int argc, char **argv)
{
    static const struct option known[] = {
        {"json", no_argument, NULL, 'j'}, {"threads", required_argument, NULL, 't'}, {NULL, 0, NULL, 0}};
    char folder[] = "/tmp/sqlbench-XXXXXX";
    bool json = false;
    uint64_t ns;
    int option;

    while ((option = getopt_long(argc, argv, "", known, NULL)) != -1) {
        if (option == 'j')
            json = true;
        else if (option == 't')
            threads = atoi(optarg);
        else
            threads = 0;
    }
    if (threads < 1 || threads > THREADS_MAX || optind != argc) {
        fputs("usage: sqlbench [--json] [--threads N]\n", stderr);
        return 2;
    }
    if (mkdtemp(folder) == NULL || chdir(folder) != 0) {
        perror("sqlbench: a folder");
        return 1;
    }
    base_make();
    ns = measure();
    if (!right()) {
        fputs("sqlbench: rows are missing, or the file is damaged\n", stderr);
        return 1;
    }
    if (json)
        printf(
            "{\"case\": \"sqlite\", \"threads\": %d, \"region\": %d, \"count\": 1, \"absent\": \"\", \"ns\": [%" PRIu64
            "]}\n",
            threads, REGION, ns);
    else
        printf("sqlite %2d threads %9.3f s right\n", threads, (double)ns / 1e9);
    return 0;
}

/* Records where a program allocates memory: tools/plugin/numa/trace.md says how to link it and what it writes. The
 * linker sends calls of malloc, calloc, realloc and free of the program here (--wrap); those inside the C library stay.
 *
 * Records are lines in a buffer under a lock, written when it is full and when the program ends, to the file that
 * KETTLE_ALLOC_TRACE names, "-" for standard error; without the variable nothing is recorded. It allocates nothing. */
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define VARIABLE "KETTLE_ALLOC_TRACE"
#define BUFFER_SIZE 65536
#define LINE_MAX_SIZE 160
#define CALLER ((uint64_t)(uintptr_t)__builtin_return_address(0))

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *memory, size_t size);
void __real_free(void *memory);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *memory, size_t size);
void __wrap_free(void *memory);

/* All but `decided` are under `lock`. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_once_t decided = PTHREAD_ONCE_INIT;
static int file = -1; /* set once */
static uint64_t sequence;
static char buffer[BUFFER_SIZE];
static size_t used;

static void flush_locked(void)
{
    size_t done = 0;

    while (done < used) {
        ssize_t count = write(file, buffer + done, used - done);

        if (count <= 0)
            break;
        done += (size_t)count;
    }
    used = 0;
}

static void decide(void)
{
    const char *path = getenv(VARIABLE);

    if (path == NULL || path[0] == '\0')
        return;
    file = strcmp(path, "-") == 0 ? 2 : open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (file < 0)
        perror(VARIABLE);
}

__attribute__((destructor)) static void write_rest(void)
{
    pthread_mutex_lock(&lock);
    if (file >= 0)
        flush_locked();
    pthread_mutex_unlock(&lock);
}

/* BEFORE is the memory that realloc or free was given. */
static void record(const char *call, uint64_t size, const void *memory, const void *before, uint64_t caller)
{
    struct timespec now;
    int length;

    pthread_once(&decided, decide);
    if (file < 0)
        return;
    clock_gettime(CLOCK_MONOTONIC, &now);
    pthread_mutex_lock(&lock);
    length = snprintf(buffer + used, LINE_MAX_SIZE, "@alloc %llu %ld %llu %s %llu 0x%llx 0x%llx 0x%llx\n",
                      (unsigned long long)now.tv_sec * 1000000000 + (unsigned long long)now.tv_nsec,
                      syscall(SYS_gettid), (unsigned long long)sequence++, call, (unsigned long long)size,
                      (unsigned long long)(uintptr_t)memory, (unsigned long long)(uintptr_t)before,
                      (unsigned long long)caller);
    used += (size_t)length;
    if (used > BUFFER_SIZE - LINE_MAX_SIZE)
        flush_locked();
    pthread_mutex_unlock(&lock);
}

void *__wrap_malloc(size_t size)
{
    void *memory = __real_malloc(size);

    record("malloc", size, memory, NULL, CALLER);
    return memory;
}

void *__wrap_calloc(size_t count, size_t size)
{
    void *memory = __real_calloc(count, size);

    record("calloc", count * size, memory, NULL, CALLER);
    return memory;
}

void *__wrap_realloc(void *memory, size_t size)
{
    uintptr_t before = (uintptr_t)memory;
    void *grown = __real_realloc(memory, size);

    record("realloc", size, grown, (const void *)before, CALLER);
    return grown;
}

/* Recorded before: afterwards another thread may have got the same memory already. */
void __wrap_free(void *memory)
{
    record("free", 0, NULL, memory, CALLER);
    __real_free(memory);
}

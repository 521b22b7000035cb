/* Threads, mutexes, conditions and thread storage of C11. */
#include "abi.h"

#include <threads.h>

static mtx_t mutex;
static cnd_t cond;
static tss_t storage;
static once_flag once = ONCE_FLAG_INIT;
static int ready;
static void first(void)
{
    printf("once\n");
}
static int work(void *argument)
{
    call_once(&once, first);
    tss_set(storage, argument);
    mtx_lock(&mutex);
    ready++;
    cnd_signal(&cond);
    mtx_unlock(&mutex);
    return tss_get(storage) == argument ? *(int *)argument : -1;
}
int main(void)
{
    thrd_t threads[3];
    int numbers[3] = {10, 20, 30}, result, sum = 0;
    mtx_init(&mutex, mtx_plain);
    cnd_init(&cond);
    tss_create(&storage, NULL);
    for (int i = 0; i < 3; i++)
        thrd_create(&threads[i], work, &numbers[i]);
    mtx_lock(&mutex);
    while (ready < 3)
        cnd_wait(&cond, &mutex);
    mtx_unlock(&mutex);
    for (int i = 0; i < 3; i++) {
        thrd_join(threads[i], &result);
        sum += result;
    }
    SHOW(sum);
    return 0;
}

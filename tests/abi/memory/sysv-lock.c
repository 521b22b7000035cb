/* SHM_LOCK: its owner may, as far as RLIMIT_MEMLOCK of all that the user has locked so allows. */
#include "abi.h"

#define KB 1024L
static int id;

static void tell_mode(int segment)
{
    struct shmid_ds ds;

    MUST(shmctl(segment, IPC_STAT, &ds));
    printf("locked: %d\n", (ds.shm_perm.mode & SHM_LOCKED) != 0);
}
static void limit_to(long kb)
{
    struct rlimit limit = {(rlim_t)(kb * KB), (rlim_t)(1024 * KB)};

    MUST(setrlimit(RLIMIT_MEMLOCK, &limit));
}
static int other(void)
{
    MUST(setuid(4321));
    CALL(shmctl(id, SHM_LOCK, NULL));
    CALL(shmctl(id, SHM_UNLOCK, NULL));
    return 0;
}
static int as_user(void)
{
    int own, second;

    limit_to(64);
    MUST(setuid(1234));
    CALL(shmctl(id, SHM_LOCK, NULL)); /* root's */
    own = (int)MUST(shmget(IPC_PRIVATE, 40 * KB, 0666 | IPC_CREAT));
    second = (int)MUST(shmget(IPC_PRIVATE, 40 * KB, 0666 | IPC_CREAT));
    CALL(shmctl(own, SHM_LOCK, NULL));
    tell_mode(own);
    CALL(shmctl(own, SHM_LOCK, NULL));
    CALL(shmctl(second, SHM_LOCK, NULL));
    tell_mode(second);
    CALL(shmctl(own, SHM_UNLOCK, NULL));
    CALL(shmctl(second, SHM_LOCK, NULL));
    CALL(shmctl(own, SHM_LOCK, NULL));
    CALL(shmctl(second, IPC_RMID, NULL));
    CALL(shmctl(own, SHM_LOCK, NULL));
    limit_to(0);
    CALL(shmctl(own, SHM_LOCK, NULL));
    CALL(shmctl(own, SHM_UNLOCK, NULL));
    tell_mode(own);
    CALL(shmctl(own, IPC_RMID, NULL));
    return 0;
}
int main(void)
{
    id = (int)MUST(shmget(IPC_PRIVATE, 256 * KB, 0666 | IPC_CREAT));
    reap(spawn(as_user));
    reap(spawn(other));
    CALL(shmctl(id, SHM_LOCK, NULL));
    tell_mode(id);
    CALL(shmctl(id, SHM_UNLOCK, NULL));
    tell_mode(id);
    CALL(shmctl(id, IPC_RMID, NULL));
    return 0;
}

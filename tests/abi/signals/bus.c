/* Memory of a file mapping behind the file's end is SIGBUS. */
#include "abi.h"

static char *a;
static void handler(int n, siginfo_t *info, void *u)
{
    printf("%s code %d at +%ld\n", signal_name(n), info->si_code, (long)((char *)info->si_addr - a) + (u == NULL));
    fflush(stdout);
    _exit(0);
}
int main(void)
{
    int fd = (int)MUST(open("/proc/self/exe", O_RDONLY));
    struct stat facts;
    MUST(fstat(fd, &facts));
    on_info(SIGBUS, handler, 0);
    a = mmap(NULL, 2 * PAGE, PROT_READ, MAP_PRIVATE, fd, facts.st_size & -PAGE);
    MUST((long)a);
    return ((volatile char *)a)[PAGE + 8];
}

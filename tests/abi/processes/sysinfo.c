/* Memory, uptime and processes are told. */
#include "abi.h"

int main(void)
{
    struct sysinfo info;
    CALL(sysinfo(&info));
    SHOW(info.uptime > 0);
    SHOW(info.totalram > info.freeram && info.freeram > 0);
    SHOW(info.procs > 0);
    SHOW(info.mem_unit);
    SHOW(sysconf(_SC_PAGESIZE));
    SHOW(sysconf(_SC_PHYS_PAGES) > 1000);
    return 0;
}

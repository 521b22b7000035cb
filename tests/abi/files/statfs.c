/* statfs and statvfs tell block size and room. */
#include "abi.h"

int main(void)
{
    struct statfs facts;
    struct statvfs more;
    CALL(statfs(".", &facts));
    SHOW(facts.f_bsize);
    SHOW(facts.f_namelen);
    CALL(statvfs("/proc", &more));
    SHOW(statfs("/proc", &facts) == 0 && facts.f_type == 0x9fa0);
    CALL(statfs("none", &facts));
    CALL(fstatfs(0, &facts));
    return 0;
}

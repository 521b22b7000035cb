/* capget tells the capabilities of root. */
#include "abi.h"

int main(void)
{
    uint32_t header[2] = {0x20080522, 0}, data[6] = {0};
    CALL(syscall(SYS_capget, header, data));
    SHOW((data[0] & 0xff) == 0xff);
    header[0] = 1;
    CALL(syscall(SYS_capget, header, data));
    return 0;
}

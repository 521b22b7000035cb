/* Paths. See the header. */
#include "kernel/file/path.h"

#include "kernel/abi/errno.h"
#include "kernel/lib/string.h"

int path_normalize(const char *path, char *out, size_t size, bool *folder)
{
    size_t used = 0;

    if (*path == '\0')
        return -ENOENT;
    *folder = false;
    while (*path != '\0') {
        size_t length = 0;

        while (*path == '/') {
            path++;
            *folder = true;
        }
        while (path[length] != '\0' && path[length] != '/')
            length++;
        if (length == 0)
            break;
        if (length > NAME_MAX)
            return -ENAMETOOLONG;
        if (length == 1 && path[0] == '.') {
            *folder = true;
        } else if (length == 2 && path[0] == '.' && path[1] == '.') {
            *folder = true;
            while (used > 0 && out[used - 1] != '/')
                used--;
            if (used > 0)
                used--;
        } else {
            size_t slash = used > 0 ? 1 : 0;

            if (used + slash + length + 1 > size)
                return -ENAMETOOLONG;
            if (slash != 0)
                out[used++] = '/';
            memcpy(out + used, path, length);
            used += length;
            *folder = false;
        }
        path += length;
    }
    if (used + 1 > size)
        return -ENAMETOOLONG;
    out[used] = '\0';
    return 0;
}

/* Paths. See the header. */
#include "kernel/file/path.h"

#include "kernel/abi/errno.h"
#include "kernel/lib/string.h"

int path_normalize(const char *path, char *out, size_t size, bool *directory)
{
    size_t used = 0;

    if (*path == '\0')
        return -ENOENT;
    *directory = false;
    while (*path != '\0') {
        size_t length = 0;

        while (*path == '/') {
            path++;
            *directory = true;
        }
        while (path[length] != '\0' && path[length] != '/')
            length++;
        if (length == 0)
            break;
        if (length > NAME_MAX)
            return -ENAMETOOLONG;
        if (length == 1 && path[0] == '.') {
            *directory = true;
        } else if (length == 2 && path[0] == '.' && path[1] == '.') {
            *directory = true;
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
            *directory = false;
        }
        path += length;
    }
    if (used + 1 > size)
        return -ENAMETOOLONG;
    out[used] = '\0';
    return 0;
}

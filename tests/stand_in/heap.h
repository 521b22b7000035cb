/* The kernel's heap for host tests of code that allocates: the host's, which runs out when the test says so. The sizes
 * that objects are freed with are checked, and the sanitizer sees what goes beyond an object. Included once. */
#ifndef TESTS_STAND_IN_HEAP_H
#define TESTS_STAND_IN_HEAP_H

#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mm/frame/heap.h"

static int64_t heap_objects, heap_bytes; /* in use */
static int64_t heap_left = -1;           /* allocations until there is no memory; negative: there always is */

void *heap_alloc_unset(size_t size)
{
    void *object;

    if (heap_left == 0)
        return NULL;
    if (heap_left > 0)
        heap_left--;
    object = malloc(size);
    if (object == NULL)
        abort();
    heap_objects++;
    heap_bytes += (int64_t)size;
    return memset(object, 0xa5, size);
}

void *heap_alloc(size_t size)
{
    void *object = heap_alloc_unset(size);

    return object != NULL ? memset(object, 0, size) : NULL;
}

void heap_free(void *object, size_t size)
{
    if (object == NULL)
        return;
    if (malloc_usable_size(object) != size) { /* under a sanitizer it is what was asked for */
        printf("# an object of %zu bytes is freed as one of %zu\n", malloc_usable_size(object), size);
        abort();
    }
    heap_objects--;
    heap_bytes -= (int64_t)size;
    free(object);
}

#endif

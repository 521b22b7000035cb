/* Payloads of MOVE_FILES, between kernel/file/move/move.c and kernel/file/move/receive.c. */
#ifndef KERNEL_FILE_MOVE_INTERNAL_H
#define KERNEL_FILE_MOVE_INTERNAL_H

#include "kernel/file/file.h"

enum move_part {
    MOVE_FILE = 1, /* struct moved_file, then a directory's name with its NUL */
    MOVE_PIPE,     /* two struct moved_file, reader and writer; id 0: that end is closed */
    MOVE_DATA,     /* bytes of the file or pipe sent last, in order */
    MOVE_TABLE,    /* struct moved_table, then the name of the program with its NUL */
    MOVE_SLOTS     /* struct moved_slot: descriptors of the table sent last */
};

struct msg_move {
    uint32_t part; /* enum move_part */
    uint32_t size; /* bytes that follow */
};

enum moved_kind { MOVED_MEMORY = 1, MOVED_DIRECTORY, MOVED_PIPE, MOVED_DEVICE };

struct moved_file {
    uint64_t id;
    uint64_t offset;
    uint64_t size; /* bytes of content that follow in MOVE_DATA */
    struct file_facts facts;
    uint32_t opens;
    uint32_t flags;
    uint32_t kind; /* enum moved_kind */
    uint32_t pad;
};

struct moved_table {
    uint32_t group;
    uint32_t size;    /* slots */
    uint32_t lowest;  /* as in struct file_table */
    uint32_t process; /* as there */
    uint32_t limit;   /* as there */
    uint32_t undo;    /* as there */
    uint64_t file_limit;
};

#define MOVED_WORKING_DIRECTORY UINT32_MAX /* in place of a descriptor: the working directory */
#define MOVED_ROOT (UINT32_MAX - 1)
#define MOVED_EXECUTABLE (UINT32_MAX - 2)

struct moved_slot {
    uint64_t key; /* equal for all slots with the same file or proxy */
    uint64_t id;
    uint32_t kernel;
    uint32_t flags;
    uint32_t fd;
    uint32_t pad;
};

#endif

/* Properties of the operations on descriptor tables and open files (wire.h) that generic code needs: a table with one
 * row for each operation, rule.c. */
#ifndef KERNEL_FILE_RULE_H
#define KERNEL_FILE_RULE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kernel/file/wire.h"

#define FILE_OPERATION_FIRST MSG_FILE_CLOSE
#define FILE_OPERATION_LAST MSG_FILE_SEALS
#define FILE_OPERATIONS (FILE_OPERATION_LAST - FILE_OPERATION_FIRST + 1)

/* How many bytes of result data an operation has, if its value is not negative. */
enum file_result {
    RESULT_NONE,
    RESULT_VALUE,    /* as many as the value says */
    RESULT_NAME,     /* one more: a NUL */
    RESULT_IF_ROOM,  /* as many as the value says, if there is room; else none */
    RESULT_IF_ASKED, /* struct file_lock, if there is room; else none */
    RESULT_CONTROL   /* FILE_CONTROL_MAX */
};

struct file_rule {
    bool closes;    /* it closes descriptors */
    bool lends;     /* its data or result data may be zero-copy: data are read only once, result data only written */
    bool grows;     /* it may make a file longer, so RLIMIT_FSIZE applies (limit.h) */
    uint8_t result; /* enum file_result */
};

extern const struct file_rule file_rules[FILE_OPERATIONS];

static inline bool file_is_operation(uint32_t number)
{
    return number - FILE_OPERATION_FIRST < FILE_OPERATIONS;
}

/* Is OPERATION for the descriptor table, and not for one file? In messages.def those for tables come first. */
static inline bool file_is_for_table(uint32_t operation)
{
    return operation <= MSG_FILE_NEW;
}

/* The row of OPERATION, for which file_is_operation is true. */
static inline const struct file_rule *file_rule(uint32_t operation)
{
    return &file_rules[operation - FILE_OPERATION_FIRST];
}

bool file_special_zero_copy(uint32_t what); /* enum file_special */

/* May REQUEST be zero-copy (`lends`)? For FILE_OPERATE it depends on the special operation. */
static inline bool file_rule_zero_copy(const struct file_request *request)
{
    return file_rule(request->operation)->lends ||
           (request->operation == MSG_FILE_OPERATE && file_special_zero_copy(request->special.what));
}

/* The bytes of result data of REQUEST, answered by ANSWER. */
size_t file_result_size(const struct file_request *request, const struct file_answer *answer, size_t room);

#endif

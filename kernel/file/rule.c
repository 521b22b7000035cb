/* The table of operations. See the header. */
#include "kernel/file/rule.h"

#include "kernel/file/anonymous.h"

#define ROW(name) [MSG_FILE_##name - FILE_OPERATION_FIRST]

/* Operations that are not listed have no result data, close nothing, use no zero-copy and make no file longer. */
const struct file_rule file_rules[FILE_OPERATIONS] = {
    ROW(CLOSE) = {.closes = true},
    ROW(CLOSE_RANGE) = {.closes = true},
    ROW(DUPLICATE_TO) = {.closes = true},
    ROW(PIPE) = {.result = RESULT_VALUE},
    ROW(LOCATE) = {.result = RESULT_VALUE},
    ROW(GET_PROGRAM) = {.result = RESULT_NAME},
    ROW(LIST) = {.result = RESULT_VALUE},
    ROW(NEW) = {.result = RESULT_VALUE},
    ROW(READ) = {.lends = true, .result = RESULT_VALUE},
    ROW(READ_AT) = {.lends = true, .result = RESULT_VALUE},
    ROW(WRITE) = {.lends = true, .grows = true},
    ROW(WRITE_AT) = {.lends = true, .grows = true},
    ROW(STAT) = {.lends = true, .result = RESULT_VALUE},
    ROW(ENTRIES) = {.lends = true, .result = RESULT_VALUE},
    ROW(PATH) = {.result = RESULT_NAME},
    ROW(CONTROL) = {.result = RESULT_CONTROL},
    ROW(OPERATE) = {.result = RESULT_VALUE},
    ROW(SPACE) = {.lends = true, .result = RESULT_VALUE},
    ROW(RESIZE) = {.grows = true},
    ROW(ALLOCATE) = {.grows = true},
    ROW(ATTRIBUTE) = {.result = RESULT_IF_ROOM},
    ROW(LOCK) = {.lends = true, .result = RESULT_IF_ASKED},
};

bool file_special_zero_copy(uint32_t what)
{
    return what == SPECIAL_PIPE_TAKE || what == SPECIAL_PIPE_LOOK || what == SPECIAL_PIPE_PUT;
}

size_t file_result_size(const struct file_request *request, const struct file_answer *answer, size_t room)
{
    size_t value = (size_t)answer->value;

    if (answer->value < 0 || (answer->flags & FILE_ELSEWHERE) != 0)
        return 0;
    switch ((enum file_result)file_rule(request->operation)->result) {
    case RESULT_VALUE:
        return value;
    case RESULT_NAME:
        return value + 1;
    case RESULT_IF_ROOM:
        return value <= room ? value : 0;
    case RESULT_IF_ASKED:
        return room < sizeof(struct file_lock) ? 0 : sizeof(struct file_lock);
    case RESULT_CONTROL:
        return FILE_CONTROL_MAX;
    case RESULT_NONE:
        break;
    }
    return 0;
}

/* The machine's first process, and the machine's end with it. The file `.kettle/run` of the initramfs says what to run:
 * NUL-terminated strings: path, number of arguments, the arguments, number of environment strings, those. */
#include "kernel/first.h"

#include "kernel/abi/errno.h"
#include "kernel/arch/x86_64/base/instructions.h"
#include "kernel/exec/load.h"
#include "kernel/file/table.h"
#include "kernel/fs/tree/initramfs.h"
#include "kernel/instance/instance.h"
#include "kernel/lib/log.h"
#include "kernel/lib/panic.h"
#include "kernel/lib/string.h"
#include "kernel/tty/terminal.h"
#include "tasks/program/spawn.h"

#define QEMU_EXIT_PORT 0xf4
#define QEMU_EXIT_VALUE 0x2a
#define BOCHS_EXIT_PORT 0x8900
#define DEFAULT_PROGRAM "/bin/console"

/* Takes the next string of [*AT, END). NULL when none ends there. */
static const char *next_string(const char **at, const char *end)
{
    const char *string = *at;
    size_t length = strnlen(string, (size_t)(end - string));

    if (string + length >= end)
        return NULL;
    *at = string + length + 1;
    return string;
}

/* Takes a count and that many strings. */
static bool next_strings(const char **at, const char *end, const char **strings, uint32_t *count, size_t *size)
{
    const char *number = next_string(at, end);

    if (number == NULL)
        return false;
    *count = 0;
    for (; *number >= '0' && *number <= '9' && *count < EXEC_STRINGS_MAX; number++)
        *count = *count * 10 + (uint32_t)(*number - '0');
    *strings = *at;
    for (uint32_t i = 0; i < *count; i++) {
        if (next_string(at, end) == NULL)
            return false;
    }
    *size = (size_t)(*at - *strings);
    return *number == '\0';
}

static bool parse_run(const struct cpio_entry *run, const char **path, struct exec_strings *strings)
{
    const char *at = run->data;
    const char *end = at + run->size;

    *path = next_string(&at, end);
    return *path != NULL && next_strings(&at, end, &strings->argv, &strings->argc, &strings->argv_size) &&
           next_strings(&at, end, &strings->envp, &strings->envc, &strings->envp_size);
}

/* Tells the host the first process's status (as waitpid's) and ends the machine. */
static _Noreturn void machine_exit(uint32_t status)
{
    static const char bochs[] = "Shutdown";

    terminal_drain();
    if ((status & 0x7f) != 0)
        log_event("exit signal %u", status & 0x7f);
    else
        log_event("exit code %u", status >> 8 & 0xff);
    outl(QEMU_EXIT_PORT, QEMU_EXIT_VALUE);
    for (const char *c = bochs; *c != '\0'; c++)
        outb(BOCHS_EXIT_PORT, (uint8_t)*c);
    log_line("kernel: the first process is over: the machine may be switched off");
    for (;;)
        cpu_stop();
}

void first_process_start(void)
{
    struct exec_strings strings = {
        .argv = DEFAULT_PROGRAM, .argc = 1, .argv_size = sizeof(DEFAULT_PROGRAM), .envp = ""};
    static const struct credentials root;
    const char *path = DEFAULT_PROGRAM;
    struct cpio_entry run;
    struct file_table *files = NULL;
    struct file *terminal, *executable = NULL;
    struct spawn_program program;
    struct loaded loaded;
    int64_t error;

    group_hooks.first_ended = machine_exit;
    strings.user = &root;
    if (initramfs_find(".kettle/run", &run) == 0 && !parse_run(&run, &path, &strings))
        panic("kernel: .kettle/run of the initramfs is damaged");
    error = file_load(NULL, &(struct name){NAME_WORKING_DIRECTORY, path}, &loaded);
    terminal = terminal_open(2);
    if (terminal != NULL)
        files = file_table_create(terminal);
    if (error == 0 && (files == NULL || file_table_set_program(files, loaded.path) != 0))
        error = -ENOMEM;
    if (error == 0)
        error = file_load_keep(&loaded, &executable);
    if (error == 0)
        file_table_set_executable(files, executable);
    program = (struct spawn_program){.file = &loaded.file, .path = path, .strings = &strings};
    log_event("user");
    if (error == 0)
        error = spawn_process(0, &program, files, NULL);
    if (error < 0)
        panic("kernel: the first program, %s, cannot be started (error %d)", path, (int)error);
    file_unload(&loaded);
}

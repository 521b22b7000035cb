/* console: an interactive console on a raw serial terminal.
 *
 * The terminal hands over every byte as typed and shows only what is written to it: there is no line
 * discipline below, so echo, erase, ^C and ^D are done here. A line ends in a carriage return, a line feed,
 * or both. While a program runs the terminal is the program's. The terminal at the other end is expected to
 * turn a line feed into a new line by itself, as it must for every other program. */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "libc/kettle.h"
#include "userland/help.h"
#include "userland/kernel_list.h"
#include "userland/proc_file.h"
#include "userland/program.h"

#define LINE_MAX_BYTES 512
#define WORDS_MAX 64

#define KEY_INTERRUPT 0x03 /* ^C: give up the line */
#define KEY_END 0x04       /* ^D: on an empty line, the end */
#define KEY_BACKSPACE 0x08
#define KEY_KILL 0x15 /* ^U: erase the line */
#define KEY_ESCAPE 0x1b
#define KEY_DELETE 0x7f

enum line_result { LINE_READY, LINE_DROPPED, LINE_END };

static const char usage[] = "usage: console\n\nAn interactive console; type help in it.\n";

static const char help[] = "help                    this text\n"
                           "kernels                 the kernels and their state\n"
                           "plan                    which kernel owns which CPUs and memory\n"
                           "messages                messages between kernels, by type\n"
                           "trace                   the last messages, if trace=on: kettle-ctl --help has more\n"
                           "syscalls                system calls that were asked for and are not there\n"
                           "start LIST              start kernels: 3, or 1,3,5-7, or all\n"
                           "migrate K               move this console to kernel K; programs start where it is\n"
                           "[run] PROGRAM [ARGS]    run a program of /bin; quote arguments with ' or \"\n"
                           "[run] PROGRAM [ARGS] &  the same, and do not wait for it; there are no pipes or files\n"
                           "exit [STATUS]           leave\n"
                           "Keys: backspace, ^U erases the line, ^C drops it, ^D on an empty line leaves.\n";

/* True when the previous byte ended a line with a carriage return, whose line feed may still come. */
static bool return_seen;

static void echo(const char *bytes, size_t count)
{
    while (count > 0) {
        ssize_t done = write(STDOUT_FILENO, bytes, count);

        if (done <= 0)
            return;
        bytes += done;
        count -= (size_t)done;
    }
}

static void echo_text(const char *text)
{
    echo(text, strlen(text));
}

/* Reads one byte. False at the end of the input. */
static bool key_read(unsigned char *key)
{
    ssize_t count;

    do
        count = read(STDIN_FILENO, key, 1);
    while (count < 0 && errno == EINTR);
    return count == 1;
}

/* Takes the rest of an escape sequence, such as an arrow key's, and does nothing with it. */
static void escape_skip(void)
{
    unsigned char key;

    if (!key_read(&key) || (key != '[' && key != 'O'))
        return;
    while (key_read(&key) && (key < 0x40 || key > 0x7e))
        ;
}

/* Takes the last character, which may be several bytes of UTF-8, off the line and off the screen. */
static size_t character_erase(const char *line, size_t length)
{
    if (length == 0)
        return 0;
    do
        length--;
    while (length > 0 && ((unsigned char)line[length] & 0xc0) == 0x80);
    echo_text("\b \b");
    return length;
}

/* Reads a line into LINE, NUL-terminated and without its end. */
static enum line_result line_read(char line[LINE_MAX_BYTES])
{
    size_t length = 0;
    unsigned char key;

    for (;;) {
        bool after_return = return_seen;

        if (!key_read(&key))
            return LINE_END;
        return_seen = key == '\r';
        if (key == '\n' && after_return)
            continue;
        if (key == '\r' || key == '\n') {
            echo_text("\n");
            line[length] = '\0';
            return LINE_READY;
        }
        if (key == KEY_INTERRUPT) {
            echo_text("^C\n");
            return LINE_DROPPED;
        }
        if (key == KEY_END && length == 0) {
            echo_text("\n");
            return LINE_END;
        }
        if (key == KEY_BACKSPACE || key == KEY_DELETE) {
            length = character_erase(line, length);
        } else if (key == KEY_KILL) {
            while (length > 0)
                length = character_erase(line, length);
        } else if (key == KEY_ESCAPE) {
            escape_skip();
        } else if (key >= ' ' && length < LINE_MAX_BYTES - 1) {
            line[length++] = (char)key;
            echo(&line[length - 1], 1);
        } else if (key >= ' ') {
            echo_text("\a");
        }
    }
}

/* Cuts LINE in place into words at blanks outside quotes. Returns their number, or -1 after saying what is
 * wrong. */
static int words_split(char *line, char *words[WORDS_MAX + 1])
{
    char *out = line;
    int count = 0;

    for (;;) {
        char quote = '\0';

        while (*line == ' ' || *line == '\t')
            line++;
        if (*line == '\0')
            break;
        if (count == WORDS_MAX) {
            fputs("console: too many words\n", stderr);
            return -1;
        }
        words[count++] = out;
        for (; *line != '\0' && (quote != '\0' || (*line != ' ' && *line != '\t')); line++) {
            if (quote == '\0' && (*line == '\'' || *line == '"'))
                quote = *line;
            else if (quote != '\0' && *line == quote)
                quote = '\0';
            else
                *out++ = *line;
        }
        if (quote != '\0') {
            fprintf(stderr, "console: no closing %c\n", quote);
            return -1;
        }
        /* The blank that ended the word may be where its NUL goes, so step over it first. */
        if (*line != '\0')
            line++;
        *out++ = '\0';
    }
    words[count] = NULL;
    return count;
}

static void command_start(const char *text)
{
    struct kernel_list list;
    const char *error = kernel_list_parse(text, kettle_kernels(), &list);

    if (error != NULL)
        fprintf(stderr, "console: %s: %s\n", error, text);
    else
        kernel_list_start(&list, "console", true);
}

static void command_migrate(const char *text)
{
    int kernel;

    if (!kernel_number_parse(text, &kernel))
        fprintf(stderr, "console: not a number: %s\n", text);
    else if (kettle_migrate(kernel) != 0)
        fprintf(stderr, "console: cannot move to kernel %d: %s\n", kernel, strerror(errno));
}

static void command_run(int count, char *words[])
{
    int status;

    if (count > 1 && strcmp(words[count - 1], "&") == 0) {
        pid_t child;

        words[count - 1] = NULL;
        child = program_start(words, "console");
        if (child >= 0)
            printf("process %d\n", (int)child);
        return;
    }
    status = program_run(words, "console");
    if (status != 0)
        printf("exit status %d\n", status);
}

/* Says which of the programs that nobody waited for have ended. */
static void say_ended(void)
{
    int status;
    pid_t child;

    while ((child = waitpid(-1, &status, WNOHANG)) > 0)
        printf("process %d has ended: %s %d\n", (int)child, WIFSIGNALED(status) ? "signal" : "exit status",
               WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
}

/* Does what WORDS say. Returns whether to go on; otherwise *STATUS is the exit status. */
static bool command_do(int count, char *words[], int *status)
{
    const char *name = words[0];

    if (strcmp(name, "help") == 0 && count == 1)
        fputs(help, stdout);
    else if (proc_file_exists(name) && count == 1)
        proc_file_print(name, "console");
    else if (strcmp(name, "start") == 0 && count == 2)
        command_start(words[1]);
    else if (strcmp(name, "migrate") == 0 && count == 2)
        command_migrate(words[1]);
    else if (strcmp(name, "run") == 0 && count >= 2)
        command_run(count - 1, words + 1);
    else if (strcmp(name, "exit") == 0 && count == 1)
        return false;
    else if (strcmp(name, "exit") == 0 && count == 2 && kernel_number_parse(words[1], status) && *status < 256)
        return false;
    else if (strcmp(name, "start") == 0 || strcmp(name, "migrate") == 0 || strcmp(name, "run") == 0 ||
             strcmp(name, "exit") == 0 || strcmp(name, "help") == 0 || proc_file_exists(name))
        fprintf(stderr, "console: wrong arguments for %s; type help\n", name);
    else
        command_run(count, words);
    return true;
}

int main(int argc, char **argv)
{
    static char line[LINE_MAX_BYTES];
    char *words[WORDS_MAX + 1];
    int status = 0;
    bool more = true;

    if (help_asked(argc, argv, usage))
        return 0;
    if (argc > 1) {
        fprintf(stderr, "console: takes no arguments; try console --help\n");
        return 2;
    }
    printf("Kettle console, %d kernel%s; type help.\n", kettle_kernels(), kettle_kernels() == 1 ? "" : "s");
    while (more) {
        enum line_result result;
        int count;

        say_ended();
        printf("kernel %d> ", kettle_kernel());
        fflush(stdout);
        result = line_read(line);
        if (result == LINE_END)
            break;
        if (result == LINE_DROPPED)
            continue;
        count = words_split(line, words);
        if (count > 0)
            more = command_do(count, words, &status);
        fflush(stdout);
    }
    return status;
}

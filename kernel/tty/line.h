/* A terminal's line discipline: turns typed bytes into input for reads, with editing, echo and signals, and written
 * bytes into output, as termios(3) describes it and Linux's n_tty does it, except for output delays, parity marks and
 * EXTPROC. Under the terminal's lock; nothing waits. The states are in kernel/tty/terminal.md. */
#ifndef KERNEL_TTY_LINE_H
#define KERNEL_TTY_LINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LINE_SIZE 4096u

/* Input, output and local flags that mean something here, and the control characters, as Linux numbers them. */
#define LINE_ISTRIP 0000040u
#define LINE_INLCR 0000100u
#define LINE_IGNCR 0000200u
#define LINE_ICRNL 0000400u
#define LINE_IUCLC 0001000u
#define LINE_IXON 0002000u
#define LINE_IXANY 0004000u
#define LINE_IUTF8 0040000u
#define LINE_OPOST 0000001u
#define LINE_OLCUC 0000002u
#define LINE_ONLCR 0000004u
#define LINE_OCRNL 0000010u
#define LINE_ONOCR 0000020u
#define LINE_ONLRET 0000040u
#define LINE_TABS 0014000u /* both bits: tabs become blanks */
#define LINE_ISIG 0000001u
#define LINE_ICANON 0000002u
#define LINE_ECHO 0000010u
#define LINE_ECHOE 0000020u
#define LINE_ECHOK 0000040u
#define LINE_ECHONL 0000100u
#define LINE_NOFLSH 0000200u
#define LINE_TOSTOP 0000400u
#define LINE_ECHOCTL 0001000u
#define LINE_ECHOPRT 0002000u
#define LINE_ECHOKE 0004000u
#define LINE_IEXTEN 0100000u

enum {
    LINE_VINTR,
    LINE_VQUIT,
    LINE_VERASE,
    LINE_VKILL,
    LINE_VEOF,
    LINE_VTIME,
    LINE_VMIN,
    LINE_VSWTC,
    LINE_VSTART,
    LINE_VSTOP,
    LINE_VSUSP,
    LINE_VEOL,
    LINE_VREPRINT,
    LINE_VDISCARD,
    LINE_VWERASE,
    LINE_VLNEXT,
    LINE_VEOL2,
    LINE_CHARACTERS = 19
};

struct line_modes { /* struct termios of the system call, as asm/termbits.h */
    uint32_t input, output, control, local;
    uint8_t discipline;
    uint8_t characters[LINE_CHARACTERS];
};

_Static_assert(sizeof(struct line_modes) == 36, "Linux ABI");

struct line {
    struct line_modes modes;
    uint16_t bytes[LINE_SIZE]; /* a ring; each entry is a byte and, in its upper half, END_* of line.c */
    uint32_t head;             /* entries ever put in, including the line being typed */
    uint32_t ready;            /* entries ever put in that reads may take */
    uint32_t tail;             /* entries ever taken out */
    uint32_t ends;             /* entries between tail and ready that end a line */
    uint32_t column;           /* the cursor's column */
    uint32_t start;            /* the cursor's column where the line being typed began */
    bool literal;              /* the next byte is taken as it is */
    bool erasing;              /* erased characters are being shown between \ and / (ECHOPRT) */
    bool stopped;              /* output is stopped, by ^S or by a program */
    bool held;                 /* a program stopped it, so keys do not restart it */
    bool finished;             /* no more input comes: reads return 0 */
    const struct line_output_side *side;
    void *context;
};

#define LINE_SENT_MAX 8u /* bytes that are sent at most for one written byte */

struct line_output_side {
    void (*send)(void *context, uint8_t byte); /* accepts a byte of output */
    void (*discard)(void *context);            /* discards output that is not yet sent */
};

/* Begins in raw mode: every byte is readable at once, no echo, no signals. The caller keeps the ownership of SIDE. */
void line_init(struct line *line, const struct line_output_side *side, void *context);
/* Sets the initial modes of Linux's terminals: lines, echo, signals, ^S and ^Q. */
void line_set_cooked(struct line *line);
/* True if line_input takes another byte. This includes a full line that has no end yet: reading cannot make room in it,
 * so line_input drops the byte with a bell. */
bool line_room(const struct line *line);
/* Processes the typed BYTE. Returns the signal that BYTE stands for, or 0. */
uint32_t line_input(struct line *line, uint8_t byte);
/* The program writes BYTE. At most LINE_SENT_MAX bytes are sent. */
void line_output(struct line *line, uint8_t byte);
/* True if a read of SIZE > 0 bytes can return now, perhaps 0 for the end. LATE: line_timeout has expired. */
bool line_readable(const struct line *line, size_t size, bool late);
/* The timeout of a read that cannot return now, in tenths of a second; 0: it waits without limit. */
uint32_t line_timeout(const struct line *line);
/* True if a poll finds input. */
bool line_polls(const struct line *line);
/* Takes up to SIZE bytes, in canonical mode of one line; returns their number, 0 at the end. Only if line_readable. */
size_t line_read(struct line *line, uint8_t *to, size_t size);
/* The number of entries that reads may take: bytes, and ends of a line without a byte. */
uint32_t line_available(const struct line *line);
/* The number of bytes among them. */
uint32_t line_bytes(const struct line *line);
/* Sets other modes; FLUSH: typed input is discarded. */
void line_set_modes(struct line *line, const struct line_modes *modes, bool flush);
void line_flush(struct line *line);
/* TCOOFF and TCOON: a program stops output, or restarts output that a program has stopped. */
void line_hold(struct line *line, bool hold);

#endif

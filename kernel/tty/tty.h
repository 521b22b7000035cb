/* Terminals: what the serial line (terminal.h) and pseudo-terminals (pty.h) have in common: a line discipline with its
 * input and output, the session and its foreground process group. All terminals are on kernel 0. kernel/tty/terminal.md
 * has the states.
 *
 * Marks: [i] set once; [k] under lock; [t] under the lock of the table of terminals, which is taken before it. */
#ifndef KERNEL_TTY_TTY_H
#define KERNEL_TTY_TTY_H

#include "kernel/file/file.h"
#include "kernel/file/wire.h"
#include "kernel/tty/line.h"

/* ioctls, as Linux numbers them. */
#define TCGETS 0x5401u
#define TCSETS 0x5402u
#define TCSETSW 0x5403u
#define TCSETSF 0x5404u
#define TCSBRK 0x5409u
#define TCXONC 0x540au
#define TCFLSH 0x540bu
#define TIOCEXCL 0x540cu
#define TIOCNXCL 0x540du
#define TIOCSCTTY 0x540eu
#define TIOCGPGRP 0x540fu
#define TIOCSPGRP 0x5410u
#define TIOCOUTQ 0x5411u
#define TIOCGWINSZ 0x5413u
#define TIOCSWINSZ 0x5414u
#define TIOCINQ 0x541bu
#define TIOCPKT 0x5420u
#define TIOCNOTTY 0x5422u
#define TCSBRKP 0x5425u
#define TIOCGSID 0x5429u
#define TIOCGPTPEER 0x5441u
#define TIOCGPTN 0x80045430u
#define TIOCSPTLCK 0x40045431u
#define TIOCSIG 0x40045436u
#define TIOCGPKT 0x80045438u
#define TIOCGPTLCK 0x80045439u
#define TIOCGEXCL 0x80045440u
#define TIOC_ADOPT 0xb001u /* ours: as TIOCSCTTY, after an open; fails if another session has the terminal */

enum { FLUSH_INPUT, FLUSH_OUTPUT, FLUSH_BOTH }; /* what TCFLSH discards */

#define TTY_ECHO_ROOM 256u  /* bytes of the output ring that writes leave free for echo */
#define TTY_OWN 0x500u      /* /dev/tty: the controlling terminal of the caller's session */
#define TTY_MULTIPLEX 0x502 /* /dev/ptmx */
#define OPEN_NO_TERMINAL 0400u

struct tty_ring {
    uint8_t *bytes; /* [i] */
    uint32_t size;  /* [i] a power of two */
    uint32_t head;  /* bytes ever put in */
    uint32_t tail;  /* bytes ever taken out */
};

static inline uint32_t tty_ring_used(const struct tty_ring *ring)
{
    return ring->head - ring->tail;
}

/* Actions that tty_finish performs after the lock is released. */
struct tty_after {
    bool event;        /* wake readers and writers */
    bool master_event; /* wake readers and writers of the master */
    uint32_t signals;  /* bit s: send signal s to GROUP */
    uint32_t group;
};

struct tty;

struct tty_driver { /* pull and push are called under the terminal's lock, tell without it */
    /* Takes input as long as the line has room. */
    void (*pull)(struct tty *tty, struct tty_after *after);
    /* Bytes were added to the output ring, or output may resume. */
    void (*push)(struct tty *tty, struct tty_after *after);
    /* Wakes the users of the master (master_event). */
    void (*notify)(struct tty *tty);
};

struct tty {
    struct list node;                /* [t] */
    uint64_t number;                 /* [i] device: major << 8 | minor, as Linux */
    const struct tty_driver *driver; /* [i] */
    struct spinlock lock;
    struct line line;       /* [k] */
    struct tty_ring output; /* [k] not yet sent */
    bool read_wanted;       /* [k] a reader or poller found nothing to read */
    bool write_wanted;      /* [k] a writer or poller found no room */
    bool hung;              /* [k] the master was closed */
    bool holds_writers;     /* [i] writes wait while output is stopped */
    bool exclusive;         /* [k] TIOCEXCL: only root opens it */
    uint32_t foreground;    /* [k] process group in the foreground; 0: none */
    uint32_t session;       /* [k] whose controlling terminal this is; 0: none */
    uint16_t window[4];     /* [k] rows, columns, width and height in pixels */
    uint32_t flushed;       /* [k] TTY_FLUSHED_*: flushes that packet mode has not reported yet */
    struct file_events events;
};

#define TTY_FLUSHED_INPUT 1u /* values of the status byte of packet mode */
#define TTY_FLUSHED_OUTPUT 2u

/* The caller's identity in a request (struct file_request, `group`). */
#define TTY_ANYBODY 0u       /* job control does not apply to this request */
#define TTY_ASK UINT32_MAX   /* the caller's kernel does not know its process group */
#define TTY_WHO 600          /* as an error: the caller is, or may be, in the background of session `seen` */
#define TTY_LATE 0x80000000u /* in the flags of a FILE_READ: its timeout has expired */

/* The argument of commands about sessions. */
struct tty_identity {
    uint32_t argument;
    uint32_t group, session; /* the caller's */
    uint32_t process;
    uint32_t root;          /* 1: the caller may take a terminal from another session */
    uint32_t found;         /* TIOCSPGRP: number of processes in the new foreground group */
    uint32_t found_session; /* and its session */
};

/* Initializes TTY, which is zeroed except for NUMBER, DRIVER and the output ring, in raw mode. */
void tty_init(struct tty *tty);
/* Adds the driver's TTY to the table. */
void tty_add(struct tty *tty);

/* Operations of open files whose state is a struct tty. */
int64_t tty_act(struct file *file, const struct file_request *request, const void *data, size_t size, void *result,
                size_t room, struct file_answer *answer);
int64_t tty_read(struct file *file, void *data, size_t size);
int64_t tty_write(struct file *file, const void *data, size_t size, uint32_t flags);
uint32_t tty_poll(struct file *file);
int64_t tty_control(struct file *file, uint32_t command, void *data);
/* An ioctl; MASTER: of a pseudo-terminal's master. Under the lock. */
int64_t tty_control_locked(struct tty *tty, bool master, uint32_t command, void *data, struct tty_after *after);

/* Moves as many bytes as possible in both directions. Under the lock. */
void tty_move_locked(struct tty *tty, struct tty_after *after);
/* Performs the actions in AFTER. Without the lock. */
void tty_finish(struct tty *tty, const struct tty_after *after);
/* Room for writes. Under the lock. */
uint32_t tty_room_locked(const struct tty *tty);
/* Passes one byte of input to the line. Under the lock. */
void tty_input_locked(struct tty *tty, uint8_t byte, struct tty_after *after);
/* Records in AFTER that readers are to be woken. Under the lock. */
void tty_readable_locked(struct tty *tty, struct tty_after *after);

/* The master was closed: reads return 0 from now on, the leader of the session gets SIGHUP and SIGCONT, and TTY leaves
 * the table of terminals. Without locks. */
void tty_hang_up(struct tty *tty);
/* The leader of SESSION has ended: the foreground group gets SIGHUP, and the terminal has no session any more. Kernel
 * 0, any context. */
void tty_session_ended(uint32_t session);
/* KERNEL has died: so it is for all sessions at home there. Tasks only; may wait for other kernels. */
void tty_lost(uint32_t kernel);

/* Opens the terminal NUMBER for a name whose node has FACTS; FLAGS: with OPEN_ANYWAY for root. -ENXIO: there is no such
 * terminal; -EIO: it is locked or hung up; -EBUSY: it is exclusive; -ENOMEM. *SESSION: the session whose controlling
 * terminal it is. */
int64_t tty_open(uint64_t number, const struct file_facts *facts, uint32_t flags, struct file **out, uint32_t *session);
/* The terminal of SESSION, likewise. */
int64_t tty_open_own(uint32_t session, uint32_t flags, struct file **out);
/* The terminal of SESSION: device << 32 | process group in the foreground. 0: it has none. */
int64_t tty_of_session(uint32_t session);

bool tty_is_slave(uint64_t number);

#endif

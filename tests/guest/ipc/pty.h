/* What the files of test-pty share: pairs of pseudo-terminals, and children in sessions of their own, each at another
 * place than the one before. */
#ifndef TESTS_GUEST_PTY_H
#define TESTS_GUEST_PTY_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "tests/guest/harness/tap.h"

/* The pair of the running test: the slave is open if it was asked for. */
extern int pty_master, pty_slave;
extern char pty_name[32];
/* Makes it; true unless that failed, which is noted. */
bool pty_make(bool slave);
void pty_unmake(void);

/* CONDITION must hold, else the calling process, a child, ends. Its terminal may be what it says so on; the line of the
 * test's result says it, too. */
#define HOLDS(condition) REQUIRE(condition, "%s", tap_error(errno))

/* Moves to the PLACEth kernel, modulo their number. */
void pty_go(int place);
/* Starts a child that runs BODY and exits with what it returns. */
pid_t pty_start(int (*body)(void));
/* That, and checks that it exits with 0. */
#define CHECK_CHILD(body) CHECK_EXITS(pty_start(body), 0)

/* In a child: becomes the leader of a session whose terminal is the slave, which is its descriptors 0 to 2. */
void pty_lead(void);
/* Children and parents tell each other that they have come so far. */
void pty_send_mark(char what);
char pty_receive_mark(void);

/* Writes TEXT to the master or the slave, whole. */
bool pty_put(int fd, const char *text);
/* The next read of FD, of at most 200 bytes, is TEXT, or of the master what is read next; else it is noted. */
bool pty_reads(int fd, const char *text, int line);
#define CHECK_READ(fd, text) pty_reads(fd, text, __LINE__)
/* Reads FD until TEXT has come, whatever comes before. False: the end. */
bool pty_await(int fd, const char *text);

/* --- pty_session.c --- */

void pty_test_terminal_of_session(void);
void pty_test_foreground_rules(void);
void pty_test_keys(void);
void pty_test_background_read(void);
void pty_test_background_ignored(void);
void pty_test_tostop(void);
void pty_test_background_modes(void);
void pty_test_orphans_do_not_stop(void);
void pty_test_orphaned_while_stopped(void);
void pty_test_other_session_stopped(void);
void pty_test_leader_ends(void);
void pty_test_hang_up(void);
void pty_test_hang_up_before(void);
void pty_test_window(void);

#endif

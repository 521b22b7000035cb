/* What the parts of test-users share: whose processes there are, and what a child of a test finds. */
#ifndef TESTS_GUEST_USERS_H
#define TESTS_GUEST_USERS_H

#include <sys/types.h>

#include "tests/guest/harness/tap.h"

#define USER 1000
#define OTHER 1001
#define GROUP 100
#define OTHER_GROUP 101

/* WHAT must hold, else the calling process, a child, ends. */
#define HOLDS(what) REQUIRE(what, "%s", tap_error(errno))

/* Does BODY in a child; it holds what BODY says. */
void users_in_child(int (*body)(void *), void *context);
/* In a child: it has the user and the group from now on, and no further groups. 0, or 1 and the reason is printed. */
int users_become(uid_t user, gid_t group);
/* This program under NAME, which does not exist. 0, or not and the reason is printed. */
int users_copy_self(const char *name);
/* A child of another user, on the kernel of that number, that sleeps; -1: there is none. */
pid_t users_sleeper(long number, uid_t user);

/* users_reach.c: into the memory and the descriptors of others; and what the program says that is run for that. */
void users_test_reach(void);
void users_test_memory(void);
void users_test_take(void);
int users_print_memory(void);
int users_print_victim(void);
int users_print_secret(void);

#endif

/* A set of files, and who waits for it; kernel/file/event/epoll.md has the tables, kernel/file/event/epoll.c and kernel/file/event/far.c the functions
 * that are named here. Kernel 0 has the set and one file of it (HERE), kernel 1 the other (FAR). WAITERs have room for one
 * event, and read one byte where they were told of some; a WRITER puts one byte into a file.
 *
 * An atomic step is a critical section of epoll->scan, or of a part of it that others see; of poll_lock, of a file's own
 * lock, or one access without a lock. What a waiter of a third kernel does is done at kernel 0 for it, by FILE_OPERATE, a
 * worker (EPOLL_WAIT) and a kept request (WATCH): its messages only take time, as each step here may. Messages from
 * kernel 0 to kernel 1 arrive in order; the notice (NOTIFY) goes on its own. That an arm's memory stays until it has
 * gone is left out: poll.pml has it.
 *
 * A count of events that is compared is a flag here: there was one since. A token of which nothing is left is used again.
 *
 * Asserted: when nothing happens any more nobody waits while bytes lie in a file, no question's arm is left but the last
 * one's, and none once the set is closed; one shot is told to one.
 *
 * Level-triggered; -DCHANGE: another item of kernel 1 goes; -DFAIL: for a question there is no memory, and who asked gives
 * up. -DEDGE: edge-triggered; the waiter takes all there is in one read, and finds nothing not ready. -DSHOT: one shot, set
 * anew by who has read. -DCLOSE: the set is closed meanwhile. -DNEAR: only the file here, and two writers; -DAWAY: only the
 * other one.
 *
 * -DSHORT: one waiter with -DCLOSE.
 *
 * Seeded bugs: 1 the set's events are counted after looking; 2 an item leaves the ready list after its file was looked at;
 * 3 what is ready, level-triggered, is not listed again; 4 `told` is cleared after asking; 5 a change during a question
 * is forgotten; 6 while a far is asked others take it for armed; 7 who waits is not told that the arm that was to tell has
 * ended; 8 so is the arm of which there is no new one; 9 an arm ends as some files are ready; 10 it ends before the next
 * one is there; 11 what is set anew is not listed; 12 the arm of a set that was closed meanwhile stays; 13 an event is
 * told before `telling` is cleared; 14 two ask at once. */
#ifndef BUG
#define BUG 0
#endif
#define HERE 0
#define FAR 1
#define SLOTS 4      /* tokens */
#ifdef EDGE
#define WAITERS 1
#define BYTES 2
#define KEEPS true
#else
#define KEEPS false
#if defined(CLOSE) && defined(SHORT)
#define WAITERS 1
#else
#define WAITERS 2
#endif
#ifdef CLOSE
#define BYTES 1
#else
#define BYTES 2
#endif
#endif
#ifdef SHOT
#define ONE_SHOT true
#else
#define ONE_SHOT false
#endif

mtype = { NONE, OF_NONE, ARMED, FIRED, POLL, POLL_END };

chan request = [4] of { mtype, byte };   /* to kernel 1: token */
chan answer = [1] of { bool, byte };     /* ready, count of events */
chan tell = [SLOTS] of { byte };         /* NOTIFY */

byte bytes[2];
bool wanted[2];
byte counted;         /* events of FAR */
byte written, taken;

bool scan;            /* epoll->scan */
bool listed;          /* the item of HERE is in the ready list */
bool hooked = true;   /* it has its hook */
bool telling;
bool off[2];          /* disabled */
byte holders[2];      /* who was told of a one shot, and has not set it anew */
byte seen;            /* of FAR: one more than the count of events it was last reported with */
bool news[WAITERS];   /* events of the set since its count was read */
bool ended[WAITERS];
bool gone, closed;    /* the set: out of the table of files; released */

bool armed, told, changed, asking; /* of struct epoll_far */
byte token, entry;   /* the last one; 0: it is told nothing */
byte asked;           /* of the question: `seen` */
bool no_items;           /* and no item */
mtype arm[SLOTS + 1];
byte failures;

#ifdef NEAR
#define DUE false
#else
#define DUE (!closed && (!armed || changed || told))
#endif
#define HANGS(c) (arm[c] == ARMED || arm[c] == FIRED)
#define HOOKS (HANGS(1) || HANGS(2) || HANGS(3) || HANGS(4))

/* file_event() of the set's file */
inline set_event()
{
    d_step {
        news[0] = true;
        news[WAITERS - 1] = true
    }
}

inline disarm(c)
{
    arm[c] = NONE
}

/* pipe_write(), then file_event() of the file */
inline write(f)
{
    atomic {
        bytes[f]++;
        event = wanted[f] || (f == HERE && hooked) || (f == FAR && HOOKS);
        wanted[f] = false
    }
    if
    :: event && f == FAR ->
#ifdef EDGE
        counted++;
#endif
        atomic { /* fire_arm() of each, notify_asker() */
            for (c : 1 .. SLOTS) {
                if
                :: arm[c] == ARMED -> arm[c] = FIRED; tell!c
                :: else
                fi
            }
            c = 0
        }
    :: event && f == HERE ->
        atomic { /* fire() */
            if
            :: hooked -> listed = true; mine = !telling; telling = true
            :: else
            fi
        }
        if
        :: mine && BUG != 13 -> telling = false; set_event()
        :: mine && BUG == 13 -> set_event(); telling = false
        :: else
        fi
    :: else
    fi;
    event = false;
    mine = false
}

proctype writer()
{
    byte c;
    bool event, mine;

    do
#ifndef NEAR
    :: atomic { written < BYTES -> written++ }
        write(FAR)
#endif
#ifndef AWAY
    :: atomic { written < BYTES -> written++ }
        write(HERE)
#endif
    :: written == BYTES -> break
    od
}

/* The message loop of kernel 1: look() and disarm() of poll.c. */
proctype keeper()
{
    byte c, count;
    bool found, is_ready;

end:
    do
    :: atomic { request?POLL, c ->
            assert(arm[c] == NONE);
            arm[c] = (no_items -> OF_NONE : ARMED)
        }
#ifdef EDGE
        count = counted;
#endif
        if
        :: no_items
        :: else -> atomic { found = bytes[FAR] > 0; wanted[FAR] = wanted[FAR] || !found }
        fi;
        atomic {
            is_ready = found && (asked == 0 || asked != count + 1);
            if
            :: is_ready && KEEPS && BUG != 9 -> arm[c] = (arm[c] == ARMED -> FIRED : arm[c])
            :: is_ready && !(KEEPS && BUG != 9) -> disarm(c)
            :: else
            fi;
            answer!is_ready, count;
            c = 0;
            count = 0;
            found = false;
            is_ready = false
        }
    :: atomic { request?POLL_END, c -> disarm(c); c = 0 }
    od
}

/* The message loop of kernel 0: handle_ready(), told() of kernel/file/event/far.c. */
proctype handler()
{
    byte c;
    bool mine;

end:
    do
    :: atomic { tell?c -> mine = entry == c; told = told || mine; c = 0 }
        atomic {
            if
            :: mine -> set_event()
            :: else
            fi;
            mine = false
        }
    od
}

/* epoll_report() of what has some; holds scan. */
inline report(f)
{
    if
    :: !off[f] ->
        got = true;
        which = f;
        if
        :: ONE_SHOT -> off[f] = true; holders[f]++; assert(holders[f] == 1)
        :: else
        fi
    :: else
    fi
}

/* epoll_collect(); holds scan. An event may come at any step. */
inline collect()
{
    if
    :: !listed
    :: atomic { listed -> listed = BUG == 2; found = false }
        if
        :: !off[HERE] -> atomic { found = bytes[HERE] > 0; wanted[HERE] = wanted[HERE] || !found }
        :: else
        fi;
        atomic {
            if
            :: BUG == 2 -> listed = false
            :: else
            fi;
            if
            :: found -> report(HERE)
            :: else
            fi;
#ifndef EDGE
            if
            :: found && !ONE_SHOT && BUG != 3 -> listed = true
            :: else
            fi;
#endif
            found = false
        }
    fi
}

/* ask() of kernel/file/event/far.c */
inline ask()
{
    atomic {
        !scan ->
            failed = false;
            over = closed;
            before = 0;
            relied = false;
            if
#ifdef FAIL
            :: !closed && failures < 1 -> failures++; failed = true; before = (BUG == 8 -> token : 0)
#endif
            :: !closed ->
                before = token;
                relied = armed && !told;
                token = 1;
                do
                :: arm[token] != NONE || token == before || tell??[eval(token)] -> token++; assert(token <= SLOTS)
                :: else -> break
                od;
                entry = token;
                told = told && BUG == 4;
                armed = armed && BUG == 6;
                changed = false;
                asked = seen;
                no_items = off[FAR]
            :: else
            fi
    }
    if
    :: over
    :: failed ->
        if
        :: before != 0 -> request!POLL_END, before
        :: else
        fi
    :: !over && !failed ->
        atomic {
            if
            :: BUG == 10 && before != 0 -> request!POLL_END, before
            :: else
            fi;
            request!POLL, token
        }
        atomic {
            answer?ready, count;
            if
            :: BUG != 10 && before != 0 -> request!POLL_END, before
            :: else
            fi
        }
        atomic {
            !scan ->
                over = closed;
                if
                :: BUG == 4 -> told = false
                :: else
                fi;
                if
                :: !closed -> /* question_take() */
                    if
                    :: ready && !(seen != 0 && seen == count + 1) ->
                        report(FAR);
#ifdef EDGE
                        seen = count + 1
#endif
                    :: else
                    fi;
                    armed = !ready;
                    changed = changed && BUG != 5
                :: else
                fi
        }
        if
        :: relied && ready && BUG != 7 -> set_event()
        :: else
        fi;
        if
        :: over && BUG != 12 -> entry = 0; request!POLL_END, token
        :: else
        fi
    fi;
    atomic { before = 0; count = 0; ready = false; relied = false; over = false }
}

/* wait_here() */
inline wait_here()
{
    atomic {
        !scan && (!asking || BUG == 14) ->
            asking = true;
            scan = true;
            parts = 0;
            if
            :: far_first = true
            :: far_first = false
            fi
    }
    do
    :: atomic { parts < 2 && !got && !failed && (parts == 0) == far_first && DUE -> parts++; scan = false }
        ask();
        atomic { !scan -> scan = true }
    :: atomic { parts < 2 && !got && !failed && (parts == 0) == far_first && !DUE -> parts++ }
    :: atomic { parts < 2 && !got && !failed && (parts == 0) != far_first -> parts++ }
        collect()
    :: parts == 2 || got || failed -> break
    od;
    atomic { asking = false; scan = false; parts = 0; far_first = false }
}

/* epoll_ctl: EPOLL_MODIFY of F */
inline set_anew(f)
{
    atomic {
        !scan ->
            holders[f]--;
            off[f] = false;
            if
            :: f == HERE && BUG != 11 -> listed = true
            :: f == FAR -> seen = 0; changed = true
            :: else
            fi
    }
    set_event()
}

/* wait_events() of calls/epoll.c */
proctype waiter(byte me)
{
    byte which, before, count, parts;
    bool got, due, found, failed, over, ready, relied, far_first;

    do
    :: gone -> break /* EBADF */
    :: else ->
        news[me] = (BUG == 1 -> news[me] : false);
        atomic { !scan -> due = DUE; scan = !due } /* look() */
        if
        :: due -> wait_here()
        :: else -> collect(); scan = false
        fi;
        atomic {
            due = false;
            news[me] = (BUG == 1 -> false : news[me])
        }
        if
        :: got ->
            atomic {
                got = false;
#ifdef EDGE
                taken = taken + bytes[which];
                bytes[which] = 0
#else
                ready = bytes[which] > 0; /* another one may have been quicker */
                taken = taken + ready;
                bytes[which] = bytes[which] - ready
#endif
            }
#ifdef SHOT
            set_anew(which);
#endif
#ifndef EDGE
            if
            :: ready -> break
            :: else
            fi
#endif
        :: !got && failed -> break /* ENOMEM */
        :: else -> news[me] || gone || (taken == BYTES && WAITERS == 1)
        fi;
        if
        :: taken == BYTES -> break
        :: else
        fi
    od;
    ended[me] = true
}

/* EPOLL_DELETE of another item of kernel 1 */
proctype changer()
{
    atomic { !scan -> changed = true }
}

/* file_close() of the set, and release() */
proctype closer()
{
    gone = true;
    atomic { !scan -> closed = true; hooked = false; listed = false }
    entry = 0;
    if
    :: token != 0 -> request!POLL_END, token
    :: else
    fi;
    set_event()
}

init {
    byte i;

    atomic {
        for (i : 0 .. SLOTS) {
            arm[i] = NONE
        }
#ifndef AWAY
        listed = true;
#endif
        run keeper();
        run handler();
        run writer();
#ifdef NEAR
        run writer();
#endif
        run waiter(0);
#if WAITERS == 2
        run waiter(1);
#endif
#ifdef CHANGE
        run changer();
#endif
#ifdef CLOSE
        run closer()
#endif
    }
    timeout;
    assert(written == BYTES && !scan && !asking);
    assert(ended[0] && ended[WAITERS - 1]);
#ifndef CLOSE
    assert(bytes[HERE] + bytes[FAR] == failures && taken + failures == BYTES);
#endif
    for (i : 1 .. SLOTS) {
        assert(arm[i] == NONE || (i == token && !closed))
    }
}

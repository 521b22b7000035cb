/* Waiting for files of two kernels; kernel/file/files.md has the tables. ASKER is a thread of kernel 0 that polls a file on
 * kernel 1 and one on kernel 2, and then reads one byte where it found some. WRITERs put bytes there; a THIEF may be
 * quicker than the asker, once, so that what it was woken for is gone. A wait may be interrupted.
 *
 * An atomic step is a critical section of poll_lock, or of the file's own lock. Messages from kernel 0 arrive in order;
 * the notice (NOTIFY) goes the other way on its own: first it waits for room, and its arm's memory is in use.
 *
 * Asserted: an arm's memory is not used after it has gone; a kernel tells of a token once; when nothing happens any more
 * no byte lies where the asker waits for it, and no arm is left but those of a poll that waits.
 *
 * -DNEAR: the second file is on the asker's kernel, which is told and answered at once.
 *
 * -DSHORT: one byte is written; with -DNEAR two, and no wait is interrupted.
 *
 * Seeded bugs: 1 a kernel looks before it arms; 2 the end of a poll frees an arm whose notice is under way; 3 the
 * asker's wait is in the table only when it begins to wait; 4 each event tells again; 5 who is interrupted ends nothing;
 * 6 who finds a file ready ends only that kernel's arm; 7 a file with hooks counts no event unless it was found not ready
 * by a read; 8 a notice of a poll that is over, which has gone, leaves its arm. */
#ifndef BUG
#define BUG 0
#endif
#define FILES 2
/* Writes in all; interrupts. */
#if !defined(SHORT)
#define BYTES 2
#define INTERRUPTS 1
#elif defined(NEAR)
#define BYTES 2
#define INTERRUPTS 0
#else
#define BYTES 1
#define INTERRUPTS 1
#endif
#define TOKENS 8     /* rounds: two for each byte, one to be told and one to find it; the thief's and the interrupt's */
#ifdef NEAR
#define IS_NEAR(f) ((f) == 1)
#else
#define IS_NEAR(f) false
#endif

mtype = { NONE, ARMED, TELLING, FIRED, OVER, POLL, POLL_END };

chan request[FILES] = [3] of { mtype, byte, bool }; /* token, arm */
chan answer = [1] of { bool };                      /* ready */
chan notice[FILES] = [4] of { byte };               /* NOTIFY that waits for room: token */
chan tell = [4] of { byte };                        /* on its way */

mtype arm[16];       /* [file * TOKENS + token] */
byte bytes[FILES];
bool wanted[FILES];
byte times_told[16];
byte entry;          /* token of the wait in the asker's table; 0: none */
bool completed;
bool waits;
byte written, taken, interrupts;
byte events;         /* under way */

#define ARM(f, c) arm[(f) * TOKENS + (c)]
#define ARMS(f) (ARM(f, 1) == ARMED || ARM(f, 2) == ARMED || ARM(f, 3) == ARMED || ARM(f, 4) == ARMED || \
                 ARM(f, 5) == ARMED || ARM(f, 6) == ARMED || ARM(f, 7) == ARMED)

inline tell_waiter(c)
{
    if
    :: entry == (c) -> completed = true
    :: else
    fi
}

inline end_telling(f, c)
{
    assert(ARM(f, c) == TELLING || ARM(f, c) == OVER);
    if
    :: ARM(f, c) == OVER && BUG != 8 -> ARM(f, c) = NONE
    :: ARM(f, c) == TELLING -> ARM(f, c) = FIRED
    :: else
    fi
}

inline disarm(f, c)
{
    if
    :: ARM(f, c) == ARMED || ARM(f, c) == FIRED -> ARM(f, c) = NONE
    :: ARM(f, c) == TELLING && BUG != 2 -> ARM(f, c) = OVER
    :: ARM(f, c) == TELLING && BUG == 2 -> ARM(f, c) = NONE
    :: else
    fi
}

/* What a kernel does for POLL: two steps, with events between them. */
inline look(f, c, with_arm, found)
{
    if
    :: BUG == 1 -> atomic { found = bytes[f] > 0; wanted[f] = wanted[f] || (!found && BUG != 7) }
    :: else
    fi;
    atomic {
        if
        :: with_arm -> assert(ARM(f, c) == NONE); ARM(f, c) = ARMED
        :: else
        fi
    }
    atomic {
        if
        :: BUG != 1 -> found = bytes[f] > 0; wanted[f] = wanted[f] || (!found && BUG != 7)
        :: else
        fi;
        if
        :: found && with_arm -> disarm(f, c)
        :: else
        fi
    }
}

/* One byte more in file F: the file's lock, then an event if anybody wants one, then who is to be told. */
proctype writer(byte f)
{
    byte c;
    bool event;

    atomic {
        bytes[f]++;
        event = wanted[f] || (BUG != 7 && ARMS(f));
        wanted[f] = false
    }
    atomic { /* at most one is armed: the end of a poll comes before the next */
        c = (event -> TOKENS - 1 : 0);
        do
        :: c > 0 && ARM(f, c) != ARMED && !(BUG == 4 && ARM(f, c) == FIRED) -> c--
        :: else -> break
        od;
        if
        :: c > 0 ->
            ARM(f, c) = TELLING;
            times_told[f * TOKENS + c]++;
            assert(times_told[f * TOKENS + c] == 1)
        :: else
        fi
    }
    atomic {
        if
        :: c > 0 && IS_NEAR(f) -> tell_waiter(c); end_telling(f, c)
        :: c > 0 && !IS_NEAR(f) -> notice[f]!c
        :: else
        fi
    }
    events--
}

proctype thief(byte f)
{
    atomic {
        if
        :: bytes[f] > 0 -> bytes[f]--; taken++
        :: else
        fi
    }
}

/* The message loop of the kernel of file F. */
proctype keeper(byte f)
{
    byte c;
    bool with_arm, found;

end:
    do
    :: request[f]?POLL, c, with_arm ->
        look(f, c, with_arm, found);
        answer!found;
        atomic { c = 0; with_arm = false; found = false }
    :: atomic { request[f]?POLL_END, c, with_arm -> disarm(f, c); c = 0; with_arm = false }
    :: atomic { notice[f]?c -> tell!c; end_telling(f, c); c = 0 }
    od
}

/* The message loop of kernel 0. */
proctype handler()
{
    byte c;

end:
    do
    :: atomic { tell?c -> tell_waiter(c); c = 0 }
    od
}

inline end_poll(f)
{
    if
    :: armed[f] && IS_NEAR(f) -> atomic { disarm(f, token) }
    :: armed[f] && !IS_NEAR(f) -> request[f]!POLL_END, token, false
    :: else
    fi;
    armed[f] = false
}

proctype asker()
{
    byte token, f, which;
    bool armed[FILES];
    bool found, ready, interrupted;

    do
    :: taken == BYTES -> break
    :: else ->
        atomic {
            token++;
            assert(token < TOKENS);
            completed = false;
            ready = false;
            interrupted = false;
            f = 0;
            if
            :: BUG != 3 -> entry = token
            :: else
            fi
        }
        do
        :: f < FILES ->
            armed[f] = !ready;
            if
            :: IS_NEAR(f) -> look(f, token, armed[f], found)
            :: else -> request[f]!POLL, token, armed[f]; answer?found
            fi;
            atomic {
                if
                :: found -> which = f; ready = true; armed[f] = false
                :: else
                fi;
                found = false;
                f++
            }
        :: else -> break
        od;
        if
        :: !ready ->
            atomic { entry = token; waits = true }
end:
            if
            :: completed
            :: atomic { interrupts < INTERRUPTS -> interrupts++; interrupted = true }
            fi;
            waits = false
        :: else
        fi;
        entry = 0;
        if
        :: (interrupted && BUG == 5) || (ready && BUG == 6) -> armed[0] = false; armed[1] = false
        :: else -> end_poll(0); end_poll(1)
        fi;
        atomic {
            if
            :: ready && bytes[which] > 0 -> bytes[which]--; taken++
            :: else
            fi;
            which = 0
        }
    od
}

init {
    atomic {
        for (written : 0 .. TOKENS * FILES - 1) {
            arm[written] = NONE
        }
        written = 0;
        run keeper(0);
        run keeper(1);
        run handler();
        run asker()
    }
    do
    :: atomic { written < BYTES -> written++; events++; run writer(0) }
    :: atomic { written < BYTES -> written++; events++; run writer(1) }
    :: atomic { written == BYTES -> run thief(0); break }
    :: atomic { written == BYTES -> run thief(1); break }
    od;
    timeout;
    assert(events == 0);
    assert(bytes[0] + bytes[1] == 0 && taken == BYTES);
    for (written : 0 .. TOKENS * FILES - 1) {
        assert(arm[written] == NONE || (waits && arm[written] == ARMED))
    }
}

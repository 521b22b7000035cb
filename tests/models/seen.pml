/* Accesses that are seen, and memory that follows its users (mm/numa.md, mm/seen/hints.md): one page of a space of two kernels, 0
 * its home, each on its own node. The timer of each kernel takes the accessed bit of its entry (or hides the entry), flushes, and
 * reports to the home in a message, which a handler notes and answers. The home's timer moves the page to the node that was seen
 * last. Messages to a kernel, answers too, are taken by its one handler, which waits for references to the space when it is to free
 * it. The processor sets the accessed bit when it fills its TLB, and does not look at the entry while the TLB has it.
 *
 * Checked: an access after a look is found by the next one, and with faults it is counted once, whoever else faults; the page does
 * not move when mbind has returned that forbids it, nor in a space that has ended; no report comes to a kernel that is not the
 * home; a policy that is chosen is followed, and no deadlock.
 *
 * -DEND: the process ends, in place of mbind. -DFAULTS: entries are hidden, and kernel 1 has two threads. -DSTOP: the home stops,
 * kernel 1 succeeds it, and has the thread.
 *
 * Seeded bugs: 1 the looker has a reference to the space while it waits for the answer; 2 the look does not flush; 3 it flushes
 * before it takes the bit; 4 the home looks at the page's policy before it has the page's lock; 5 the move does not pin the space;
 * 6 a timer that has found no policy stops its next expiry; 7 a fault counts an entry that another thread has shown; 8 the home
 * stops while a timer is under way; 9 a report is not answered when the space has ended. */
#ifndef BUG
#define BUG 0
#endif
#ifdef SHORT
#define LOOKS 2
#else
#define LOOKS 3
#endif
#define NOBODY 9

mtype = { SEEN, ANSWER, FREE, FREED };

chan in[2] = [3] of { mtype, byte };
byte home;
byte node;             /* of the page */
byte wanted = NOBODY;  /* the home's table */
bool policy;           /* other than none */
bool forbidden, bound; /* mbind's policy, and that mbind has returned */
bool page_locked, pinned, ending, freed, held;
bool space_locked[2];
bool accessed[2], hid[2], tlb[2];
byte counted[2];
bool used[2];          /* an access since the last look, which the next one has to find */
bool looking[2];
byte refs[2];
bool gone[2];
bool got[2];
bool armed[2], busy[2];
byte fired[2];

/* Space of KERNEL, at the home: FROM has used the page. */
inline note(kernel, from)
{
    if
    :: policy && from != node -> wanted = from
    :: else
    fi
}

proctype handler(byte k)
{
    byte from;
end:
    do
    :: in[k]?SEEN, from ->
        atomic {
            assert(k == home);
            if
            :: !gone[k] -> note(k, from); in[from]!ANSWER, k
            :: gone[k] && BUG != 9 -> in[from]!ANSWER, k /* ESRCH */
            :: else
            fi
        }
    :: in[k]?ANSWER, from -> got[k] = true
    :: in[k]?FREE, from -> (refs[k] == 0); gone[k] = true; in[from]!FREED, k
    :: in[k]?FREED, from -> freed = true
    od
}

/* One access of a thread on kernel K. */
inline touch(k)
{
    if
    :: atomic { !hid[k] || tlb[k] ->
           if
           :: !tlb[k] -> accessed[k] = true; tlb[k] = true
           :: else
           fi;
           used[k] = used[k] || !looking[k] }
    :: atomic { hid[k] && !tlb[k] -> skip }; /* a fault */
       atomic {
           !space_locked[k] ->
           if
           :: hid[k] || BUG == 7 -> hid[k] = false; counted[k]++; assert(counted[k] <= 1)
           :: else
           fi
       }
    fi
}

proctype thread(byte k; byte accesses)
{
    do
    :: accesses > 0 && !ending && !held && !gone[k] -> accesses--; touch(k)
    :: accesses == 0 || ending || gone[k] -> break
    od
}

/* The look of kernel K: FOUND. */
inline look(k, found)
{
    atomic { !space_locked[k] -> space_locked[k] = true; looking[k] = true };
    if
    :: BUG == 3 -> tlb[k] = false
    :: else
    fi;
    atomic {
#ifdef FAULTS
        found = counted[k] > 0;
        assert(found || !used[k] || hid[k] == false);
        counted[k] = 0;
        hid[k] = true
#else
        found = accessed[k];
        assert(found || !used[k]);
        accessed[k] = false
#endif
    };
    atomic {
        if
        :: BUG != 2 && BUG != 3 -> tlb[k] = false
        :: else
        fi;
#ifdef FAULTS
        assert(!tlb[k] || !hid[k]);
#endif
        used[k] = false;
        looking[k] = false;
        space_locked[k] = false
    }
}

/* The mover at the home K. Nobody writes to the page meanwhile; that is another model's. */
inline follow(k, to, may)
{
    atomic {
        to = NOBODY;
        if
        :: wanted != NOBODY && (!ending || BUG == 5) -> pinned = BUG != 5; to = wanted; wanted = NOBODY
        :: else
        fi;
        may = !forbidden
    };
    if
    :: to != NOBODY ->
        atomic { !page_locked -> page_locked = true };
        if
        :: BUG == 4
        :: BUG != 4 -> may = !forbidden
        fi;
        if
        :: may ->
            atomic { /* the entries are rewritten, which may cost an observation */
                assert(!gone[k] && !bound);
                node = to;
                tlb[0] = false; tlb[1] = false;
                used[0] = false; used[1] = false
            }
        :: else
        fi;
        atomic { page_locked = false; pinned = false }
    :: else
    fi
}

proctype timer(byte k)
{
    bool found, wants, may;
    byte to;

    do
    :: fired[k] == LOOKS -> break
    :: atomic { fired[k] < LOOKS && armed[k] && !held -> armed[k] = false; busy[k] = true; fired[k]++ };
        wants = policy;
        found = false;
        if
        :: wants ->
            atomic {
                if
                :: !gone[k] -> refs[k]++; may = true
                :: else -> may = false
                fi
            };
            if
            :: may ->
                look(k, found);
                if
                :: BUG != 1 -> refs[k]--
                :: else
                fi;
                if
                :: found && k == home -> atomic { note(k, k) }
                :: found && k != home -> got[k] = false; in[home]!SEEN, k; (got[k])
                :: else
                fi;
                if
                :: BUG == 1 -> refs[k]--
                :: else
                fi;
                if
                :: k == home -> follow(k, to, may)
                :: else
                fi
            :: else
            fi
        :: else
        fi;
        atomic {
            if
            :: wants -> armed[k] = true
            :: !wants && BUG == 6 -> armed[k] = false
            :: else
            fi;
            busy[k] = false
        }
    od
}

/* kettle_numa: both kernels have the choice, and begin to look. */
proctype chooser()
{
    atomic { policy = true; armed[0] = true; armed[1] = true }
}

proctype binder()
{
    atomic { !page_locked -> page_locked = true };
    forbidden = true;
    page_locked = false;
    bound = true
}

/* The process ends. */
proctype ender()
{
    ending = true;
    (!pinned);
    in[1]!FREE, 0;
    (freed);
    (refs[0] == 0);
    gone[0] = true
}

/* Kernel 0 stops: programs and timers are quiesced first. */
proctype stopper()
{
    held = true;
    if
    :: BUG != 8 -> (!busy[0] && !busy[1])
    :: else
    fi;
    atomic { home = 1; wanted = NOBODY; gone[0] = true; held = false }
}

/* When nothing happens any more. */
proctype watcher()
{
    timeout ->
    assert(!policy || (armed[1] || fired[1] == LOOKS));
    assert(gone[0] || !policy || armed[0] || fired[0] == LOOKS)
}

init {
    atomic {
        armed[0] = true; /* the option had a policy before: a last expiry */
        armed[1] = true;
        run handler(0);
        run handler(1);
        run timer(0);
        run timer(1);
        run chooser();
        run watcher();
#ifdef STOP
        run stopper();
        run thread(1, 2)
#else
        run thread(1, 2);
#ifdef FAULTS
        run thread(1, 2)
#elif defined(END)
        run ender()
#else
        run binder()
#endif
#endif
    }
}

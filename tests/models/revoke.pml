/* A file loses a page that processes map; mm/file/file_map.md has the tables. Kernel 0 has the file, of one page. A process at
 * home on kernel 1 has threads there and on kernel 2, which touch the page; it forks a child to kernel 3. Once the file
 * is cut and gets longer again, so its page has another frame from then on.
 *
 * An atomic step is a critical section of the file's node, or of a space on one kernel; what the space's lock covers are
 * several steps. FILE_PAGE and FILE_HOLD are steps at kernel 0 that their callers wait for; a revocation's questions
 * and answers are messages of their own.
 *
 * Asserted: when a revocation ends nobody who runs maps its frame, and only a child that is being made still counts;
 * when nothing happens any more it has ended, and who maps the page maps the frame that the file has.
 *
 * Seeded bugs: 1 a fault makes its entry after it has given back the lock; 2 a child does not catch up; 3 a grant for a
 * child is not told what is being revoked; 4 the child notes how many revocations there were after it has copied; 5 it
 * can be found only after it has caught up; 6 the home does not tell its members; 7 the last answer of those that were
 * asked at first is the end; 8 the home answers before it has the lock. */
#ifndef BUG
#define BUG 0
#endif
#define KERNELS 4
#define HOME 1
#define MEMBER 2
#define CHILD 3
#define TOUCHES 2

chan revoke[KERNELS] = [2] of { bool }; /* FILE_REVOKE, by receiver */
chan answer = [4] of { bool };          /* its answers */
chan change = [1] of { bool };          /* SPACE_REVOKE, home to member, and its answer */
chan changed = [1] of { bool };

byte page = 1;        /* the file's frame: 1, later 2; 0: it is too short */
byte count[3];        /* entries that name a frame */
byte entry[KERNELS];  /* the frame that a kernel's page table has: 0 none */
bool granted[KERNELS];
byte left;            /* answers that the revocation waits for */
bool revoking, ended;
bool busy;            /* the lock of the parent's space */
byte begun;           /* revocations that the child's kernel has heard of */
byte copying;         /* the frame that is on its way to the child */
bool published;       /* the child can be found */
bool runs;

inline drop(k)
{
    count[entry[k]] = count[entry[k]] - (entry[k] != 0);
    entry[k] = 0
}

inline end_revocation()
{
    assert(entry[HOME] != 1 && entry[MEMBER] != 1 && (entry[CHILD] != 1 || !runs));
    assert(count[1] == (entry[CHILD] == 1 || copying == 1));
    revoking = false;
    ended = true
}

/* The file's kernel: cut once, longer again; and the answers. */
proctype file()
{
end:
    do
    :: atomic {
        page == 1 ->
            page = 0;
            revoking = true;
            revoke[HOME]!true;
            left = 1;
            if
            :: granted[CHILD] -> revoke[CHILD]!true; left++
            :: else
            fi
       }
    :: atomic { page == 0 -> page = 2 }
    :: atomic {
        answer?_ ->
            left--;
            if
            :: revoking && (left == 0 || BUG == 7) -> end_revocation()
            :: else
            fi
       }
    od
}

/* A thread of the process, on kernel K, touches the page: SIGBUS where the file is too short. */
proctype toucher(byte k)
{
    byte touches, frame;

    do
    :: touches < TOUCHES ->
        touches++;
        if
        :: entry[k] == 0 ->
            atomic { !busy -> busy = true }
            atomic {
                if
                :: entry[HOME] != 0 -> frame = entry[HOME]; count[frame]++   /* FOUND, and shared */
                :: entry[HOME] == 0 && entry[MEMBER] != 0 -> frame = entry[MEMBER]; count[frame]++
                :: else -> frame = page; count[frame] = count[frame] + (frame != 0) /* FILE_PAGE */
                fi
            }
            if
            :: BUG == 1 -> busy = false
            :: else
            fi;
            atomic {
                if
                :: entry[k] == 0 -> entry[k] = frame
                :: else -> count[frame] = count[frame] - (frame != 0)
                fi;
                frame = 0
            }
            if
            :: BUG != 1 -> busy = false
            :: else
            fi
        :: else
        fi
    :: else -> break
    od
}

/* Revocations at the parent's home. */
proctype home()
{
end:
    do
    :: revoke[HOME]?_ ->
        if
        :: BUG == 8 -> answer!true
        :: else
        fi;
        atomic { !busy -> busy = true }
        atomic { drop(HOME) }
        if
        :: BUG != 6 -> change!true; changed?_
        :: else
        fi;
        busy = false;
        if
        :: BUG != 8 -> answer!true
        :: else
        fi
    od
}

proctype member()
{
end:
    do
    :: atomic { change?_ -> drop(MEMBER); changed!true }
    od
}

/* Revocations at the child's home: the message, then its worker. */
proctype child_home()
{
end:
    do
    :: atomic { revoke[CHILD]?_ -> begun++ }
        atomic {
            if
            :: published -> drop(CHILD)
            :: else
            fi
        }
        answer!true
    od
}

proctype fork()
{
    byte seen;

    if
    :: BUG != 4 -> seen = begun
    :: else
    fi;
    atomic { /* FILE_HOLD */
        granted[CHILD] = true;
        if
        :: revoking && BUG != 3 -> revoke[CHILD]!true; left++
        :: else
        fi
    }
    atomic { !busy -> busy = true }
    atomic { copying = entry[HOME]; count[copying] = count[copying] + (copying != 0) }
    busy = false;
    atomic { entry[CHILD] = copying; copying = 0 }
    if
    :: BUG == 4 -> seen = begun
    :: else
    fi;
    if
    :: BUG != 5 -> published = true
    :: else
    fi;
    atomic {
        if
        :: seen != begun && BUG != 2 -> drop(CHILD)
        :: else
        fi;
        runs = true
    }
    published = true
}

init {
    atomic {
        granted[HOME] = true;
        run file();
        run home();
        run member();
        run child_home();
        run toucher(HOME);
        run toucher(MEMBER);
        run fork()
    }
    timeout;
    assert(ended && left == 0 && !busy);
    assert(count[1] == 0);
    assert(entry[HOME] == 0 || entry[HOME] == page);
    assert(entry[MEMBER] == 0 || entry[MEMBER] == page);
    assert(entry[CHILD] == 0 || entry[CHILD] == page)
}

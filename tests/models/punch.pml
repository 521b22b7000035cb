/* MADV_REMOVE of a shared mapping of a file: FILE_PUNCH, between a kernel that has the mapping and the file's kernel;
 * mm/file/file_map.md has the tables, kernel/calls/memory/advice.c and space_on_file() the caller's side. Kernel 0 has
 * the file, of one page, which has neither a name nor an open descriptor: the grant of the home of the only process
 * that maps it keeps it. When it has been freed, another file takes its number. The process has threads at home, on
 * kernel 1, and on kernel 2: one on each that makes a hole, one on each that touches the page, and one that unmaps the
 * area.
 *
 * An atomic step is a critical section of the file's node, or of a space on one kernel; what the space's lock covers
 * are several steps. revoke.pml has the revocation in detail, with a fork.
 *
 * Asserted: no hole is made in another file; when a caller returns, nobody maps a frame that the file had before its
 * hole; when a revocation ends nobody maps its frame; and everybody comes to an end.
 *
 * Seeded bugs: 1 the caller does not lock the range; 2 it asks when it has released the range; 3 it waits for the
 * revocation before it does; 4 it does not look again when it has the lock; 5 it does not wait for the revocation; 6 a
 * hole where there is one already begins no revocation; 7 the home answers FILE_REVOKE without its members; 8 a hole is
 * made although there is no memory for its revocation. */
#ifndef BUG
#define BUG 0
#endif
#define KERNELS 3
#define HOME 1
#define MEMBER 2
#define THREADS 5
#define FRAMES 3

chan revoke = [2] of { byte }; /* FILE_REVOKE: the number of the revocation */
chan answer = [2] of { byte };
chan change = [1] of { bool }; /* SPACE_REVOKE, home to member, and its answer */
chan changed = [1] of { bool };
chan hold = [1] of { bool };   /* FILE_HOLD: the home gives its grant back */

byte object = 1;     /* what has the number: 1 the file, 0 nothing, 2 another file */
bool granted = true; /* at the file's kernel */
byte page = 1;       /* the file's frame; 0: a hole */
byte made = 1;       /* frames so far, by number */
byte entry[KERNELS]; /* the frame that a kernel's page table has: 0 none */
bool area = true;    /* the process maps the file; changes under the lock */
bool busy;           /* the lock of the space */
byte begun;          /* revocations so far */
bool under_way[3];
byte lost[3];        /* the frame that a revocation owns */
byte done;           /* threads that have come to an end */

/* The file's kernel but for the questions of callers. */
proctype file()
{
    byte n;

end:
    do
    :: atomic { hold?_ -> granted = false; object = 0; page = 0 }
    :: atomic { object == 0 -> object = 2 }
    :: atomic {
        answer?n ->
            assert(lost[n] == 0 || (entry[HOME] != lost[n] && entry[MEMBER] != lost[n]));
            under_way[n] = false
       }
    od
}

/* Revocations at the home. */
proctype home()
{
    byte n;

end:
    do
    :: revoke?n ->
        atomic { !busy -> busy = true }
        atomic { entry[HOME] = 0 }
        if
        :: BUG != 7 -> change!true; changed?_
        :: else
        fi;
        busy = false;
        answer!n
    od
}

proctype member()
{
end:
    do
    :: atomic { change?_ -> entry[MEMBER] = 0; changed!true }
    od
}

/* FILE_PUNCH at kernel 0: sets NUMBER to that of its revocation, 0: none, and BEFORE to the frames that there were, if there
 * is a hole now. */
inline punch()
{
    if
    :: object != 0 ->
        assert(object == 1);
        mapped = granted && (page != 0 || BUG != 6);
        if
        :: memory = true
        :: mapped -> memory = false /* ENOMEM: nothing changes */
        fi;
        if
        :: mapped && memory ->
            begun++;
            number = begun;
            under_way[number] = true;
            lost[number] = page;
            revoke!number
        :: else
        fi;
        if
        :: memory || BUG == 8 -> page = 0; before = made
        :: else
        fi
    :: else /* ENXIO */
    fi
}

/* empty_area() on kernel K. */
proctype remover(byte k)
{
    byte number, before;
    bool mapped, memory;

    if
    :: area ->
        if
        :: BUG != 1 -> atomic { !busy -> busy = true }
        :: else
        fi;
        if
        :: area || BUG == 1 || BUG == 4 ->
            if
            :: BUG == 2 -> busy = false
            :: else
            fi;
            atomic { punch() }
            if
            :: BUG != 1 && BUG != 2 && BUG != 3 -> busy = false
            :: else
            fi;
            if
            :: BUG != 5 -> number == 0 || !under_way[number] /* FILE_SETTLE */
            :: else
            fi;
            atomic {
                assert(entry[HOME] == 0 || entry[HOME] > before);
                assert(entry[MEMBER] == 0 || entry[MEMBER] > before)
            }
            if
            :: BUG == 3 -> busy = false
            :: else
            fi
        :: else -> busy = false /* the caller looks again */
        fi
    :: else
    fi;
    done++
}

/* A thread on kernel K touches the page: SIGBUS where nothing is mapped. */
proctype toucher(byte k)
{
    byte frame;

    atomic { !busy -> busy = true }
    if
    :: area && entry[k] == 0 ->
        atomic {
            if
            :: entry[HOME] != 0 -> frame = entry[HOME] /* SPACE_GET */
            :: entry[HOME] == 0 && entry[MEMBER] != 0 -> frame = entry[MEMBER]
            :: else -> /* FILE_PAGE */
                assert(object == 1);
                if
                :: page == 0 && made < FRAMES -> made++; page = made
                :: else
                fi;
                frame = page
            fi
        }
        entry[k] = frame
    :: else
    fi;
    busy = false;
    done++
}

proctype unmapper()
{
    atomic { !busy -> busy = true }
    atomic { entry[HOME] = 0 }
    atomic { entry[MEMBER] = 0 }
    area = false;
    busy = false;
    hold!true;
    done++
}

init {
    atomic {
        entry[HOME] = 1;
        run file();
        run home();
        run member();
        run remover(HOME);
        run remover(MEMBER);
        run toucher(HOME);
        run toucher(MEMBER);
        run unmapper()
    }
    timeout;
    assert(done == THREADS && !busy && !under_way[1] && !under_way[2])
}

/* One page that is replicated while three kernels read and write it, kernel 0 its home; mm/replicate/replicate.md has the
 * tables. Kernel 1 has two threads. A question to the home, its answer, and the moment when that is applied are steps of their
 * own; what SPACE_SWITCH asks of a kernel is done there in one step while the sender waits. The lock is taken as given
 * (space_lock.pml). A write that finds the page replicated and other kernels marked gives it a new frame under the lock; the
 * home, if no other kernel is marked, keeps the frame.
 *
 * Checked: a read finds what was written last, in whichever frame or copy; a frame that is freed is mapped nowhere; while a kernel
 * has a copy nobody may write to the frame; no deadlock.
 *
 * -DSHORT: the home's thread does one operation, not two.
 *
 * Seeded bugs: 1 the home lets a kernel write without the lock although others are marked; 2 the same if no other is, but other
 * threads of that kernel may have copies; 3 SPACE_SWITCH is not put off while an answer is under way; 4 it leaves the copy; 5 the writer
 * under the lock keeps the frame, as no other space has it; 6 the home writes without the lock although others are marked; 7 the
 * home says that the page is replicated before the others have emptied their entries; 8 a reader is not marked; 9 the home copies the page
 * to a frame of its own before the others have emptied their entries. */
#ifndef BUG
#define BUG 0
#endif
#define FRAMES 9
#ifdef SHORT
#define HOME 1 /* operations of its thread */
#else
#define HOME 2
#endif
#define REPLICATIONS 1

#define NONE 0
#define WRITABLE 1
#define LENT 2
#define COPY 3
#define HIDDEN 4 /* LENT, while a question about it is under way */

#define BUSY 1
#define FRAME 2

byte entry[3]; /* of the home: WRITABLE, or LENT for the original */
byte frame[3];
byte copy[3];    /* what kernel K's copy has */
bool marked[3];
byte asking[3];  /* questions of kernel K under way */
bool copies[3];  /* one of them may change the frame */
byte content[FRAMES + 1];
bool freed[FRAMES + 1];
byte newest = 1; /* frame */
byte last;       /* what was written last */
bool locked;

inline check_read(k)
{
    if
    :: entry[k] == COPY -> assert(copy[k] == last && entry[0] == LENT)
    :: entry[k] == WRITABLE || entry[k] == LENT -> assert(!freed[frame[k]] && content[frame[k]] == last)
    :: else
    fi
}

/* Only if the entry is WRITABLE. */
inline write_now(k)
{
    assert(entry[k] == WRITABLE && !freed[frame[k]] && content[frame[k]] == last);
    last++;
    content[frame[k]] = last
}

inline switch_to_nothing(k)
{
    if
    :: BUG == 4 && entry[k] == COPY
    :: else -> entry[k] = NONE
    fi
}

/* Maps what the home has, for a read. REPLICATED: as it was when the home answered, with frame F. */
inline map_read(k, f, replicated)
{
    if
    :: entry[k] == NONE && replicated -> assert(!freed[f]); entry[k] = COPY; copy[k] = content[f]
    :: entry[k] == NONE && replicated -> assert(!freed[f]); entry[k] = LENT; frame[k] = f
    :: entry[k] == NONE && !replicated -> assert(!freed[f]); entry[k] = WRITABLE; frame[k] = f
    :: else
    fi
}

inline read_fault(k)
{
    atomic { !copies[k] && entry[k] == NONE -> asking[k]++; alone = false };
    atomic {
        if
        :: locked -> kind = BUSY
        :: else -> kind = FRAME; f = frame[0]; replicated = entry[0] == LENT; marked[k] = marked[k] || BUG != 8
        fi
    };
    atomic {
        asking[k]--;
        if
        :: kind == FRAME -> map_read(k, f, replicated)
        :: else
        fi
    };
    if
    :: kind == BUSY ->
        atomic {
            !locked && asking[k] == 0 ->
            marked[k] = true;
            map_read(k, frame[0], (entry[0] == LENT))
        }
    :: else
    fi
}

/* Kernel K has the page's lock. The next frame gets the content; everybody else lets the old one go. */
inline new_frame(k, o)
{
    if
    :: BUG == 5 -> atomic { entry[k] = WRITABLE; frame[k] = frame[0] }
    :: else ->
        atomic { newest++; assert(newest <= FRAMES); content[newest] = content[frame[0]]; entry[k] = (k == 0 -> LENT : NONE) };
        o = 1;
        do
        :: o < 3 ->
            if
            :: o != k && marked[o] -> atomic { asking[o] == 0 || BUG == 3 -> switch_to_nothing(o) }
            :: else
            fi;
            o++
        :: else -> break
        od;
        atomic {
            freed[frame[0]] = true;
            frame[0] = newest;
            entry[0] = WRITABLE;
            entry[k] = WRITABLE;
            frame[k] = newest
        }
    fi
}

/* The home has the page's lock, and no other space has the frame: everybody else lets it go, and it stays. */
inline same_frame(o)
{
    o = 1;
    do
    :: o < 3 ->
        if
        :: marked[o] -> atomic { asking[o] == 0 || BUG == 3 -> switch_to_nothing(o) }
        :: else
        fi;
        o++
    :: else -> break
    od;
    entry[0] = WRITABLE
}

inline lock_and_write(k, o)
{
    atomic { !locked -> locked = true };
    (asking[k] == 0);
    atomic {
        if
        :: entry[k] == COPY -> entry[k] = NONE
        :: else
        fi;
        marked[k] = true
    };
    if
    :: entry[k] == WRITABLE -> skip
    :: entry[k] != WRITABLE && entry[0] == LENT -> new_frame(k, o)
    :: entry[k] != WRITABLE && entry[0] == WRITABLE -> atomic { entry[k] = WRITABLE; frame[k] = frame[0] }
    fi;
    atomic { write_now(k); locked = false }
}

inline write_fault(k, o)
{
    atomic {
        !copies[k] && entry[k] != HIDDEN && entry[k] != WRITABLE ->
        if
        :: entry[k] == COPY -> entry[k] = NONE
        :: else
        fi;
        alone = asking[k] == 0;
        was_lent = entry[k] == LENT;
        if
        :: was_lent && alone -> entry[k] = HIDDEN
        :: else
        fi;
        asking[k]++;
        copies[k] = alone
    };
    atomic { /* the home answers */
        if
        :: locked -> kind = BUSY
        :: !locked && entry[0] == WRITABLE -> kind = FRAME; f = frame[0]; marked[k] = true
        :: !locked && entry[0] == LENT && (BUG == 1 || (BUG == 2 && !marked[3 - k])) ->
            kind = FRAME;
            f = frame[0];
            marked[k] = true;
            entry[0] = WRITABLE
        :: else -> kind = BUSY
        fi
    };
    atomic {
        asking[k]--;
        if
        :: alone -> copies[k] = false
        :: else
        fi;
        if
        :: entry[k] == HIDDEN -> entry[k] = LENT
        :: else
        fi;
        if
        :: kind == FRAME && (entry[k] == NONE || (entry[k] == LENT && frame[k] == f)) ->
            assert(!freed[f]);
            entry[k] = WRITABLE;
            frame[k] = f
        :: kind == FRAME && entry[k] == COPY -> kind = BUSY /* another frame: with the lock */
        :: else
        fi
    };
    if
    :: kind == BUSY -> lock_and_write(k, o)
    :: else ->
        atomic {
            if
            :: entry[k] == WRITABLE -> write_now(k)
            :: else /* replicated again: the thread faults again, which this one does not */
            fi
        }
    fi
}

proctype kernel(byte k; byte operations)
{
    byte done, kind, f, o;
    bool replicated, alone, was_lent;

    do
    :: done < operations && entry[k] != NONE -> atomic { done++; check_read(k) }
    :: done < operations && entry[k] == NONE && !copies[k] -> done++; 
        if
        :: read_fault(k)
        :: entry[k] != NONE || copies[k]
        fi;
        atomic { check_read(k) }
    :: done < operations ->
        done++;
        if
        :: atomic { entry[k] == WRITABLE -> write_now(k) }
        :: write_fault(k, o)
        fi
    :: done == operations -> break
    od
}

proctype home()
{
    byte done, o;

    do
    :: done < HOME -> atomic { done++; check_read(0) }
    :: done < HOME ->
        done++;
        if
        :: atomic { entry[0] == WRITABLE -> write_now(0) }
        :: atomic { !locked && entry[0] == LENT && (BUG == 6 || (!marked[1] && !marked[2])) -> entry[0] = WRITABLE; write_now(0) }
        :: atomic { !locked && entry[0] == LENT && (marked[1] || marked[2]) -> locked = true };
            if
            :: entry[0] == LENT && BUG != 5 -> new_frame(0, o) /* a fork has it, too */
            :: entry[0] == LENT && BUG != 5 -> same_frame(o)
            :: entry[0] == LENT && BUG == 5 -> entry[0] = WRITABLE
            :: else
            fi;
            atomic { write_now(0); locked = false }
        fi
    :: done == HOME -> break
    od
}

proctype replicator()
{
    byte round, o, saved;

    do
    :: round < REPLICATIONS ->
        round++;
        atomic { !locked -> locked = true };
        if
        :: entry[0] == LENT -> skip
        :: else ->
            if
            :: BUG == 7 -> entry[0] = LENT
            :: else
            fi;
            saved = content[frame[0]];
            o = 1;
            do
            :: o < 3 ->
                if
                :: marked[o] -> atomic { asking[o] == 0 || BUG == 3 -> switch_to_nothing(o) }; o++
                :: marked[o] -> goto failed /* no memory there: it has changed nothing */
                :: !marked[o] -> o++
                fi
            :: else -> break
            od;
            if
            :: entry[0] = LENT
            :: atomic { /* a frame of the home */
                newest++;
                assert(newest <= FRAMES);
                content[newest] = (BUG == 9 -> saved : content[frame[0]]);
                freed[frame[0]] = true;
                frame[0] = newest;
                entry[0] = LENT
            }
            fi
        fi;
failed:
        locked = false
    :: else -> break
    od
}

init {
    atomic {
        entry[0] = WRITABLE;
        frame[0] = 1;
        entry[1] = WRITABLE;
        frame[1] = 1;
        marked[1] = true;
        run home();
        run replicator();
        run kernel(1, 2);
        run kernel(1, 1);
        run kernel(2, 1)
    }
}

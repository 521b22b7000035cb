/* One page that moves twice while it is read and written on three kernels, kernel 0 its home; mm/move/move.md has the tables.
 * Kernel 1 maps the page from the start, kernel 2 does not know it. Each has a thread that reads, writes and faults; what a
 * round asks of a kernel is done there in one step while the mover waits. A question to the home, its answer, and the
 * moment when that is applied are steps of their own. The lock is taken as given (space_lock.pml).
 *
 * Checked: a read finds what was written last, whichever frame the reader's kernel maps; a frame that is freed is mapped
 * nowhere; at rest all kernels name one frame and may write to it; no deadlock.
 *
 * -DSHORT: two operations of each thread, not three; one with REFUSE. -DPENDING: an unmap has failed for want of memory, so that kernel 1's
 * entry becomes pending free at some time, while the others keep theirs; it owns its frame until the unmap is repeated, at
 * the end. Kernel 2 does not know the page and does nothing then.
 *
 * -DREFUSE: a kernel, also one that has come since the grant, may refuse to map a new frame, and then all go back to the old
 * one. Checked, too: of the frames that were used only the page's is not free in the end.
 *
 * Seeded bugs: 1 the frame is copied when the home alone has made its entry still; 2 a replaced entry is writable at once; 3 the
 * mover does not ask who has come since the grant; 4 an answer that is superseded is applied; 5 the old frame is freed
 * before the others have replaced it; 6 a newcomer's entry is writable; 7 STILL is not put off while an answer is under
 * way; 8 the home replaces its entry after the others; 9 (PENDING) a kernel with an entry that is pending free does not refuse
 * STILL. With REFUSE: 10 the others keep the new frame, and neither is freed; 11 the new frame is freed, and nobody goes back;
 * 12 who has come since the new frame was mapped does not go back; 13 the home goes back after the others. */
#ifndef BUG
#define BUG 0
#endif
#define FRAMES 3
#if defined(SHORT) && defined(REFUSE)
#define OPERATIONS 1 /* of each kernel's thread */
#elif defined(SHORT)
#define OPERATIONS 2
#else
#define OPERATIONS 3
#endif

#define BUSY 1
#define FRAME 2
#define MOVES 3

byte entry[3]; /* frame, 0: none */
bool writable[3];
bool still[3];
bool marked[3]; /* at the home */
bool others[3]; /* as the mover knows them */
byte content[FRAMES + 1];
bool used[FRAMES + 1];
bool freed[FRAMES + 1];
byte last; /* what was written last */
bool locked;

bool pending; /* kernel 1's entry */
bool refuses; /* a kernel has refused the new frame */
bool refused;
byte running;

bool asking[3];
bool superseded[3];

inline grant()
{
    atomic { !locked -> locked = true; others[1] = marked[1]; others[2] = marked[2] }
}

inline make_still(k)
{
    if
    :: entry[k] != 0 && k == 1 && pending -> refused = BUG != 9
    :: entry[k] != 0 && !(k == 1 && pending) -> writable[k] = false; still[k] = true
    :: else
    fi
}

inline replace_entry(k, f)
{
    superseded[k] = true;
    if
    :: entry[k] != 0 && !(k == 1 && pending) -> entry[k] = f; writable[k] = BUG == 2
    :: else
    fi
}

inline make_writable(k)
{
    superseded[k] = true;
    if
    :: still[k] -> still[k] = false; writable[k] = true
    :: else
    fi
}

/* Kernel K maps F, or refuses. */
inline ask_replace(k, f)
{
#ifdef REFUSE
    if
    :: replace_entry(k, f)
    :: refuses = true
    fi
#else
    replace_entry(k, f)
#endif
}

/* A kernel has refused: all map OLD again, but for one that has refused, and has it. */
inline go_back(f)
{
    if
    :: BUG != 13 -> atomic { replace_entry(0, f); look_again() }
    :: else
    fi;
    if
    :: others[1] -> atomic { replace_entry(1, f) }
    :: else
    fi;
    if
    :: others[2] && !(BUG == 12 && !before) -> atomic { replace_entry(2, f) }
    :: else
    fi;
    if
    :: BUG == 13 -> atomic { replace_entry(0, f) }
    :: else
    fi
}

/* Who has come since the grant. */
inline look_again()
{
    others[1] = others[1] || (marked[1] && BUG != 3);
    others[2] = others[2] || (marked[2] && BUG != 3)
}

proctype mover()
{
    byte old = 1, new = 2, value;
    bool before;

    do
    :: new <= FRAMES ->
        grant();
        atomic { refused = false; refuses = false; make_still(0) };
        if
        :: others[1] && BUG != 1 -> atomic { !asking[1] || BUG == 7 -> make_still(1) }
        :: else
        fi;
        if
        :: others[2] && BUG != 1 -> atomic { !asking[2] || BUG == 7 -> make_still(2) }
        :: else
        fi;
        if
        :: refused -> goto over /* the run stays */
        :: else
        fi;
        value = content[old];
        content[new] = value;
        used[new] = true;
        if
        :: BUG != 8 -> atomic { replace_entry(0, new); look_again() }
        :: else
        fi;
        if
        :: BUG == 5 -> freed[old] = true
        :: else
        fi;
        if
        :: others[1] -> atomic { ask_replace(1, new) }
        :: else
        fi;
        if
        :: others[2] -> atomic { ask_replace(2, new) }
        :: else
        fi;
        before = others[2];
        if
        :: refuses && BUG != 10 && BUG != 11 -> go_back(old)
        :: else
        fi;
        if
        :: refuses ->
            atomic {
                refused = true; /* the run stays */
                freed[new] = BUG != 10;
                assert(!freed[new] || (entry[0] != new && entry[1] != new && entry[2] != new))
            };
            goto over
        :: else
        fi;
        if
        :: BUG == 8 -> atomic { replace_entry(0, new) }
        :: else
        fi;
        atomic {
            freed[old] = true;
            assert(entry[0] != old && entry[1] != old && entry[2] != old)
        };
over:
        atomic { make_writable(0); look_again() };
        if
        :: others[1] -> atomic { make_writable(1) }
        :: else
        fi;
        if
        :: others[2] -> atomic { make_writable(2) }
        :: else
        fi;
        atomic {
            if
            :: !refused -> old = new
            :: else
            fi;
            assert(entry[0] == old && writable[0]);
            assert(asking[1] || entry[1] == 0 || pending || (entry[1] == old && writable[1]));
            assert(asking[2] || entry[2] == 0 || (entry[2] == old && writable[2]));
            locked = false
        };
        new++
    :: else -> break
    od;
    for (value : 1 .. FRAMES) {
        assert(value == old || freed[value] || pending || !used[value])
    }
    running--
}

#ifdef PENDING
/* An unmap fails under the page's lock; it is repeated when everything else is over. */
proctype unmap()
{
    atomic { !locked && !asking[1] && entry[1] != 0 -> pending = true; writable[1] = false };
    atomic {
        running == 0 ->
        assert(!freed[entry[1]]); /* it is this entry's */
        freed[entry[1]] = true
    }
}
#endif

/* Kernel K faults, to write or only to read: asks the home, and if that is busy fetches the page with its lock. */
inline fault(k, write)
{
    asked = false;
    do
    :: !asked ->
        atomic { asking[k] = true; superseded[k] = false };
        atomic {
            frame = entry[0];
            if
            :: !locked -> kind = FRAME; marked[k] = true
            :: locked && still[0] && !write -> kind = MOVES; marked[k] = true
            :: else -> kind = BUSY
            fi
        };
        atomic {
            asking[k] = false;
            asked = true;
            if
            :: kind == FRAME ->
                assert(!freed[frame]);
                entry[k] = frame;
                writable[k] = true
            :: kind == MOVES && (!superseded[k] || BUG == 4) ->
                assert(!freed[frame]);
                entry[k] = frame;
                still[k] = BUG != 6;
                writable[k] = BUG == 6
            :: kind == MOVES && superseded[k] && BUG != 4 -> asked = false
            :: else
            fi
        }
    :: else -> break
    od;
    if
    :: kind == BUSY ->
        atomic {
            !locked ->
            entry[k] = entry[0];
            marked[k] = true;
            writable[k] = true
        }
    :: else
    fi
}

proctype kernel(byte k)
{
    byte done, kind, frame;
    bool asked;

    do
    :: done < OPERATIONS && k == 1 && pending -> done++ /* takes the lock, and fails */
    :: done < OPERATIONS && entry[k] != 0 -> /* reads */
        atomic {
            done++;
            if
            :: entry[k] != 0 && !(k == 1 && pending) -> assert(!freed[entry[k]] && content[entry[k]] == last)
            :: else
            fi
        }
    :: done < OPERATIONS && entry[k] != 0 -> /* writes, or waits for the end of the move and writes then */
        done++;
        atomic {
            writable[k] || !locked ->
            if
            :: k == 1 && pending
            :: else ->
                assert(writable[k] && !freed[entry[k]] && content[entry[k]] == last);
                last++;
                content[entry[k]] = last
            fi
        }
    :: done < OPERATIONS && entry[k] == 0 -> done++; fault(k, false)
    :: done < OPERATIONS && entry[k] == 0 -> done++; fault(k, true)
    :: done == OPERATIONS -> break
    od;
    running--
}

init {
    atomic {
        used[1] = true;
        entry[0] = 1;
        writable[0] = true;
        entry[1] = 1;
        writable[1] = true;
        marked[1] = true;
#ifdef PENDING
        running = 3;
        run unmap();
#else
        running = 4;
        run kernel(2);
#endif
        run mover();
        run kernel(0);
        run kernel(1)
    }
}

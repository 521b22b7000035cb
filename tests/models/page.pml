/* One page of a space that lives on three kernels, kernel 0 its home; mm/retrieve/retrieval.md has the tables. On every kernel one task
 * faults on the page, maps it, or unmaps it, a bounded number of times in all, while a program there goes on using what its
 * page table says. Handlers answer on their own; one FIFO channel per ordered pair. The lock (space_lock.pml checks it) is
 * taken as given: page key and HEAVY exclude each other, and the one page is all there is.
 *
 * HOME chooses the retrieval strategy `home`; without it the model is that of `members`.
 *
 * Checked: at most one frame is the page's at any time; a frame is freed once, by its owner, and only when no kernel's
 * entry names it; no frame is left behind by an unmap; no deadlock.
 *
 * Seeded bugs: 1 an owner frees at CHANGE, in the first round; 2 an area answered early wins over a frame; 3 a fault does not
 * take the lock; with HOME also 4 a new frame is not recorded at the home, 5 a fault that has the lock does not look at its
 * own page table again. */
#ifndef BUG
#define BUG 0
#endif
#ifdef HOME
#define AT_HOME true
#else
#define AT_HOME false
#endif
#define KERNELS 3
#define OPERATIONS 6
#define FRAMES 4

#define CHANNEL(from, to) wire[(from) * KERNELS + (to)]
#define NONE 0
#define AREA 1
#define FRAME 2

mtype = { FETCH, MAPPING, RECORD, RECORDED, MAP, UNMAP, CHANGED, SETTLE, SETTLED };

chan wire[9] = [2] of { mtype, byte, byte }; /* MAPPING: kind, frame; RECORD: frame */

bool area[KERNELS];
byte entry[KERNELS];    /* frame, 0: none */
bool borrowed[KERNELS];
bool pending_free[KERNELS];
bool freed[FRAMES + 1];
byte owner[FRAMES + 1];
byte frames;            /* allocated so far: frames are 1 to FRAMES */
byte operations;        /* done so far */
bool locked;

byte best[KERNELS];     /* the answers gathered by the task of a kernel */
byte best_frame[KERNELS];
byte left[KERNELS];

#define MAPS(k, f) (entry[k] == (f) && !pending_free[k])

/* No kernel may use F any more. */
inline free(f, k)
{
    assert(!freed[f] && owner[f] == k);
    assert(!MAPS(0, f) && !MAPS(1, f) && !MAPS(2, f));
    freed[f] = true
}

/* A kernel that maps a frame of another must find the others with the same. */
#define ONE_FRAME                                                                                                  \
    ((entry[0] == 0 || entry[1] == 0 || pending_free[0] || pending_free[1] || entry[0] == entry[1]) &&                           \
     (entry[0] == 0 || entry[2] == 0 || pending_free[0] || pending_free[2] || entry[0] == entry[2]) &&                           \
     (entry[1] == 0 || entry[2] == 0 || pending_free[1] || pending_free[2] || entry[1] == entry[2]))

inline install(k, f)
{
    assert(entry[k] == 0 && !freed[f]);
    entry[k] = f;
    borrowed[k] = owner[f] != k;
    assert(ONE_FRAME)
}

/* apply_locked of SPACE_UNMAP on kernel K */
inline let_go(k)
{
    area[k] = false;
    if
    :: entry[k] == 0
    :: entry[k] != 0 && borrowed[k] -> entry[k] = 0; borrowed[k] = false
    :: entry[k] != 0 && !borrowed[k] ->
        pending_free[k] = true;
        if
        :: BUG == 1 -> free(entry[k], k); entry[k] = 0; pending_free[k] = false
        :: else
        fi
    fi
}

inline settle(k)
{
    if
    :: pending_free[k] -> free(entry[k], k); entry[k] = 0; pending_free[k] = false
    :: else
    fi
}

/* space_answer into KIND and F */
inline look(k, kind, f)
{
    f = 0;
    if
    :: !area[k] -> kind = NONE
    :: area[k] && entry[k] == 0 -> kind = AREA
    :: area[k] && entry[k] != 0 -> kind = FRAME; f = entry[k]
    fi
}

inline merge(k, kind, f)
{
    if
    :: kind > best[k] && !(BUG == 2 && best[k] != NONE) -> best[k] = kind; best_frame[k] = f
    :: else
    fi
}

#define OTHER(k, n) ((k + n) % KERNELS)

proctype task(byte k)
{
    byte frame;

    do
    :: operations == OPERATIONS -> break
    :: atomic { operations < OPERATIONS && (!area[k] || entry[k] == 0) -> operations++ } goto fault
    :: atomic { operations < OPERATIONS && !locked -> operations++; locked = true } goto unmap
    :: atomic { operations < OPERATIONS && !locked && !area[0] -> operations++; locked = true } goto map

fault: /* space_fault, fault_shared */
        atomic { BUG == 3 || !locked -> locked = true }
        if
        :: BUG != 5 && area[k] && entry[k] != 0 -> goto release
        :: else
        fi;
        atomic {
            best[k] = NONE;
            best_frame[k] = 0;
            if
            :: AT_HOME && k == 0 -> look(0, best[0], best_frame[0])
            :: AT_HOME && k != 0 -> left[k] = 1; CHANNEL(k, 0)!FETCH, 0, 0
            :: !AT_HOME -> left[k] = 2; CHANNEL(k, OTHER(k, 1))!FETCH, 0, 0; CHANNEL(k, OTHER(k, 2))!FETCH, 0, 0
            fi
        }
        atomic {
            left[k] == 0;
            if /* an own copy of the area counts as an answer too */
            :: best[k] == NONE && area[k] -> best[k] = AREA
            :: else
            fi;
            if
            :: best[k] == NONE -> goto release
            :: best[k] == FRAME -> area[k] = true; install(k, best_frame[k]); goto release
            :: best[k] == AREA -> area[k] = true
            fi;
            if
            :: frames == FRAMES -> goto release /* out of memory */
            :: frames < FRAMES -> frames++; frame = frames; owner[frame] = k
            fi
        }
        if
        :: AT_HOME && k != 0 && BUG != 4 ->
            atomic { left[k] = 1; CHANNEL(k, 0)!RECORD, frame, 0 }
            left[k] == 0
        :: else
        fi;
        atomic { install(k, frame); frame = 0 }
        goto release;

unmap: /* unmap_everywhere */
        atomic {
            left[k] = 2;
            CHANNEL(k, OTHER(k, 1))!UNMAP, 0, 0;
            CHANNEL(k, OTHER(k, 2))!UNMAP, 0, 0
        }
        atomic { left[k] == 0; let_go(k) }
        atomic {
            left[k] = 2;
            CHANNEL(k, OTHER(k, 1))!SETTLE, 0, 0;
            CHANNEL(k, OTHER(k, 2))!SETTLE, 0, 0
        }
        atomic {
            left[k] == 0;
            settle(k);
            /* nothing is left behind */
            assert(entry[0] == 0 && entry[1] == 0 && entry[2] == 0);
            assert((frames < 1 || freed[1]) && (frames < 2 || freed[2]) && (frames < 3 || freed[3]) &&
                   (frames < 4 || freed[4]))
        }
        goto release;

map: /* ask_home */
        if
        :: k == 0 -> area[0] = true
        :: k != 0 -> atomic { left[k] = 1; CHANNEL(k, 0)!MAP, 0, 0 } left[k] == 0
        fi;

release:
        atomic {
            best[k] = NONE;
            best_frame[k] = 0;
            frame = 0;
            locked = false
        }
    od
}

/* Requests from any kernel, and replies to the task here. */
proctype handler(byte k)
{
    byte from, kind, f;
    mtype type;

end:
    do
    :: atomic {
        if
        :: CHANNEL(0, k)?type, kind, f -> from = 0
        :: CHANNEL(1, k)?type, kind, f -> from = 1
        :: CHANNEL(2, k)?type, kind, f -> from = 2
        fi;
        if
        :: type == FETCH -> look(k, kind, f); CHANNEL(k, from)!MAPPING, kind, f
        :: type == MAPPING -> merge(k, kind, f); left[k]--
        :: type == RECORD -> assert(area[k]); install(k, kind); CHANNEL(k, from)!RECORDED, 0, 0
        :: type == MAP -> area[k] = true; CHANNEL(k, from)!CHANGED, 0, 0
        :: type == UNMAP -> let_go(k); CHANNEL(k, from)!CHANGED, 0, 0
        :: type == SETTLE -> settle(k); CHANNEL(k, from)!SETTLED, 0, 0
        :: type == CHANGED || type == SETTLED || type == RECORDED -> left[k]--
        fi;
        type = 0;
        from = 0;
        kind = 0;
        f = 0
       }
    od
}

init {
    byte k;

    atomic {
        area[0] = true;
        for (k : 0 .. KERNELS - 1) {
            run task(k);
            run handler(k)
        }
        k = 0
    }
}

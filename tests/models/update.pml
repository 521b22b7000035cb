/* Kernels of another build (kernel/machine/update.md): kernel 0 runs the booted image. Kernels 1 and 2 are of one node: 1 is
 * the owner of the text that both run when they are built from the booted image. Each may be stopped, die, and be started
 * from the booted image, or from a file, in any order; the file has an image for this machine, a foreign one, or one that
 * changes between the check and the copy.
 *
 * A place of memory has what was last written there: NONE, BOOTED, NEXT, FOREIGN, HALF (not all of an image), DATA (the
 * frames of a kernel that runs). Places: the start of a chunk, and what is behind it, for each kernel.
 *
 * Promises, asserted at every step: a kernel that runs finds at the place of its text what it was started with; it never
 * runs a foreign image, or a part of one.
 *
 * Seeded bugs: 1 the image is written to the start of the chunk, also that of the owner; 2 the owner gives the place of the
 * text away as free memory, while 2 may run it; 3 the copy is not checked again; 4 a start from a file does not look
 * whether the kernel runs; 5 the hash is not compared; 6 a start of 2 does not put the owner's text in place. */
#ifndef BUG
#define BUG 0
#endif
#define STEPS 7

mtype = { NONE, BOOTED, NEXT, FOREIGN, HALF, DATA };
mtype start[3], behind[3];  /* places */
bool runs[3];
bool own[3];                /* it runs what is behind its chunk */
mtype runs_what[3];
byte steps;

#define OWNER 1
#define TEXT(k) (own[k] -> behind[k] : start[OWNER])
#define GOOD(k) (!runs[k] || (TEXT(k) == runs_what[k] && (runs_what[k] == BOOTED || runs_what[k] == NEXT)))

inline use_memory(k)
{
    /* what is free memory of K when it runs, and so has other bytes soon */
    if
    :: own[k] && (k != OWNER || BUG == 2) -> start[k] = DATA
    :: own[k] && k == OWNER && BUG != 2
    :: !own[k] -> behind[k] = DATA; if :: k != OWNER -> start[k] = DATA :: else fi
    fi
}

inline start_booted(k)
{
    if
    :: BUG != 6 || k == OWNER -> start[OWNER] = BOOTED /* the same bytes, where they are there already */
    :: else
    fi;
    own[k] = false;
    runs_what[k] = BOOTED;
    runs[k] = true;
    use_memory(k)
}

inline start_file(k)
{
    mtype file, copy;

    if
    :: file = NEXT
    :: file = FOREIGN
    :: file = HALF
    fi;
    if /* CHECKING */
    :: file == NEXT || (BUG == 5 && file == FOREIGN) ->
        copy = file; /* READING: the file may have become another one */
        if
        :: copy = FOREIGN
        :: copy = HALF
        :: skip
        fi;
        if
        :: BUG == 1 -> start[k] = copy
        :: else -> behind[k] = copy
        fi;
        if
        :: copy == NEXT || BUG == 3 || (BUG == 5 && copy == FOREIGN) ->
            own[k] = (BUG != 1);
            runs_what[k] = copy;
            runs[k] = true;
            use_memory(k)
        :: else /* refused: the place is nobody's */
        fi
    :: else
    fi
}

active proctype machine()
{
    byte k;

    start[1] = NONE;
    start[2] = NONE;
    behind[1] = NONE;
    behind[2] = NONE;
    do
    :: steps < STEPS ->
        atomic {
            steps++;
            if
            :: k = 1
            :: k = 2
            fi;
            if
            :: !runs[k] -> start_booted(k)
            :: !runs[k] || BUG == 4 -> start_file(k)
            :: runs[k] -> runs[k] = false /* a stop or a death */
            fi;
            assert(GOOD(1) && GOOD(2))
        }
    :: else -> break
    od
}

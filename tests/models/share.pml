/* A page of shared memory that moves in all spaces which have it; mm/move/move.md. Spaces 0 and 1 share it, each with a
 * process that also moves it, once; space 1 forks space 2, which may end. What the kernels of one space do in a round is one
 * step (move.pml has that). Finding the spaces, locking each, the rounds in each, and every part of a fork are steps.
 *
 * Checked: a read finds what was written last, whichever space reads or wrote; a frame that is freed is mapped by nobody, and
 * one that nobody has is free in the end; no deadlock.
 *
 * -DFILE: the page is a file's, which has a reference of its own. Space 2 maps it and gets the page from the file, and a call
 * writes to the file's frame: both wait while the page moves.
 *
 * -DSHORT: one operation of each thread, not two.
 *
 * Seeded bugs: 1 the mover keeps the lock of its own space while it waits for the others; 2 the references to the frame are
 * not compared with the spaces that are locked; 3 they are compared before the spaces are locked; 4 the frame is copied
 * before the last space is still; 5 the new frame gets one reference, not one for each space; 6 the references to the old one
 * are dropped when the mover's own space has replaced it; 7 a process ends while the mover has its space locked; 8 a mover
 * that has lost the answer to its lock, for want of memory, does not unlock. With -DFILE: 9 a space gets the page while it
 * moves; 10 a call writes while it moves; 11 the references are compared before the file keeps others waiting; 12 the file has
 * the new frame only after threads may write to it. */
#ifndef BUG
#define BUG 0
#endif
#define SPACES 3
#define FRAMES 3
#ifdef SHORT
#define OPERATIONS 1 /* of each space's thread */
#else
#define OPERATIONS 2
#endif

byte entry[SPACES]; /* frame, 0: none */
bool writable[SPACES];
bool published[SPACES]; /* can be found */
bool locked[SPACES];
byte pinned[SPACES];
byte content[FRAMES + 1];
byte references[FRAMES + 1];
byte last; /* what was written last */
byte file; /* the file's frame; 0: there is no file */
bool moving; /* the file keeps others waiting */
byte running;
hidden byte old_entry;

inline drop(f, n)
{
    references[f] = references[f] - n;
    assert(references[f] != 0 || (entry[0] != f && entry[1] != f && entry[2] != f && file != f))
}

inline lock_space(k)
{
    if
    :: found[k] && !held[k] ->
        atomic { /* a process that has ended is not pinned, and has nothing */
            if
            :: published[k] -> pinned[k]++; held[k] = true
            :: else -> found[k] = false
            fi
        };
        if
        :: found[k] ->
            atomic { !locked[k] -> locked[k] = true };
            if
            :: k != own -> /* the answer is lost */
                atomic {
                    if
                    :: BUG != 8 -> locked[k] = false; pinned[k]--
                    :: else
                    fi;
                    held[k] = false;
                    found[k] = false
                }
            :: true
            fi
        :: else
        fi
    :: else
    fi
}

inline still_space(k)
{
    if
    :: having[k] -> writable[k] = false
    :: else
    fi
}

inline replace_space(k)
{
    if
    :: having[k] -> entry[k] = new
    :: else
    fi
}

inline writable_space(k)
{
    if
    :: having[k] -> writable[k] = true
    :: else
    fi
}

inline unlock_space(k)
{
    if
    :: held[k] -> locked[k] = false; pinned[k]--
    :: else
    fi
}

inline switch_file()
{
    atomic { file = new; moving = false; drop(old, 1) }
}

proctype mover(byte own, new)
{
    byte old, spaces;
    bool found[SPACES], held[SPACES], having[SPACES], same, kept;

    atomic {
        found[0] = published[0];
        found[1] = published[1];
        found[2] = published[2];
        old = entry[own];
        same = references[old] == found[0] + found[1] + found[2]
    };
    if
    :: BUG == 1 ->
        if
        :: own == 0 -> lock_space(0)
        :: else -> lock_space(1)
        fi
    :: else
    fi;
    lock_space(0);
    lock_space(1);
    lock_space(2);
    atomic {
        old = entry[own];
        having[0] = found[0] && entry[0] == old;
        having[1] = found[1] && entry[1] == old;
        having[2] = found[2] && entry[2] == old;
        spaces = having[0] + having[1] + having[2];
        if
        :: BUG == 2 -> same = true
        :: BUG != 2 && BUG != 3 && (file == 0 || BUG == 11) -> same = references[old] == spaces + (file != 0)
        :: BUG == 3 || (file != 0 && BUG != 2 && BUG != 11)
        fi
    };
    if
    :: file != 0 ->
        atomic { kept = file == old && !moving; moving = moving || kept };
        atomic {
            if
            :: BUG != 11 -> same = kept && references[old] == spaces + 1
            :: else -> same = same && kept
            fi
        }
    :: else
    fi;
    if
    :: same ->
        still_space(0);
        still_space(1);
        if
        :: BUG == 4 -> content[new] = content[old]
        :: else
        fi;
        still_space(2);
        if
        :: BUG != 4 -> content[new] = content[old]
        :: else
        fi;
        references[new] = (BUG == 5 -> 1 : spaces) + (file != 0);
        replace_space(0);
        if
        :: BUG == 6 -> atomic { drop(old, spaces) }
        :: else
        fi;
        replace_space(1);
        replace_space(2);
        if
        :: file != 0 && BUG != 12 -> switch_file()
        :: else
        fi;
        if
        :: BUG != 6 -> atomic { drop(old, spaces) }
        :: else
        fi;
        writable_space(0);
        writable_space(1);
        writable_space(2);
        if
        :: file != 0 && BUG == 12 -> switch_file()
        :: else
        fi
    :: else -> /* the page stays */
        if
        :: kept -> moving = false
        :: else
        fi
    fi;
    atomic {
        unlock_space(0);
        unlock_space(1);
        unlock_space(2);
        running--
    }
}

proctype fork()
{
    atomic { !locked[1] -> locked[1] = true };
    atomic { entry[2] = entry[1]; references[entry[1]]++ };
    writable[2] = true;
    atomic { published[2] = true; locked[1] = false };
    if
    :: true -> /* the child ends */
        atomic {
            (pinned[2] == 0 || BUG == 7) ->
            published[2] = false;
            old_entry = entry[2];
            entry[2] = 0;
            writable[2] = false;
            drop(old_entry, 1);
            old_entry = 0
        }
    :: true
    fi;
    running--
}

/* Space 2 gets the file's page at its first touch. */
proctype newcomer()
{
    byte got;

    atomic { !locked[2] -> locked[2] = true };
    atomic { (!moving || BUG == 9) -> got = file; references[got]++ };
    atomic { entry[2] = got; writable[2] = true; locked[2] = false; running-- }
}

/* write(2) and read(2) */
proctype call()
{
    byte done;

    do
    :: done < OPERATIONS ->
        done++;
        if
        :: atomic { true -> assert(references[file] != 0 && content[file] == last) }
        :: atomic { (!moving || BUG == 10) ->
               assert(references[file] != 0 && content[file] == last);
               last++;
               content[file] = last
           }
        fi
    :: else -> break
    od
}

proctype thread(byte k)
{
    byte done;

    do
    :: done < OPERATIONS ->
        done++;
        if
        :: atomic { entry[k] != 0 && published[k] -> /* reads */
               assert(references[entry[k]] != 0 && content[entry[k]] == last)
           }
        :: atomic { entry[k] != 0 && published[k] && writable[k] ->
               assert(references[entry[k]] != 0 && content[entry[k]] == last);
               last++;
               content[entry[k]] = last
           }
        :: running == 0
        fi
    :: else -> break
    od
}

/* Nothing moves any more: every frame has as many references as entries. */
proctype over()
{
    byte f = 1, entries;

    running == 0;
    atomic {
        do
        :: f <= FRAMES ->
            entries = (entry[0] == f) + (entry[1] == f) + (entry[2] == f) + (file == f);
            assert(references[f] == entries);
            f++
        :: else -> break
        od
    }
}

init {
    atomic {
        entry[0] = 1;
        entry[1] = 1;
        writable[0] = true;
        writable[1] = true;
        published[0] = true;
        published[1] = true;
        references[1] = 2;
        running = 3;
        run mover(0, 2);
        run mover(1, 3);
#ifdef FILE
        file = 1;
        references[1] = 3;
        published[2] = true;
        run newcomer();
        run call();
#else
        run fork();
#endif
        run thread(0);
        run thread(1);
        run thread(2);
        run over()
    }
}

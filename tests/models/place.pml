/* A new page of a file that gets its frame from the memory of the kernel that touches it; mm/file/file_map.md. Two kernels
 * fault at the page, each in a space of its own, and ask the file's kernel. A call writes to the page, for which the file's
 * kernel makes a frame of its own, and the file loses the page once. What one handler does is one step; references to the
 * frame of another kernel are counted and dropped by messages.
 *
 * Frames 1 and 2 are those of the two kernels, frame 3 is the file's kernel's.
 *
 * Checked: who maps a frame has a reference to it; a frame that is free is nobody's; without a cut both spaces map the same
 * frame; at the end, when all is unmapped and the file is gone, every frame is free; no deadlock.
 *
 * Seeded bugs: 1 a frame is sent along with the file's reference alone, and the sender counts its own when it has the answer;
 * 2 a frame that was not taken keeps the file's reference; 3 the file takes a frame although it has got one since it said
 * that it had none; 4 a reference that is counted too late is not dropped; 5 the owner counts a reference in a frame that has
 * none. */
#ifndef BUG
#define BUG 0
#endif
#define NONE 0
#define OWN 3

byte file;     /* the file's frame; NONE: a hole */
byte count[4]; /* references */
byte entry[3]; /* of the space on kernel 1 and 2 */
bool cut_once;
byte ended;

/* Called where a reference is dropped. */
inline drop(f)
{
    assert(count[f] > 0);
    count[f]--;
    assert(count[f] > 0 || (entry[1] != f && entry[2] != f && file != f))
}

/* One reference more, to a frame that somebody has. */
inline refer(f)
{
    assert(count[f] > 0);
    count[f]++
}

/* The frame of the file's kernel, if it is free; the file then has it. */
inline make_own()
{
    if
    :: file == NONE && count[OWN] == 0 -> count[OWN] = 1; file = OWN
    :: else
    fi
}

proctype asker(byte self)
{
    byte got = NONE, offered = NONE, seen;
    bool taken = false;

    /* the first FILE_PAGE: a hole is answered by where the page is wanted */
    atomic {
        if
        :: file == NONE
        :: file == OWN -> count[OWN]++; got = OWN
        :: else -> seen = file; goto share
        fi
    };
    if
    :: got != NONE -> goto map
    :: else
    fi;
    /* FRAME_GIVE, or a frame of this kernel's own */
    atomic {
        if
        :: count[self] == 0 -> offered = self; count[self] = (BUG == 1 -> 1 : 2)
        :: else /* it is in use, after a cut: there is no memory */
        fi
    };
    /* the second FILE_PAGE, with the frame */
    atomic {
        if
        :: offered != NONE && (file == NONE || BUG == 3) -> file = offered; taken = true
        :: else
        fi
    };
look:
    /* the request is kept while the owner of the file's frame counts a reference */
    atomic {
        if
        :: taken -> got = offered; seen = NONE
        :: !taken && offered != NONE && file == NONE -> /* a hole again; BIND */
            file = offered; taken = true; got = offered; seen = NONE
        :: !taken ->
            make_own();
            if
            :: file == OWN -> count[OWN]++; got = OWN; seen = NONE
            :: file == NONE -> seen = NONE /* ENOMEM */
            :: else -> seen = file
            fi
        fi
    };
share:
    do
    :: seen == NONE -> break
    :: else ->
        /* FRAME_SHARE, at the owner */
        atomic {
            if
            :: count[seen] > 0 || BUG == 5 -> refer(seen)
            :: else -> seen = NONE
            fi
        };
        if
        :: seen == NONE -> goto look /* it has gone */
        :: else
        fi;
        atomic {
            if
            :: file == seen -> got = seen; seen = NONE
            :: else
            fi
        };
        if
        :: seen == NONE -> break
        :: else
        fi;
        atomic { /* FRAME_RELEASE */
            if
            :: BUG != 4 -> drop(seen)
            :: else
            fi;
            seen = NONE
        };
        goto look
    od;
    if
    :: taken && BUG == 1 -> atomic { refer(offered) }
    :: else
    fi;
    if
    :: offered != NONE && !taken -> /* both references are dropped */
        atomic { drop(offered) };
        if
        :: BUG != 2 && BUG != 1 -> atomic { drop(offered) }
        :: else
        fi
    :: else
    fi;
map:
    if
    :: got != NONE ->
        atomic {
            assert(count[got] > 0);
            entry[self] = got;
            assert(cut_once || entry[1] == NONE || entry[2] == NONE || entry[1] == entry[2])
        };
        assert(count[got] > 0);
        atomic { entry[self] = NONE; drop(got) } /* the space ends */
    :: else
    fi;
    ended++
}

proctype caller()
{
    if
    :: atomic { make_own() }
    :: skip
    fi;
    ended++
}

/* The file loses the page; with the last one it goes itself. The reference to a frame of another kernel is dropped there, a
 * little later. */
inline cut()
{
    atomic { lost = file; file = NONE; cut_once = true };
    if
    :: lost != NONE -> atomic { drop(lost) }
    :: else
    fi
}

proctype cutter()
{
    byte lost;

    if
    :: cut()
    :: skip
    fi;
    ended++
}

init
{
    byte lost;

    atomic {
        run asker(1);
        run asker(2);
        run caller();
        run cutter()
    };
    ended == 4;
    cut();
    assert(count[1] == 0 && count[2] == 0 && count[3] == 0)
}

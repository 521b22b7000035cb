/* Copy-on-write pages that come along with the answer for another page (mm/fault/runs.c; mm/retrieve/retrieval.md,
 * Prefetch), against a copy of such a page by the fast path: one page of a space whose home is kernel 0, and which
 * kernel 1 may map. At first the home maps the old frame, COW, and another space has it, too. Kernel 1 has three
 * tasks: one writes to the page, and asks for it unless it may write; one touches a neighbour, whose answer brings
 * the page along if the home maps it COW then; one reads the page. Once the home has answered with a copy, its
 * threads write to that. The answer for the neighbour may take several slots, and so be overtaken by that for the
 * page; a change would be put off for both (get.pml).
 *
 * Checked: nobody reads the old frame once the home has dropped it, nor writes to it; the copy is not lost; no
 * deadlock.
 *
 * Seeded bugs: 1 the asker maps the page although a question about it is under way that may be answered with a copy;
 * 2 it maps the page although it has an entry; 3 it maps the page as one that may be written to; 4 a COW entry stays
 * present while the question is under way; 5 the home answers with a copy although the neighbour's answer has named
 * the page to another kernel. */
#ifndef BUG
#define BUG 0
#endif

#define NONE 0
#define OLD 1
#define COPY 2

mtype = { PAGE, NEIGHBOUR, COPIED, FRAME, BUSY, ALONG, NOTHING };

chan asks = [2] of { mtype };
chan answers = [2] of { mtype };   /* of one slot, in order */
chan slow = [1] of { mtype };      /* of several slots */
byte home = OLD;                   /* the home's entry; OLD is COW */
byte entry = NONE;                 /* kernel 1's */
bool writable, absent;             /* that entry */
bool copies;                       /* a question about the page is under way that may be answered with a copy */
bool third;                        /* kernel 2 is marked for the page, and maps it as long as it is not told */
bool wrote, touched;
byte left = 4;                     /* touches of the neighbour, and reads */

proctype writer()
{
    do
    :: wrote -> break
    :: atomic {
        !wrote && entry != NONE && !absent && writable ->
        assert(entry != OLD);
        wrote = true
       }
    :: atomic {
        !wrote && !copies && !(entry != NONE && writable) ->
        copies = true;
        absent = entry != NONE && BUG != 4;
        asks!PAGE
       }
       !copies
    od
}

/* The neighbour's own page is of no interest: only what comes along. */
proctype toucher()
{
    do
    :: left == 0 -> break
    :: atomic { left > 0 -> left--; touched = false; asks!NEIGHBOUR }
       touched
    od
}

proctype reader()
{
end:
    do
    :: atomic { entry != NONE && !absent -> assert(entry != OLD || home == OLD) /* else the home has dropped it */ }
    od
}

/* Kernel 2 fetches a neighbour once, which brings the page along there, too. */
proctype elsewhere()
{
    if
    :: atomic { home == OLD -> third = true }
    :: skip
    fi
}

/* The copy under the page's lock: kernel 2 is told, then it is as at first. */
proctype locker()
{
end:
    do
    :: atomic { third && copies == false -> third = false }
    od
}

proctype home_handler()
{
end:
    do
    :: atomic {
        asks?PAGE ->
        if
        :: home == OLD && (!third || BUG == 5) -> home = COPY; assert(!third); answers!COPIED
        :: home == OLD && third && BUG != 5 -> answers!BUSY
        :: home == COPY -> answers!FRAME
        fi
       }
    :: atomic {
        asks?NEIGHBOUR ->
        if
        :: home == OLD -> if :: answers!ALONG :: slow!ALONG fi
        :: else -> answers!NOTHING
        fi
       }
    od
}

inline take(type)
{
    if
    :: type == COPIED ->
        assert(entry == NONE || absent || BUG != 0);
        entry = COPY; writable = true; absent = false; copies = false
    :: type == FRAME ->
        assert(entry == COPY || entry == NONE);
        entry = COPY; writable = true; absent = false; copies = false
    :: type == BUSY -> absent = false; copies = false
    :: type == ALONG ->
        if
        :: (entry == NONE || BUG == 2) && (!copies || BUG == 1) ->
            assert(entry != COPY);
            entry = OLD; writable = BUG == 3
        :: else
        fi;
        touched = true
    :: type == NOTHING -> touched = true
    fi
}

proctype handler()
{
    mtype type;

end:
    do
    :: atomic { answers?type -> take(type) }
    :: atomic { slow?type -> take(type) }
    od
}

init {
    atomic {
        run writer();
        run toucher();
        run reader();
        run elsewhere();
        run locker();
        run home_handler();
        run handler()
    }
}

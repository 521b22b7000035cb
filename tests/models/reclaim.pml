/* What dead kernels had is taken back (kernel/machine/death.md): kernel 0 coordinates, S and T survive, D1 has died and
 * D2 may die at any moment. S has two frames, in two ranges which it looks at one after the other; D1 and D2 have one
 * reference to each, and a thread on S of a process at home on D2 maps them by entries that are no references. S has a
 * file with an open of a table here, one of D1, and one that is a proxy of T, in a packet of a socket of T that D1 had
 * open. So when T closes the socket a worker drops the proxy, some time later, by a message to S. T and D2 map an object of S, which has given
 * each of them a grant, and one more for each of them to D1, which has died with it.
 *
 * Promises, asserted: no frame is free while a thread maps it, nor the object; the table's open is never closed. When
 * nothing can happen any more, all who have died are cleaned up: nothing refers to a frame but a kernel that lives, the
 * file has the table's open alone, and the grants are those that kernels that live have.
 *
 * Seeded bugs: 1 S takes back although another kernel is fenced than those that are cleaned up; 2 S asks in each
 * range whoever is reachable then; 3 each kernel counts and drops opens in one step; 4 the coordinator cleans up
 * after D1 alone, whatever comes; 5 it does not wait, before it goes on, until what T closed is closed here; 6 what
 * S could not look at counts as taken back; 7 S takes back the grants of the dead, and not those that they had got for
 * others; 8 who could not say what it has counts as having no grant; 9 it waits for
 * messages only, and not for workers. */
#ifndef BUG
#define BUG 0
#endif
#define NONE 0
#define COUNT 1
#define DROP 2
#define FLUSH 3
#define RECLAIM 4
#define RANGES 2

bool d2_dead;            /* its CPU stands still */
bool d2_fenced0, d2_fenced; /* kernel 0 and S know */
byte refs[RANGES] = 2;   /* of the frames; 0: free */
bool maps = true;        /* the thread at S */
byte opens = 3;          /* of the file of S */
byte proxies = 1;        /* T's */
bool socket = true;      /* D1 had it open */
bool closing;            /* a worker of T closes what was in its queue */
byte granted_t = 2, granted_2 = 2; /* of the object, for T and for D2, which have one each */
chan drops = [1] of { bit }; /* T to S: one open is closed */
chan to_s = [1] of { byte, bool }; /* a step; whether D2 is cleaned up, too */
chan to_t = [1] of { byte };
chan from_s = [1] of { bool };
chan from_t = [1] of { bool };
bool over;

/* D2 dies, is fenced by kernel 0 at once, and S is told some time later. */
active proctype dying()
{
    if
    :: d2_dead = true
    :: skip
    fi;
end:
    do
    :: atomic { d2_dead && !d2_fenced0 -> d2_fenced0 = true }
    :: atomic { d2_fenced0 && !d2_fenced -> d2_fenced = true }
    od
}

/* S handles messages while a task of it takes a step. */
active proctype handler()
{
end:
    do
    :: atomic { nempty(drops) -> drops ? _; opens--; assert(opens > 0) }
    od
}

active proctype s()
{
    byte step, range, excess, found;
    bool both, asks, bad;

end:
    do
    :: to_s ? step, both ->
        bad = false;
        if
        :: step == COUNT -> /* T is asked; its answer tells what it has then */
            atomic { if :: d2_fenced && !both && BUG != 1 -> bad = true :: else -> found = 1 + proxies fi }
            atomic { excess = 0; if :: !bad && opens > found -> excess = opens - found :: else fi };
            if
            :: BUG == 3 -> atomic { opens = opens - excess; assert(opens > 0); excess = 0 }
            :: else
            fi
        :: step == DROP ->
            atomic { asks = !d2_fenced; if :: d2_fenced && !both && BUG != 1 -> bad = true :: else fi };
            if
            :: bad
            :: !bad ->
                if
                :: BUG == 7
                :: else -> granted_t = 1 /* T says so */
                fi;
                if
                :: atomic { asks && !d2_dead && BUG != 7 -> granted_2 = 1 }
                :: atomic { asks && !d2_dead && BUG == 7 }
                :: atomic { asks && d2_fenced -> if :: BUG == 8 -> granted_2 = 0 :: else -> bad = true fi }
                :: atomic { !asks -> granted_2 = 0 }
                fi;
                assert(!maps || granted_2 > 0)
            fi;
            if
            :: !bad -> atomic { opens = opens - excess; assert(opens > 0); excess = 0 }
            :: else
            fi
        :: step == FLUSH -> empty(drops)
        :: step == RECLAIM ->
            atomic { asks = !d2_fenced; if :: d2_fenced && !both && BUG != 1 -> bad = true :: else fi };
            range = 0;
            do
            :: range < RANGES && !bad ->
                if
                :: BUG == 2 -> asks = !d2_fenced
                :: else
                fi;
                if
                :: atomic { asks && !d2_dead -> refs[range] = 1 } /* it says that it has one */
                :: atomic { asks && d2_fenced -> if :: BUG == 6 -> refs[range] = 0 :: else -> bad = true fi }
                :: atomic { !asks -> refs[range] = 0 }
                fi;
                assert(!maps || refs[0] > 0);
                assert(!maps || refs[1] > 0);
                range++
            :: else -> break
            od;
            range = 0
        fi;
        from_s ! bad
    od
}

active proctype t()
{
    byte step;

end:
    do
    :: to_t ? step ->
        if
        :: (step == DROP || (step == COUNT && BUG == 3)) && socket -> atomic { socket = false; closing = true }
        :: else
        fi;
        from_t ! false
    od
}

active proctype worker_of_t()
{
end:
    atomic { closing -> proxies = 0; drops ! 0; closing = false }
}

inline have_done(step, both)
{
    to_t ! step;
    to_s ! step, both;
    from_s ? bad;
    from_t ? _
}

active proctype kernel0()
{
    bool both, bad;
    byte tries;

    do
    :: atomic { both = d2_fenced0 && BUG != 4 };
        /* what they had a part in is ended, and all programs are quiesced */
        if :: both -> d2_fenced; maps = false :: else fi;
        atomic { !closing && empty(drops) }; /* or T would not be quiet, or its request unanswered */
        have_done(COUNT, both);
        if :: bad -> goto again :: else fi;
        have_done(DROP, both);
        if :: bad -> goto again :: else fi;
        if :: BUG != 5 && BUG != 9 -> !closing :: else fi;
        if :: BUG != 5 -> have_done(FLUSH, both) :: else fi;
        have_done(RECLAIM, both);
        if :: bad -> goto again :: else fi;
        break;
again:  tries++;
        assert(tries <= 1) /* the death of D2 is the only reason */
    od;
    over = true;
    assert(opens == 1);
    assert(granted_t == 1 && granted_2 == (both -> 0 : 1));
    assert(refs[0] == (both -> 0 : 1) && refs[1] == refs[0])
}

/* Two pages that the home, kernel 0, replicates with one message to each member, kernels 1 and 2 (mm/replicate/replicate.md;
 * replicate.pml has one page, and writes that take the copies away). The frame of page 0 is the home's; that of page 1 is kernel 1's,
 * whose entry has the space's reference, so that the home gets a frame for it. A question to the home, its answer and the moment
 * when that is applied are steps of their own. A member that has a question under way puts the message off until the answer is
 * applied, or refuses it for want of memory, and changes nothing then.
 *
 * Checked: a read finds what was written last; a frame that is freed is mapped nowhere; while the home's entry is lent, no entry may
 * write; of the references to the frame of page 1 there is one, until it is released, once.
 *
 * Seeded bugs: 1 the message is put off for questions about its first page alone; 2 when a member refuses, the reference that another
 * one has given away is lost; 3 the home copies page 1 before all have answered; 4 it protects its entries before that; 5 it
 * releases the frame of page 1 after a refusal, though no answer has brought the reference; 6 a member that refuses has emptied the
 * first page and claims a reference that it has not. */
#ifndef BUG
#define BUG 0
#endif

#define NONE 0
#define WRITABLE 1
#define LENT 2

typedef kernel_pages { byte entry[2]; byte frame[2]; bool owning[2]; byte asking[2] }

kernel_pages at[3];
byte content[3];      /* of frame 0 and 1, of the pages, and 2, which the home takes for page 1 */
bool freed[3];
byte last[2];
byte now[2];          /* the page's frame, as the home knows it */
bool locked, refused, came, done;

inline check(k, p)
{
    assert(at[k].entry[p] == NONE || (!freed[at[k].frame[p]] && content[at[k].frame[p]] == last[p]))
}

inline read_fault(k, p)
{
    atomic { at[k].entry[p] == NONE -> at[k].asking[p]++ };
    atomic { /* the home answers */
        busy = locked;
        frame = now[p];
        lent = at[0].entry[p] == LENT
    };
    atomic {
        at[k].asking[p]--;
        if
        :: !busy && at[k].entry[p] == NONE ->
            assert(!freed[frame]);
            at[k].entry[p] = (lent -> LENT : WRITABLE);
            at[k].frame[p] = frame
        :: else
        fi
    }
}

proctype member(byte k)
{
    byte steps, p, frame;
    bool busy, lent;

    do
    :: steps < 3 ->
        steps++;
        if
        :: p = 0
        :: p = 1
        fi;
        if
        :: atomic { at[k].entry[p] == WRITABLE -> check(k, p); last[p]++; content[at[k].frame[p]] = last[p] }
        :: atomic { at[k].entry[p] != NONE -> check(k, p) }
        :: read_fault(k, p)
        fi
    :: steps == 3 -> break
    od
}

/* SPACE_SWITCH at member K. */
inline let_go(k)
{
    if
    :: atomic {
           (at[k].asking[0] == 0 && (at[k].asking[1] == 0 || BUG == 1)) ->
           came = came || at[k].owning[1];
           at[k].owning[1] = false;
           at[k].entry[0] = NONE;
           at[k].entry[1] = NONE
       }
    :: atomic {
           (at[k].asking[0] != 0 || at[k].asking[1] != 0) ->
           refused = true;
           if
           :: BUG == 6 -> at[k].entry[0] = NONE; at[k].owning[0] = true /* whose it is not */
           :: else
           fi
       }
    fi
}

inline protect()
{
    atomic { at[0].entry[0] = LENT; at[0].entry[1] = LENT }
}

proctype home()
{
    byte saved;

    if
    :: atomic { at[0].entry[1] == WRITABLE -> check(0, 1); last[1]++; content[at[0].frame[1]] = last[1] }
    :: skip
    fi;
    locked = true;
    saved = content[1];
    if
    :: BUG == 4 -> protect()
    :: else
    fi;
    let_go(1);
    let_go(2);
    if
    :: refused ->
        atomic {
            if
            :: came && BUG != 2 -> at[0].owning[1] = true
            :: else
            fi;
            freed[1] = freed[1] || (BUG == 5 && !came)
        }
    :: else ->
        atomic {
            content[2] = (BUG == 3 -> saved : content[1]);
            at[0].frame[1] = 2;
            now[1] = 2;
            freed[1] = came || BUG == 5;
            at[0].owning[1] = true
        };
        protect()
    fi;
    locked = false;
    done = true
}

/* At all times. */
proctype watcher()
{
    byte k;

    atomic {
        done ->
        assert(at[0].owning[0] && !at[1].owning[0] && !at[2].owning[0]);
        assert(at[0].owning[1] + at[1].owning[1] + at[2].owning[1] == 1);
        assert(freed[1] == (now[1] == 2));
        k = 1;
        do
        :: k < 3 ->
            assert(at[0].entry[0] == WRITABLE || at[k].entry[0] != WRITABLE);
            assert(at[0].entry[1] == WRITABLE || at[k].entry[1] != WRITABLE);
            k++
        :: else -> break
        od
    }
}

init {
    atomic {
        now[1] = 1;
        at[0].entry[0] = WRITABLE;
        at[0].owning[0] = true;
        at[0].entry[1] = WRITABLE;
        at[0].frame[1] = 1;
        at[1].entry[1] = WRITABLE;
        at[1].frame[1] = 1;
        at[1].owning[1] = true;
        run home();
        run watcher();
        run member(1);
        run member(2)
    }
}

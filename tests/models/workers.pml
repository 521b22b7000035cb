/* Two kernels with as many workers as there are ranks, one less than the code has, and no memory for more; each begins
 * an item by its rank, and an item waits for one of the next lower rank on the other kernel (tasks/remote/remote.md,
 * "Workers without memory").
 *
 * Checked: every item ends.
 *
 * Seeded bugs: 1 an item begins whenever a worker is free; 2 the highest items have the rank of those that they wait
 * for; 3 a worker looks at the first item alone. */
#ifndef BUG
#define BUG 0
#endif
#define RANKS 3
#define TOP 2
#define ITEMS 3 /* of the top rank on each kernel: as many as could take all workers */

byte queued[6]; /* kernel * RANKS + rank: items that have not begun */
byte idle[2];   /* workers */
byte ended;     /* items of the top rank */
byte answers[6]; /* of items of that rank that another kernel's waits for */

#define AT(k, r) ((k) * RANKS + (r))
#define FREE(k, r) (BUG == 1 -> idle[k] > 0 : (BUG == 2 && (r) == TOP -> idle[k] > TOP - 1 : idle[k] > (r)))
/* the highest rank came first: with bug 3 nothing behind it is looked at */
#define BEHIND(k, r) (BUG == 3 && (((r) < 2 && queued[AT(k, 2)] > 0) || ((r) < 1 && queued[AT(k, 1)] > 0)))

proctype worker(byte k)
{
    byte rank;

end:
    do
    :: atomic { queued[AT(k, 2)] > 0 && FREE(k, 2) -> queued[AT(k, 2)]--; idle[k]--; rank = 2 } goto begun
    :: atomic { queued[AT(k, 1)] > 0 && FREE(k, 1) && !BEHIND(k, 1) -> queued[AT(k, 1)]--; idle[k]--; rank = 1 } goto begun
    :: atomic { queued[AT(k, 0)] > 0 && FREE(k, 0) && !BEHIND(k, 0) -> queued[AT(k, 0)]--; idle[k]--; rank = 0 } goto begun
    od;
begun:
    if
    :: rank > 0 ->
        queued[AT(1 - k, rank - 1)]++;
        atomic { answers[AT(1 - k, rank - 1)] > 0 -> answers[AT(1 - k, rank - 1)]-- }
    :: rank == 0
    fi;
    atomic {
        if
        :: rank == TOP -> ended++
        :: else -> answers[AT(k, rank)]++
        fi;
        rank = 0;
        idle[k]++
    }
    goto end
}

init {
    byte i;

    atomic {
        for (i : 0 .. 1) {
            idle[i] = RANKS;
            queued[AT(i, TOP)] = ITEMS;
            run worker(i);
            run worker(i);
            run worker(i)
        }
        i = 0
    }
    timeout;
    assert(ended == 2 * ITEMS)
}

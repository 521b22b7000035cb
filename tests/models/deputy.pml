/* The death of kernel 0 (kernel/machine/death.md): the deputy, kernel 1, probes kernel 0 and ends the machine; the next one,
 * kernel 2, only looks, and while kernel 0 is silent looks at kernel 1, too. Kernel 0 may spin or hang at any moment, and
 * kernel 1 may hang, or stop in good order and say so. Kernel 2 lives.
 *
 * Promises, asserted: nobody ends the machine while kernel 0 lives; the machine is ended once, and after no more looks of
 * kernel 2 than three deaths take, one after the other.
 *
 * -DSLOW: kernels 0 and 1 live on, and the host leaves each without a step for up to UNRUN looks of another kernel.
 *
 * Seeded bugs: 1 kernel 2 does not look at kernel 1; 2 silence is death without a probe and its patience; 3 a kernel that has
 * stopped stays in line; 4 a probe's answer gives no more time.
 */
#ifndef BUG
#define BUG 0
#endif
#define LOOKS 2    /* of silence, until a kernel is suspected, and again after it has answered a probe */
#define PATIENCE 5 /* the same without an answer */
#define MOST (3 * (LOOKS + PATIENCE) + 6)
#ifdef SLOW
#define UNRUN 4
#else
#define UNRUN 0
#endif

mtype = { LIVE, SPINS, HANGS, STOPPED };
mtype life0 = LIVE, life1 = LIVE;
bool beat10, beat20, beat21;     /* WK: kernel K has beaten since kernel W has last looked */
byte unrun10, unrun20, unrun21;  /* likewise: looks of W since K has run */
bool probed, answered;
bool ending;
byte since;                      /* looks of kernel 2 since kernel 0 has died, and kernel 1 has changed */

#define runs(life, unrun) (life != LIVE || unrun <= UNRUN)

inline count(unrun) { if :: unrun <= UNRUN -> unrun++ :: else fi }
inline probe() { suspected = true; replied = false; silence = 0; probed = true; answered = false }
inline end_machine() { assert(life0 != LIVE && !ending); ending = true }

active proctype kernel0()
{
end:
    do
    :: atomic { life0 == LIVE && !ending -> beat10 = true; beat20 = true; unrun10 = 0; unrun20 = 0;
        if :: probed -> probed = false; answered = true :: else fi }
    :: atomic { life0 == SPINS && probed -> probed = false; answered = true }
#ifndef SLOW
    :: atomic { life0 == LIVE && !ending -> if :: life0 = SPINS :: life0 = HANGS fi; since = 0 }
#endif
    od
}

/* One look at kernel 0. DEAD: it is dead for who looks. PROBES: who looks asks it. */
inline look(beat, probes)
{
    dead = false;
    if
    :: beat -> beat = false; silence = 0; suspected = false; replied = false
    :: else ->
        if :: silence < PATIENCE -> silence++ :: else fi;
        if :: suspected && answered && !replied && BUG != 4 -> replied = true; silence = 0 :: else fi;
        if
        :: silence < LOOKS -> skip
        :: silence >= LOOKS && (BUG == 2 || (BUG == 4 && suspected)) -> dead = true
        :: else ->
            if
            :: !suspected && probes -> probe()
            :: !suspected && !probes -> suspected = true; replied = false; silence = 0
            :: suspected && (replied || silence >= PATIENCE) -> dead = true
            :: else
            fi
        fi
    fi
}

active proctype kernel1()
{
    byte silence;
    bool suspected, replied, dead;

end:
    do
    :: atomic { life1 == LIVE && !ending && runs(life0, unrun10) -> /* a tick: it beats, and looks */
        beat21 = true; unrun21 = 0;
        count(unrun10);
        look(beat10, true);
        if :: dead -> end_machine() :: else fi }
#ifndef SLOW
    :: atomic { life1 == LIVE && !ending -> if :: life1 = HANGS :: life1 = STOPPED fi; since = 0; break }
#endif
    od
}

active proctype kernel2()
{
    byte silence, silence1;
    bool suspected, replied, dead, deputy, was;

end:
    do
    :: atomic { !ending && runs(life0, unrun20) && runs(life1, unrun21) ->
        if :: life0 != LIVE -> since++; assert(since <= MOST) :: else fi;
        count(unrun20); count(unrun21);
        look(beat20, deputy);
        was = deputy;
        if
        :: life1 == STOPPED -> deputy = (BUG != 3)
        :: life1 != STOPPED && (suspected || dead) && BUG != 1 ->
            if
            :: beat21 -> silence1 = 0
            :: !beat21 && silence1 < LOOKS + PATIENCE -> silence1++
            :: else
            fi;
            beat21 = false;
            deputy = (silence1 == LOOKS + PATIENCE)
        :: else -> silence1 = 0; beat21 = false; deputy = false
        fi;
        if
        :: deputy && !was && suspected -> probe()
        :: deputy && (was || !suspected) && dead -> end_machine()
        :: else
        fi }
    od
}

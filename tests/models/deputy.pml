/* The death of kernel 0 (kernel/machine/death.md): the deputy, kernel 1, probes kernel 0 and ends the machine; the next one,
 * kernel 2, only looks, and while kernel 0 is silent looks at kernel 1, too. Kernel 0 may spin or hang at any moment, and
 * kernel 1 may hang, or stop in good order and say so. Kernel 2 lives.
 *
 * Promises, asserted: nobody ends the machine while kernel 0 lives; the machine is ended once, and after no more looks of
 * kernel 2 than three deaths take, one after the other.
 *
 * -DSLOW: kernels 0 and 1 live on, and the host leaves each without a step for up to UNRUN looks of another kernel. Kernel
 * 0 may have its interrupts off in BUSY turns in a row.
 *
 * Seeded bugs: 1 kernel 2 does not look at kernel 1; 2 silence is death without a probe and its patience; 3 a kernel that has
 * stopped stays in line; 4 a probe's answer gives no more time; 5 one answer is enough.
 */
#ifndef BUG
#define BUG 0
#endif
#define LOOKS 2    /* of silence, until a kernel is suspected */
#define ASKS 3     /* answers to probes, each sent after the one before, until one that does not beat is dead */
#define PATIENCE 5 /* looks without an answer */
#define MOST (3 * (LOOKS + PATIENCE) + 6)
#ifdef SLOW
#define UNRUN 4
#define BUSY 2
#else
#define UNRUN 0
#define BUSY 0
#endif

mtype = { LIVE, SPINS, HANGS, STOPPED };
mtype life0 = LIVE, life1 = LIVE;
bool beat10, beat20, beat21;     /* WK: kernel K has beaten since kernel W has last looked */
byte unrun10, unrun20, unrun21;  /* likewise: looks of W since K has run */
bool probed;
bool answered1, answered2;       /* kernel 0 has answered a probe since that kernel has last looked */
byte busy;                       /* turns of kernel 0 since its interrupts are off */
bool ending;
byte since;                      /* looks of kernel 2 since kernel 0 has died, and kernel 1 has changed */

#define runs(life, unrun) (life != LIVE || unrun <= UNRUN)
#define replies (life0 != SPINS || !probed) /* the host runs one that spins, too */

inline count(unrun) { if :: unrun <= UNRUN -> unrun++ :: else fi }
inline suspect(answered) { suspected = true; replies_seen = 0; silence = 0; answered = false }
inline answer() { probed = false; answered1 = true; answered2 = true }
inline end_machine() { assert(life0 != LIVE && !ending); ending = true }

active proctype kernel0()
{
end:
    do
    :: atomic { life0 == LIVE && !ending -> unrun10 = 0; unrun20 = 0;
        if :: busy < BUSY -> busy++ :: busy = 0; beat10 = true; beat20 = true fi;
        if :: probed -> answer() :: else fi }
    :: atomic { life0 == SPINS && probed -> answer() }
#ifndef SLOW
    :: atomic { life0 == LIVE && !ending -> if :: life0 = SPINS :: life0 = HANGS fi; since = 0 }
#endif
    od
}

/* One look at kernel 0. DEAD: it is dead for who looks. PROBES: who looks asks it. */
inline look(beat, answered, probes)
{
    dead = false;
    if
    :: beat -> beat = false; silence = 0; suspected = false
    :: else ->
        if :: silence < PATIENCE -> silence++ :: else fi;
        if
        :: !suspected && silence < LOOKS -> skip
        :: !suspected && silence >= LOOKS -> suspect(answered); if :: probes -> probed = true :: else fi; dead = (BUG == 2)
        :: suspected ->
            if
            :: answered && BUG != 4 ->
                answered = false; silence = 0; if :: probes -> probed = true :: else fi;
                if :: replies_seen < ASKS -> replies_seen++ :: else fi
            :: else
            fi;
            dead = (replies_seen >= (BUG == 5 -> 1 : ASKS) || silence == PATIENCE || BUG == 4 && silence >= LOOKS)
        fi
    fi
}

active proctype kernel1()
{
    byte silence;
    byte replies_seen;
    bool suspected, dead;

end:
    do
    :: atomic { life1 == LIVE && !ending && runs(life0, unrun10) && replies -> /* a tick: it beats, and looks */
        beat21 = true; unrun21 = 0;
        count(unrun10);
        look(beat10, answered1, true);
        if :: dead -> end_machine() :: else fi }
#ifndef SLOW
    :: atomic { life1 == LIVE && !ending -> if :: life1 = HANGS :: life1 = STOPPED fi; since = 0; break }
#endif
    od
}

active proctype kernel2()
{
    byte silence, silence1;
    byte replies_seen;
    bool suspected, dead, deputy, was;

end:
    do
    :: atomic { !ending && runs(life0, unrun20) && runs(life1, unrun21) && replies ->
        if :: life0 != LIVE -> since++; assert(since <= MOST) :: else fi;
        count(unrun20); count(unrun21);
        look(beat20, answered2, deputy);
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
        :: deputy && !was && suspected -> suspect(answered2); probed = true
        :: deputy && (was || !suspected) && dead -> end_machine()
        :: else
        fi }
    od
}

/* The death of a kernel (kernel/machine/death.md): kernel 0 watches D, declares it dead, stops its CPU, has the epoch of D
 * end on itself and on survivor S, has what D had ended and freed, and starts D again. D may hang at any moment, with or
 * without NMIs, and a message that it has begun to store may come late. The host of the emulator may leave D's CPU
 * without a step for UNRUN looks of the watcher, and may let the whole machine stand still, which the watcher sees as one
 * long time between two looks; and its turns may be so short that D has its interrupts off in BUSY of them in a row.
 *
 * Promises, asserted: a kernel that lives is never declared dead; D's CPU stands still before anything that it maps is
 * freed, and no other kernel maps it then either; S takes nothing of D's former life after the fence, and the new ring is
 * empty; each request of S to D is completed exactly once; an answer to the former life does not reach the new one. When
 * nothing can happen any more, D runs again, or lives still, and no request is open.
 *
 * -DSLOW: D lives on, and only the host is slow: about false alarms. Otherwise the host always runs it.
 *
 * Seeded bugs: 1 a silent kernel is dead without a probe; 2 all of the time between two looks counts; 3 no INIT; 4 no
 * wait after INIT; 5 the fence does not complete requests; 6 the rings are served after the fence; 7 an answer of the
 * former life completes a request a second time, as the request's slot stays taken; 8 a kept request of the former life
 * is answered; 9 a survivor frees an orphan's memory although another one still has a thread of it; 10 what D had is
 * freed before its CPU is stopped; 11 one answer to a probe is enough.
 */
#ifndef BUG
#define BUG 0
#endif
#define LOOKS 2    /* of silence, until a kernel is suspected */
#define ASKS 3     /* answers to probes, each sent after the one before, until one that does not beat is dead */
#define PATIENCE 6 /* looks without an answer; of one look at most LATE counts */
#define LATE 1
#ifdef SLOW
#define UNRUN 4
#define BUSY 2
#else
#define UNRUN 0
#define BUSY 0
#endif
#define TURNS 14

mtype = { LIVE, SPINS, HANGS, HALTED, ASK, ANSWER, KEPT, ALIVE, SUSPECTED };
mtype life = LIVE;
bit epoch;                      /* of D: 1: started again */
bit beat;
bool probed, answered;
byte unrun;                     /* looks since D has run */
byte busy;                      /* turns of D since its interrupts are off */
byte looks;                     /* so far */
chan ring = [3] of { mtype, bit }; /* from D to S: kind, epoch */
bool storing;                   /* D has begun to store a message of its first life */
chan to_d = [3] of { mtype };   /* from S to D */
chan orders = [1] of { byte };  /* from kernel 0 to S */
chan reports = [1] of { byte };
bool freed0, freed1;            /* frames of kernel 0 and of S that D, and a thread of an orphan elsewhere, map */
bool thread0 = true, thread1 = true; /* of the orphan, on kernel 0 and on S */
bool over;                      /* D runs again, or the watcher has looked long enough */

inline use_frames() { assert(!freed0 && !freed1) }

/* D: each step is one of its CPU. */
active proctype dead()
{
    bool asked;

end:
    do
    :: atomic { life == LIVE && unrun > 0 -> unrun = 0;
        if :: busy < BUSY -> busy++ :: busy = 0; beat = 1 - beat fi;
        if :: probed -> probed = false; answered = true :: else fi }
    :: atomic { life == LIVE && epoch == 0 && unrun == 0 && nempty(to_d) -> to_d ? _; if :: ring ! ANSWER, 0 :: skip fi } /* or it dies before it answers */
    :: atomic { life == LIVE && epoch == 0 && !asked && !storing -> asked = true; storing = true }
    :: atomic { life == LIVE && epoch == 0 -> use_frames() }
    :: atomic { (life == SPINS || life == HANGS) && epoch == 0 -> use_frames() }
    :: atomic { life == SPINS && probed -> probed = false; answered = true }
#ifndef SLOW
    :: atomic { life == LIVE && epoch == 0 -> if :: life = SPINS :: life = HANGS fi }
#endif
    :: atomic { life == LIVE && epoch == 1 && nempty(to_d) -> to_d ? KEPT -> assert(false) }
    od
}

/* A message that was begun comes into the ring at some time. */
active proctype store()
{
end:
    atomic { storing -> ring ! ASK, 0; storing = false }
}

active proctype survivor()
{
    bool waits = true, fenced, keeps, orphan;
    byte done, order;
    mtype kind;
    bit whose;

    to_d ! ASK;
end:
    do
    :: atomic { nempty(ring) && (!fenced || BUG == 6) ->
        ring ? kind, whose;
        assert(!fenced);
        if
        :: kind == ANSWER -> assert(waits); waits = false; done++
        :: else -> keeps = true /* answered by an event, later */
        fi }
    :: atomic { nempty(ring) && fenced && BUG != 6 ->
        ring ? kind, whose;
        if
        :: kind == ANSWER && BUG == 7 -> done++; assert(done <= 1)
        :: else -> skip /* dropped and counted */
        fi }
    :: atomic { keeps -> keeps = false;
        if
        :: orphan && BUG != 8 -> skip           /* dropped */
        :: (!orphan || BUG == 8) && epoch == 1 -> to_d ! KEPT
        :: (!orphan || BUG == 8) && epoch == 0 -> skip /* to the first life, or nowhere */
        fi }
    :: atomic { nempty(orders) -> orders ? order;
        if
        :: order == 1 -> fenced = true; orphan = keeps;
            if :: waits && BUG != 5 -> waits = false; done++; assert(done == 1) :: else fi; reports ! 0
        :: order == 2 -> if :: thread1 = false :: skip fi; reports ! thread1
        :: order == 3 -> assert(!thread0 && !thread1); freed1 = true; assert(life == HALTED); reports ! 0
        :: order == 4 -> assert(empty(ring)); assert(!waits && done == 1); fenced = false; reports ! 0
        fi }
    od
}

/* Whether a thread of the orphan uses memory that was freed. */
active proctype orphan()
{
end:
    do
    :: atomic { (thread0 || thread1) && (freed0 || freed1) -> assert(false) }
    od
}

#define order_done(number) orders ! number; reports ? left

active proctype kernel0()
{
    mtype state = ALIVE;
    byte silence, turns, left, elapsed;
    bit seen;

    /* noticed: msg/alive.c, look_at */
    do
    :: atomic { looks == TURNS -> over = true; goto done }
    :: atomic { looks < TURNS && (life != LIVE || unrun <= UNRUN) ->
        looks++;
        unrun++;
        if :: elapsed = 1 :: elapsed = 6 fi; /* the whole machine stood still */
        if :: elapsed > LATE && BUG != 2 -> elapsed = LATE :: else fi;
        if
        :: beat != seen -> seen = beat; state = ALIVE; silence = 0
        :: else ->
            silence = silence + elapsed;
            if
            :: state == ALIVE && silence < LOOKS -> skip
            :: state == ALIVE && silence >= LOOKS && BUG == 1 -> break
            :: state == ALIVE && silence >= LOOKS && BUG != 1 ->
                state = SUSPECTED; probed = true; answered = false; silence = 0; turns = 0
            :: state == SUSPECTED ->
                if :: answered -> turns++; answered = false; probed = true; silence = 0 :: else fi;
                if :: turns == (BUG == 11 -> 1 : ASKS) || silence >= PATIENCE -> break :: else fi
            fi
        fi }
    od;
    assert(life != LIVE);
    if :: BUG == 10 -> freed0 = true :: else fi;
    /* fenced */
    atomic { if :: life == SPINS -> life = HALTED :: else fi }; /* the NMI */
    if :: BUG != 3 -> life = HALTED :: else fi;                 /* INIT */
    if :: BUG != 4 -> !storing :: else fi;                      /* what was under way has come by now */
    order_done(1);
    /* cleaned */
    do
    :: atomic { thread0 -> if :: thread0 = false :: skip fi }
    :: order_done(2); if :: (left == 0 && !thread0) || BUG == 9 -> break :: else fi
    od;
    atomic { freed0 = true; assert(life == HALTED) };
    order_done(3);
    /* back: what is in the ring is dropped with it */
    empty(ring);
    order_done(4);
    do :: to_d ? _ :: empty(to_d) -> break od;
    atomic { epoch = 1; life = LIVE; over = true };
done:
    skip
}

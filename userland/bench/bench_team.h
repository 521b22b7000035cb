/* A team of threads, each of which sleeps until it has a job at some place (userland/bench/bench_place.h). Markers
 * (userland/bench/mark.h) are around the jobs, not around the ways there. One thread uses the team.
 *
 * Functions that return int return 0 or an errno, having told with bench_failed what failed. */
#ifndef USERLAND_BENCH_TEAM_H
#define USERLAND_BENCH_TEAM_H

struct bench_job {
    int place;
    int (*work)(void *argument); /* 0 or an errno, told */
    void *argument;
};

/* Starts COUNT threads, at most BENCH_PLACES_MAX. */
int bench_team_start(int count);

/* Runs COUNT JOBS by the threads from FIRST on, all at once, when all of them are at their places: in REGION, or in
 * none if that is 0. Who is done sleeps where it is. */
int bench_team_run(const struct bench_job *jobs, int first, int count, unsigned region);

/* Ends the threads. */
void bench_team_end(void);

#endif

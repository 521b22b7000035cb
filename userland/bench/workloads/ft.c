/* FT: a partial differential equation by three-dimensional Fourier transforms, after the NAS Parallel Benchmarks
 * (RNR-94-007, section 2.3.6). Members share the planes; the transform along z reads what all others wrote.
 *
 * A line is transformed by Stockham's radix-2 algorithm in two buffers of the member. */
#include <complex.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

#include "userland/bench/workloads/random.h"
#include "userland/bench/workloads/team.h"
#include "userland/bench/workloads/workload.h"

#define ITERATIONS_MAX 20
#define SUMMED 1024 /* elements of a checksum */
#define ALPHA 1e-6
#define TOLERANCE 1e-12
#define LENGTH_MAX 512

typedef double complex element;

static const struct size {
    int x;
    int y;
    int z;
    int iterations;
    double sums[ITERATIONS_MAX][2];
} sizes[] = {
    {64,
     64,
     64,
     6,
     {{554.6087004964, 484.5363331978},
      {554.6385409189, 486.5304269511},
      {554.6148406171, 488.3910722336},
      {554.5423607415, 490.1273169046},
      {554.4255039624, 491.7475857993},
      {554.2683411902, 493.2597244941}}},
    {128,
     128,
     32,
     6,
     {{567.3612178944, 529.3246849175},
      {563.1436885271, 528.2149986629},
      {559.4024089970, 527.0996558037},
      {556.0698047020, 526.0027904925},
      {553.0898991250, 524.9400845633},
      {550.4159734538, 523.9212247086}}},
    {256,
     256,
     128,
     6,
     {{504.6735008193, 511.4047905510},
      {505.9412319734, 509.8809666433},
      {506.9376896287, 509.8144042213},
      {507.7892868474, 510.1336130759},
      {508.5233095391, 510.4914655194},
      {509.1487099959, 510.7917842803}}},
    {512, 256, 256, 20, {{517.7643571579, 507.7803458597}, {515.4521291263, 508.8249431599},
                         {514.6409228649, 509.6208912659}, {514.2378756213, 510.1023387619},
                         {513.9626667737, 510.3976610617}, {513.7423460082, 510.5948019802},
                         {513.5547056878, 510.7404165783}, {513.3910925466, 510.8576573661},
                         {513.2470705390, 510.9577278523}, {513.1197729984, 511.0460304483},
                         {513.0070319283, 511.1252433800}, {512.9070537032, 511.1968077718},
                         {512.8182883502, 511.2616233064}, {512.7393733383, 511.3203605551},
                         {512.6691062020, 511.3735928093}, {512.6064276004, 511.4218460548},
                         {512.5504076570, 511.4656139760}, {512.5002331720, 511.5053595966},
                         {512.4551951846, 511.5415130407}, {512.4146770029, 511.5744692211}}},
};

static const struct size *size;
static element *spectrum;             /* of the current time; x runs fastest, then y, then z */
static element *field;                /* what is transformed */
static double *decay;                 /* of each element from one time to the next */
static element roots[LENGTH_MAX / 2]; /* exp(-2 pi i k / LENGTH_MAX) */
static element sums[ITERATIONS_MAX];

static size_t elements(void)
{
    return (size_t)size->x * (size_t)size->y * (size_t)size->z;
}

static bool setup(char name)
{
    int row = workload_class(name);

    if (row < 0)
        return false;
    size = &sizes[row];
    spectrum = workload_memory(elements() * sizeof(*spectrum));
    field = workload_memory(elements() * sizeof(*field));
    decay = workload_memory(elements() * sizeof(*decay));
    for (int k = 0; k < LENGTH_MAX / 2; k++) {
        double angle = -2.0 * M_PI * k / LENGTH_MAX;

        roots[k] = CMPLX(cos(angle), sin(angle));
    }
    return true;
}

static size_t place(long x, long y, long z)
{
    return ((size_t)z * (size_t)size->y + (size_t)y) * (size_t)size->x + (size_t)x;
}

/* Transforms LENGTH elements of LINE, with SPARE as second buffer; INVERSE without dividing by the length. */
static void line_transform(element *line, element *spare, int length, bool inverse)
{
    element *from = line;
    element *to = spare;

    for (int half = length / 2, width = 1; half >= 1; half /= 2, width *= 2) {
        for (int k = 0; k < half; k++) {
            element root = roots[k * (LENGTH_MAX / 2 / half)];
            double real = creal(root);
            double imaginary = inverse ? -cimag(root) : cimag(root);

            for (int i = 0; i < width; i++) {
                element a = from[k * width + i];
                element b = from[(k + half) * width + i];
                element d = a - b;

                to[2 * k * width + i] = a + b;
                to[(2 * k + 1) * width + i] = CMPLX(creal(d) * real - cimag(d) * imaginary,
                                                    creal(d) * imaginary + cimag(d) * real);
            }
        }
        element *swap = from;
        from = to;
        to = swap;
    }
    if (from != line)
        memcpy(line, from, (size_t)length * sizeof(*line));
}

/* Transforms the lines of FIELD along a direction: COUNT elements, STEP apart, from element BEGIN on. */
static void strided_transform(size_t begin, int count, size_t step, bool inverse)
{
    element line[LENGTH_MAX];
    element spare[LENGTH_MAX];

    for (int i = 0; i < count; i++)
        line[i] = field[begin + (size_t)i * step];
    line_transform(line, spare, count, inverse);
    for (int i = 0; i < count; i++)
        field[begin + (size_t)i * step] = line[i];
}

static void transform_x_y(int me, bool inverse)
{
    element spare[LENGTH_MAX];
    long first;
    long end;

    team_range(me, size->z, &first, &end);
    for (long z = first; z < end; z++) {
        for (long y = 0; y < size->y; y++)
            line_transform(&field[place(0, y, z)], spare, size->x, inverse);
        for (long x = 0; x < size->x; x++)
            strided_transform(place(x, 0, z), size->y, (size_t)size->x, inverse);
    }
}

static void transform_z(int me, bool inverse)
{
    long first;
    long end;

    team_range(me, size->y, &first, &end);
    for (long y = first; y < end; y++) {
        for (long x = 0; x < size->x; x++)
            strided_transform(place(x, y, 0), size->z, (size_t)size->x * (size_t)size->y, inverse);
    }
}

static double wave(long index, long length)
{
    double number = (double)((index + length / 2) % length - length / 2);

    return number * number;
}

/* The planes FIRST to END of the start values and of the decay. */
static void planes_make(long first, long end)
{
    uint64_t x = random_skip(RANDOM_SEED, 2 * place(0, 0, first));

    for (size_t i = place(0, 0, first); i < place(0, 0, end); i++) {
        double real = random_next(&x);

        field[i] = CMPLX(real, random_next(&x));
    }
    for (long c = first; c < end; c++) {
        for (long b = 0; b < size->y; b++) {
            for (long a = 0; a < size->x; a++)
                decay[place(a, b, c)] = exp(-4.0 * ALPHA * M_PI * M_PI *
                                            (wave(a, size->x) + wave(b, size->y) + wave(c, size->z)));
        }
    }
}

static void evolve(long first, long end)
{
    for (size_t i = place(0, 0, first); i < place(0, 0, end); i++) {
        spectrum[i] *= decay[i];
        field[i] = spectrum[i];
    }
}

static void checksum(int me, int iteration)
{
    double real = 0.0;
    double imaginary = 0.0;
    long first;
    long end;

    team_range(me, SUMMED, &first, &end);
    for (long j = first + 1; j <= end; j++) {
        element value = field[place(j % size->x, 3 * j % size->y, 5 * j % size->z)];

        real += creal(value);
        imaginary += cimag(value);
    }
    real = team_sum(me, real);
    imaginary = team_sum(me, imaginary);
    if (me == 0)
        sums[iteration] = CMPLX(real, imaginary) / (double)elements();
}

static void run(int me)
{
    long first;
    long end;

    team_range(me, size->z, &first, &end);
    planes_make(first, end);
    team_clock_begin();
    team_stage_begin(me);
    transform_x_y(me, false);
    team_barrier();
    transform_z(me, false);
    team_barrier();
    memcpy(&spectrum[place(0, 0, first)], &field[place(0, 0, first)],
           (place(0, 0, end) - place(0, 0, first)) * sizeof(*spectrum));
    for (int iteration = 0; iteration < size->iterations; iteration++) {
        evolve(first, end);
        team_barrier();
        transform_z(me, true);
        team_barrier();
        transform_x_y(me, true);
        team_barrier();
        checksum(me, iteration);
    }
    team_stage_end(me);
    team_clock_end();
}

static bool verify(void)
{
    bool right = true;

    for (int i = 0; i < size->iterations; i++) {
        right = workload_near("ft: real part of a checksum", creal(sums[i]), size->sums[i][0], TOLERANCE) && right;
        right = workload_near("ft: imaginary part of a checksum", cimag(sums[i]), size->sums[i][1], TOLERANCE) && right;
    }
    return right;
}

/* The official estimate. */
static double operations(void)
{
    double count = (double)elements();

    return count * (14.8157 + 7.19641 * log(count) + (5.23518 + 7.21113 * log(count)) * size->iterations);
}

const struct workload workload_ft = {"ft", "3-D Fourier transforms", "flops", setup, run, verify, operations};

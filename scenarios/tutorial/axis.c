// SPDX-License-Identifier: Apache-2.0
//
// Position control of a machine with eight axes: for each a trajectory, a filter, a PID controller with feedforward and
// notch filters against the machine's resonances. Integers only: the CPU has no floating point unit. Positions are
// micrometres with 8 fractional bits, time is counted in periods of the loop (1 ms).

#include <stdint.h>

#define AXES 8
#define UM(x) ((int32_t)(x) * 256)
#define STROKE UM(200000)      // there and back between 0 and 200 mm
#define VELOCITY_MAX UM(500)   // per period: 0.5 m/s
#define ACCELERATION UM(2)     // per period and period
#define OUTPUT_MAX UM(1000)    // velocity that the drive is asked for
#define TAPS 64                // of the error filter
#define NOTCHES 6

// State of a second-order section, direct form II transposed.
struct biquad {
    int64_t s1, s2;
};

struct axis {
    int32_t target, set, velocity_set; // trajectory
    int32_t history[TAPS];             // errors
    uint32_t newest;
    int64_t integral;
    int32_t last_error;
    struct biquad notches[NOTCHES];
    int32_t position; // the motor, since there is no real one here
    int32_t velocity;
};

static struct axis axes[AXES];

static int32_t clamp(int64_t value, int32_t limit)
{
    return (value > limit) ? limit : (value < -limit) ? -limit : (int32_t)value;
}

// The next point of a trapezoidal profile: accelerate, cruise, and brake so as to stop on the target.
static void trajectory_step(struct axis *axis)
{
    int32_t left = axis->target - axis->set;
    if (left == 0) {
        axis->target = (axis->target == 0) ? STROKE : 0;
        return;
    }
    int32_t direction = (left > 0) ? 1 : -1;
    int32_t speed = axis->velocity_set * direction;
    int64_t braking_distance = (int64_t)speed * speed / (2 * ACCELERATION);
    speed += (braking_distance >= left * direction) ? -ACCELERATION : ACCELERATION;
    speed = (speed > VELOCITY_MAX) ? VELOCITY_MAX : (speed < ACCELERATION) ? ACCELERATION : speed;
    if (speed >= left * direction) {
        axis->set = axis->target;
        axis->velocity_set = 0;
    } else {
        axis->velocity_set = speed * direction;
        axis->set += axis->velocity_set;
    }
}

// Low pass with falling weights, so that fresh samples count most.
static int32_t error_filter(struct axis *axis, int32_t error)
{
    axis->newest = (axis->newest + TAPS - 1) % TAPS;
    axis->history[axis->newest] = error;
    int64_t sum = 0;
    int32_t weights = 0;
    for (uint32_t tap = 0; tap < TAPS; tap++) {
        int32_t weight = (int32_t)((TAPS - tap) * (TAPS - tap) * (TAPS - tap)) >> 8;
        sum += (int64_t)weight * axis->history[(axis->newest + tap) % TAPS];
        weights += weight;
    }
    return (int32_t)(sum / weights);
}

// The trajectory's velocity, and what the error asks for on top.
static int32_t pid(struct axis *axis, int32_t error)
{
    axis->integral = clamp(axis->integral + error, INT32_MAX);
    int64_t out = (int64_t)error * 1200 + axis->integral * 4 + (int64_t)(error - axis->last_error) * 3000;
    axis->last_error = error;
    return clamp(axis->velocity_set + (out >> 16), OUTPUT_MAX);
}

static int32_t notch_filter(struct axis *axis, int32_t value)
{
    for (int32_t i = 0; i < NOTCHES; i++) {
        struct biquad *f = &axis->notches[i];
        int32_t b0 = 15500, b1 = 4000 * i, a2 = 14616; // 14 fractional bits; b2 is b0, a1 is b1
        int64_t out = ((int64_t)b0 * value + f->s1) >> 14;
        f->s1 = (int64_t)b1 * value - b1 * out + f->s2;
        f->s2 = (int64_t)b0 * value - a2 * out;
        value = clamp(out, OUTPUT_MAX);
    }
    return value;
}

static void axis_step(struct axis *axis)
{
    trajectory_step(axis);
    int32_t error = error_filter(axis, axis->set - axis->position);
    int32_t output = notch_filter(axis, pid(axis, error));
    axis->velocity += (output - axis->velocity) / 8;
    axis->position += axis->velocity;
}

// One period of the loop. Weir calls it at each release of the task `axis`.
void axis_job(void)
{
    for (uint32_t i = 0; i < AXES; i++) {
        axis_step(&axes[i]);
    }
}

// SPDX-License-Identifier: Apache-2.0
//
// What a user's task may call. A scenario that says `name = "axis"` and `source = "axis.c"` has the function
// `void axis_job(void)` of that file called once per job: at each release of a periodic task, at each message of a
// receiving one. All of FreeRTOS and of lwIP's sockets may be used as well; the task owns nothing of Weir's.

#ifndef WEIR_JOB_H
#define WEIR_JOB_H

#include <stddef.h>
#include <stdint.h>

// The message that released this job, valid until the job returns; NULL and *length 0 in a periodic task. Only from
// the job itself.
const uint8_t *weir_job_message(size_t *length);

// Answers the sender of this job's message. `data` is copied. Returns 0, or -1 with errno set as send() does; -1 with
// ENOTCONN in a periodic task.
int weir_job_reply(const void *data, size_t length);

// Cycles since the device started.
uint64_t weir_cycles(void);

#endif

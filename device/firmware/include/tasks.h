// SPDX-License-Identifier: Apache-2.0
//
// The scenario's tasks.

#ifndef TASKS_H
#define TASKS_H

// Creates all tasks and returns when every socket listens. They start at tasks_release(). From a task of higher
// priority than any of them.
void tasks_create(void);

// First releases at the tick after next; returns that tick's number.
unsigned tasks_release(void);

#endif

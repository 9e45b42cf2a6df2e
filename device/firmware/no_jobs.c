// SPDX-License-Identifier: Apache-2.0
//
// The table of the user's jobs when there are none.

#include "work.h"

const work_job weir_jobs[1] = {0};

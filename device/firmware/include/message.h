// SPDX-License-Identifier: Apache-2.0
//
// The message that a receiving task is working on (behind include/weir_job.h).

#ifndef MESSAGE_H
#define MESSAGE_H

#include <stddef.h>
#include <stdint.h>

#include "lwip/sockets.h"
#include "weir_job.h"

#define MESSAGE_BYTES_MAX 1536

struct message {
    const uint8_t *data;
    size_t length;
    int socket;
    struct sockaddr_in peer; // UDP only; sin_family 0 on a connected socket
};

// Makes `message` the calling task's; it must outlive the task.
void message_attach(struct message *message);

#endif

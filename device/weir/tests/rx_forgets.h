// SPDX-License-Identifier: Apache-2.0

#ifndef RX_FORGETS_H
#define RX_FORGETS_H

// As before the first weir_rx_init().
void rx_forget(void);

#endif

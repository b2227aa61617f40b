/*
 * How a traced program hands its trace to netprof-saver, which writes the file.
 *
 * The program writes into a ring of shared memory (memfd_create(2)) and sends
 * the descriptor with its request (NP_SAVER_TRACE). The memory consists of one
 * page that begins with a uint64_t, and the ring. Positions count bytes since
 * the trace began; position p is at p modulo NP_TRACE_RING_BYTES of the ring.
 * The number in the first page is the position after the last whole record.
 *
 * On the same connection the program sends positions (uint64_t) up to which
 * the ring may be copied, and receives numbers (int64_t): the position up to
 * which it has been copied, first 0 when the file exists, or -errno, after
 * which nothing follows. When the connection closes, the rest is copied up to
 * the number in the first page, however the program has ended.
 */
#ifndef NP_TRACE_RING_H
#define NP_TRACE_RING_H

#define NP_TRACE_RING_BYTES (1u << 20) /* a multiple of the page size */

#endif

/*
 * What a probe process says while it runs: lines of text on its standard
 * output, which Slurm carries to the attendant that writes the run record.
 * Deltas only, so that a killed probe loses at most its last report.
 *
 * Each line is shorter than NP_REPORT_LINE, the longest that slurmstepd
 * forwards in one piece, and is written with one write(2).
 *
 *	np1 hello RANK NRANKS NODE LEAF PARTNER TRANSPORT VERSION
 *	np1 lat   RANK AT_SEC N MEAN M2 MIN MAX BIN:COUNT[,BIN:COUNT...]
 *	np1 round RANK AT_SEC N MEAN M2 MIN MAX
 *	np1 pair  RANK PEER SEC
 *	np1 prtt  RANK BLOCK N BYTES DELAY_SEC SEC
 *	np1 cost  RANK CPU_SEC ELAPSED_SEC MESSAGES RSS_BYTES
 *	np1 link  RANK BYTES_PER_SEC
 *	np1 moved RANK ELAPSED_SEC BYTES
 *	np1 nic   RANK DEVICE ELAPSED_SEC HAS N...
 *	np1 calls RANK ELAPSED_SEC CALLS
 *	np1 skip  RANK NODE LEAF REASON...
 *	np1 note  RANK TEXT...
 *	np1 bye   RANK
 *
 * AT_SEC: where the window begins, seconds since the common start, at which
 * hello is said.  LEAF, PARTNER, TRANSPORT, VERSION: "-" where there is none.
 * PARTNER: the node whose latency this process measures (of a pair, one side
 * only).  VERSION: of UCX.  The first cost covers all since the process began.
 * pair: the least latency to the process of rank PEER (np_matrix.h).
 * link: what the node's network device carries in one direction, where it says.
 * moved: of that device, both ways, since it was looked at last.
 * nic: what a network adapter counted meanwhile, see np_nic.h; HAS: 1 << kind of
 * each that it counts; N: of all kinds.
 * calls: of MPI by a process of the program, the same (np_calls.h).
 * A latency window whose bins do not fit is sent as several lines, each with
 * its own count and moments.
 */
#ifndef NP_REPORT_H
#define NP_REPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "np_err.h"
#include "np_hist.h"
#include "np_moments.h"
#include "np_nic.h"

#define NP_REPORT_LINE 1000 /* bytes, newline and NUL included */
#define NP_REPORT_WORD 128  /* longest NODE, LEAF, ... with its NUL */
#define NP_REPORT_TEXT 256
#define NP_REPORT_BINS 64   /* bins in one "lat" line */

enum np_report_kind {
	NP_REPORT_HELLO,
	NP_REPORT_LATENCY,
	NP_REPORT_ROUND,
	NP_REPORT_PRTT,
	NP_REPORT_PAIR,
	NP_REPORT_COST,
	NP_REPORT_LINK,
	NP_REPORT_MOVED,
	NP_REPORT_NIC,
	NP_REPORT_CALLS,
	NP_REPORT_SKIP,
	NP_REPORT_NOTE,
	NP_REPORT_BYE,
};

/* What np_prtt.h measures: of np_loggps_fit.h's samples one. */
struct np_prtt {
	uint32_t block, n, bytes;
	double delay_sec, sec;
};

struct np_report {
	enum np_report_kind kind;
	uint32_t rank;
	union {
		struct {
			uint32_t n_ranks;
			char node[NP_REPORT_WORD], leaf[NP_REPORT_WORD];
			char partner[NP_REPORT_WORD];
			char transport[NP_REPORT_WORD];
			char version[NP_REPORT_WORD];
		} hello;
		struct {
			double at_sec;
			struct np_moments sec; /* latency or round time */
			size_t n_bins;	       /* 0 for a round */
			struct {
				uint16_t bin;
				uint32_t count;
			} bins[NP_REPORT_BINS];
		} window;
		struct np_prtt prtt;
		struct {
			uint32_t peer;
			double sec;
		} pair;
		struct {
			double cpu_sec, elapsed_sec;
			uint64_t messages, rss_bytes;
		} cost;
		uint64_t link; /* bytes a second */
		struct {
			double elapsed_sec;
			uint64_t n; /* bytes, or calls */
		} moved;
		struct {
			char device[NP_REPORT_WORD];
			double elapsed_sec;
			struct np_nic_counts counts;
		} nic;
		struct {
			char node[NP_REPORT_WORD], leaf[NP_REPORT_WORD];
			char reason[NP_REPORT_TEXT];
		} skip;
		char note[NP_REPORT_TEXT];
	};
};

/*
 * Format one line, newline included.  Returns its length, or -EINVAL if a
 * field does not fit (a word with a space, too many bins).
 */
int np_report_format(const struct np_report *r, char buf[NP_REPORT_LINE]);

/*
 * Parse one line (with or without its newline).  Returns 0, -EINVAL for a
 * report that is damaged, or -ENOMSG for a line that is no report at all
 * (something else wrote to standard output).
 */
int np_report_parse(const char *line, struct np_report *out);

/*
 * Reports on their way out: each one line, one write(2).
 */

struct np_say {
	int fd;
	int wait_ms; /* how long a full pipe is waited for, per line */
	uint64_t dropped; /* lines that found no room */
};

/*
 * Write one report.  A reader that does not read costs lines, not time.
 * Returns 0; -EPIPE or another -errno once nobody can read any more;
 * -EAGAIN if the line was dropped; -EINVAL if it cannot be formatted.
 */
int np_say(struct np_say *s, const struct np_report *r);

#endif

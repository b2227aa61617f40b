/*
 * Reports of a probe process: lines of text on its standard output, which
 * reach the collector that writes the run record. They hold increments only,
 * so that a probe that is killed loses at most its last report.
 *
 * Each line is shorter than NP_REPORT_LINE, the longest that slurmstepd
 * forwards in one piece, and is written with one write(2).
 *
 *	np1 hello RANK NRANKS NODE LEAF PEER_NODE TRANSPORT VERSION
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
 * AT_SEC	start of the window, seconds since the common start of all
 *		processes, at which the handshake is written
 * LEAF, PEER_NODE, TRANSPORT, VERSION
 *		"-" if there is none
 * PEER_NODE	node to which this process measures latency; only one process
 *		of a pair has one
 * VERSION	of the network library
 * lat		a window whose bins do not fit is sent as several lines, each
 *		with its own count and moments
 * pair		lowest latency to the process of rank PEER (netprof-impactb.c)
 * cost		since the last report; the first since the process started
 * link		capacity of the node's network device in one direction, if it
 *		is known
 * moved	bytes through that device in both directions since the last
 *		report
 * nic		counts of one network adapter since the last report, by kind
 *		(np_nic.h); HAS: 1 << kind of each that is counted; N: all kinds
 * calls	MPI calls of a process of the program since the last report
 *		(np_calls.h)
 */
#ifndef NP_REPORT_H
#define NP_REPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "np_err.h"
#include "np_latency.h"
#include "np_moments.h"
#include "np_nic.h"

#define NP_REPORT_LINE 1000 /* bytes, including newline and NUL */
#define NP_REPORT_WORD 128  /* size of NODE, LEAF, ... with NUL */
#define NP_REPORT_TEXT 256
#define NP_REPORT_BINS 64 /* most bins in one "lat" line */

enum np_report_kind {
	NP_REPORT_HANDSHAKE,
	NP_REPORT_LATENCY,
	NP_REPORT_ROUND,
	NP_REPORT_PRTT,
	NP_REPORT_PAIR,
	NP_REPORT_COST,
	NP_REPORT_LINK,
	NP_REPORT_TRANSFERRED,
	NP_REPORT_NIC,
	NP_REPORT_CALLS,
	NP_REPORT_SKIP,
	NP_REPORT_NOTE,
	NP_REPORT_BYE,
};

/* One sample of np_prtt.h, as in np_loggps_fit.h. */
struct np_prtt {
	uint32_t block, n, bytes;
	double delay_sec, sec;
};

struct np_report {
	enum np_report_kind kind;
	uint32_t rank;
	/*
	 * Not in the line: the collector marks reports of further probes on a
	 * node, one for each of its other rails.
	 */
	bool other_rail;
	union {
		struct {
			uint32_t n_ranks;
			char node[NP_REPORT_WORD], leaf[NP_REPORT_WORD];
			char peer_node[NP_REPORT_WORD];
			char transport[NP_REPORT_WORD];
			char version[NP_REPORT_WORD];
		} handshake;
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
		uint64_t link; /* bytes per second */
		struct {
			double elapsed_sec;
			uint64_t n; /* bytes, or calls */
		} transferred;
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
 * Copy text, which may come from another library or program, into a word of a
 * report: cut if it is too long, with '?' for blanks and what is not ASCII.
 */
void np_report_word(char word[NP_REPORT_WORD], const char *text);

/*
 * Format one line, including its newline. Returns its length, or -EINVAL if a
 * field does not fit (a word with a blank, too many bins). Exported for the
 * unit tests.
 */
int np_report_format(const struct np_report *report, char buf[NP_REPORT_LINE]);

/*
 * Parse one line, with or without its newline. Returns 0, -EINVAL for a damaged
 * report, or -ENOMSG for a line that is not a report (something else wrote to
 * standard output).
 */
int np_report_parse(const char *line, struct np_report *out);

/* Writer of reports. */

struct np_report_writer {
	int fd;
	int wait_ms;	  /* time to wait for room in a full pipe, per line */
	uint64_t dropped; /* lines for which there was no room */
};

/*
 * Write one report. A reader that has stopped reading costs lines, not time.
 * Returns 0; -EAGAIN if the line was dropped; -EINVAL if it cannot be
 * formatted; -EPIPE or another -errno once nobody can read any more.
 */
int np_report_write(struct np_report_writer *writer,
		    const struct np_report *report);

#endif

/*
 * Where a site's metrics are, and what they are called: the keys of
 * netprof.conf that begin with "Metric".
 *
 * What netprof wants to know of a node is a signal.  For each one a row of a
 * table has an expression of PromQL in which
 *
 *	$nodes	is the matcher of the nodes that are asked about
 *	$label	is the label that has their names (MetricsLabel)
 *	$window	is a duration: the run, or one step of a timeline
 *
 * and which gives one value per node.  There are tables for exporters that
 * sites have, and rows of the site's own (Metric=SIGNAL:EXPRESSION).
 */
#ifndef NP_METRICS_CONF_H
#define NP_METRICS_CONF_H

#include <limits.h>
#include <stddef.h>
#include <stdint.h>

#include "np_err.h"

enum np_signal {
	NP_SIGNAL_TRAFFIC,     /* bytes per second, sent and received */
	NP_SIGNAL_CPU_WAIT,    /* share of time that a process waited for a CPU */
	NP_SIGNAL_STEAL,       /* share of CPU time that the hypervisor took */
	NP_SIGNAL_CLOCK,       /* frequency of its CPUs, Hz */
	NP_SIGNAL_MEMORY_WAIT, /* share of time that a process waited for memory */
	NP_SIGNAL_SWAP,	       /* pages per second */
	NP_SIGNAL_IO_WAIT,     /* share of time that a process waited for I/O */
	NP_SIGNAL_NFS,	       /* retransmitted requests per second */
	NP_SIGNAL_NIC_ERRORS,  /* errors and discards per second */
	NP_SIGNAL_LINK_SPEED,  /* bytes per second that its links can carry */
	NP_SIGNAL_RETRANSMITS, /* TCP segments per second */
	NP_SIGNAL_CONGESTION,  /* rate of a congestion counter of the NIC */
	NP_SIGNAL_CLOCK_SKEW,  /* its date less the server's, seconds */
	NP_N_SIGNALS
};

/* "traffic", "cpu_wait" ... */
const char *np_signal_name(enum np_signal s);

#define NP_METRICS_EXPRESSION 1024 /* bytes of one */
#define NP_METRICS_TABLES 8
#define NP_METRICS_LABEL 64

struct np_metrics_conf {
	char url[1024]; /* MetricsURL; "": no metrics server */
	char label[NP_METRICS_LABEL]; /* MetricsLabel=instance */
	uint8_t table[NP_METRICS_TABLES]; /* MetricsTable, in that order */
	uint32_t n_tables;
	char own[NP_N_SIGNALS][NP_METRICS_EXPRESSION]; /* Metric=; "": none */
	double interval_sec; /* MetricsInterval=15s between two samples */
	double timeout_sec;  /* MetricsTimeout=5s for an answer */
	/* MetricsTokenFile, MetricsCertFile, MetricsKeyFile, MetricsCAFile */
	char token_file[PATH_MAX], cert_file[PATH_MAX], key_file[PATH_MAX],
	     ca_file[PATH_MAX];
};

void np_metrics_conf_init(struct np_metrics_conf *c);

/* The values of these keys; each returns 0 or -EINVAL, with err. */
int np_metrics_set_url(char *value, void *url, struct np_err *err);
int np_metrics_set_label(char *value, void *label, struct np_err *err);
int np_metrics_set_tables(char *value, void *conf, struct np_err *err);
int np_metrics_add(char *value, void *conf, struct np_err *err);

/* The expression of a signal, or NULL: no table has it. */
const char *np_metrics_expression(const struct np_metrics_conf *c,
				  enum np_signal s);

#endif

/* netprof tolerance: how much latency a program tolerates. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli_graph.h"
#include "cli_loggps.h"
#include "cli_tolerance.h"
#include "np_quantity.h"

#define PER_NODE_MAX 65536
#define TRIALS_MAX 1000000000
#define MAX_SHARE 100 /* 100 times longer */
#define WIRE_NS 274
#define SWITCH_NS 108

static int take_rendezvous(char *text, void *ask, struct np_err *err)
{
	struct cli_tolerance_ask *a = ask;

	if (!strcmp(text, "never"))
		a->net.S = NP_LOGGPS_NO_RENDEZVOUS;
	else if (np_bytes_parse(text, &a->net.S))
		return np_errf(err, -EINVAL, "--rendezvous: got %.64s, "
			       "expected bytes, such as 64K, or never", text);
	return 0;
}

/* Parses percentages such as "0.5,3,10", in ascending order. */
static int take_thresholds(char *text, void *ask, struct np_err *err)
{
	struct cli_tolerance_ask *a = ask;
	char *p = text;

	a->n_shares = 0;
	do {
		double before = a->n_shares ? a->share[a->n_shares - 1] : 0, v;
		char *end;

		v = strtod(p, &end) / 100;
		if (end == p || (*end && *end != ',') || !(v > before) ||
		    v > MAX_SHARE || a->n_shares == TOLERANCE_MAX_ZONES)
			return np_errf(err, -EINVAL, "--threshold: got %.64s, "
				       "expected up to %d percentages above 0, "
				       "in order, such as 0.5,3,10", text,
				       TOLERANCE_MAX_ZONES);
		a->share[a->n_shares++] = v;
		p = end;
	} while (*p++);
	return 0;
}

static int take_sweep(char *text, void *ask, struct np_err *err)
{
	static const char *const names[] = {
		[NP_LOGGPS_L] = "latency", [NP_LOGGPS_o] = "overhead",
		[NP_LOGGPS_G] = "bandwidth",
	};
	struct cli_tolerance_ask *a = ask;

	for (size_t i = 0; i < NP_ARRAY_SIZE(names); i++)
		if (!strcmp(text, names[i])) {
			a->sweep = (int)i;
			return 0;
		}
	return np_errf(err, -EINVAL, "--sweep: got %.64s, expected latency, "
		       "overhead or bandwidth", text);
}

/* "1ms:10us" is a distribution; anything else is a file name. */
static int read_noise(struct cli_tolerance_ask *ask)
{
	const char *colon = ask->noise ? strrchr(ask->noise, ':') : NULL;
	struct np_err err = NP_ERR_INIT;
	double every, length;
	char first[32];
	FILE *f;
	int rc;

	if (!ask->noise)
		return -1;
	if (colon && (size_t)(colon - ask->noise) < sizeof(first)) {
		memcpy(first, ask->noise, (size_t)(colon - ask->noise));
		first[colon - ask->noise] = '\0';
		if (!np_duration_parse(first, &every) && every > 0 &&
		    !np_duration_parse(colon + 1, &length) && length > 0)
			return np_detours_random(1e9 * every, 1e9 * length, 0,
						 &ask->detours) ?
				       cli_fail("out of memory") : -1;
	}
	f = fopen(ask->noise, "re");
	if (!f)
		return cli_fail("%s: %s", ask->noise, strerror(errno));
	rc = np_detours_read(f, ask->noise, &ask->detours, &err);
	fclose(f);
	return rc ? cli_fail("%s", err.text) : -1;
}

/* A specification contains a colon; anything else is a file name. */
static int read_topology(struct cli_tolerance_ask *ask)
{
	struct np_err err = NP_ERR_INIT;
	int rc;

	if (!ask->where)
		return -1;
	if (strchr(ask->where, ':') && !strchr(ask->where, '/'))
		rc = np_topology_parse(ask->where, &ask->read.topology, &err);
	else
		rc = np_topology_conf_read(ask->where, cli_pass_on, NULL,
					   &ask->read, &err);
	ask->topology = ask->read.topology;
	return rc ? cli_fail("%s", err.text) : -1;
}

#define AT(member) offsetof(struct cli_tolerance_ask, member)
#define NS(member) \
	NP_OPTION_NS, AT(member), .max = NP_LOGGPS_MAX

static const struct np_option options[] = {
	{ "latency", NS(latency_ns), .letter = 'L' },
	{ "overhead", NS(net.o_ns), .letter = 'o' },
	{ "per-byte", NS(net.G_ns), .letter = 'G' },
	{ "rendezvous", NP_OPTION_TAKE, .take = take_rendezvous,
	  .letter = 'S' },
	{ "serial", NP_OPTION_FLAG, AT(serial) },
	{ "gap", NS(gap_ns), .letter = 'g' },
	{ "shared-links", NP_OPTION_FLAG, AT(shared_links) },
	{ "overlap", NP_OPTION_FLAG, AT(overlap) },
	{ "noise", NP_OPTION_WORD, AT(noise) },
	{ "topology", NP_OPTION_WORD, AT(where) },
	{ "wire", NS(wire_ns) },
	{ "switch", NS(switch_ns) },
	{ "ranks-per-node", NP_OPTION_COUNT, AT(per_node), 1, PER_NODE_MAX },
	{ "place", NP_OPTION_COUNT, AT(trials), 1, TRIALS_MAX },
	{ "threshold", NP_OPTION_TAKE, .take = take_thresholds },
	{ "sweep", NP_OPTION_TAKE, .take = take_sweep },
	{ "up-to", NS(up_to_ns) },
	{ "first-byte-free", NP_OPTION_FLAG, AT(net.first_byte_free) },
	{ "critical", NP_OPTION_FLAG, AT(critical) },
	{ "pairs", NP_OPTION_FLAG, AT(pairs) },
	{ "collective", NP_OPTION_TAKE, AT(choices),
	  .take = cli_take_collective },
	{ NULL },
};

/* Rejects options that would have no effect. */
static int check_together(const struct cli_cmd *cmd,
			  const struct cli_tolerance_ask *ask,
			  const struct cli_options *o)
{
	const struct {
		const char *option;
		bool given;
	} of_topology[] = {
		{ "--wire", !isnan(ask->wire_ns) },
		{ "--switch", !isnan(ask->switch_ns) },
		{ "--ranks-per-node", ask->per_node != 0 },
		{ "--place", ask->trials != 0 },
	};

	for (size_t i = 0; !ask->where && i < NP_ARRAY_SIZE(of_topology); i++)
		if (of_topology[i].given)
			return cli_usage(cmd, "%s has no effect without "
					 "--topology", of_topology[i].option);
	if (ask->where && !isnan(ask->latency_ns))
		return cli_usage(cmd, "--latency has no effect with "
				 "--topology; expected --wire and --switch");
	if (ask->critical && o->plot)
		return cli_usage(cmd, "--critical has no effect with --plot");
	return -1;
}

static int parse(const struct cli_cmd *self, int argc, char **argv,
		 struct cli_tolerance_ask *ask, struct cli_options *o)
{
	int rc = cli_options_parse(self, argc, argv, ask, o);

	if (rc < 0)
		rc = check_together(self, ask, o);
	if (rc >= 0)
		return rc;
	if (!isnan(ask->gap_ns))
		ask->net.g_ns = ask->gap_ns;
	ask->serial |= !isnan(ask->gap_ns) || ask->overlap || ask->noise;
	ask->critical |= o->plot != NULL;
	if (!isnan(ask->latency_ns))
		ask->net.L_ns = ask->latency_ns;
	if (isnan(ask->wire_ns))
		ask->wire_ns = WIRE_NS;
	if (isnan(ask->switch_ns))
		ask->switch_ns = SWITCH_NS;
	if (!ask->per_node)
		ask->per_node = 1;
	return rc;
}

static int print(const struct cli_tolerance *t, size_t n,
		 const struct cli_tolerance_ask *ask,
		 const struct cli_options *o)
{
	if (o->plot)
		return cli_tolerance_plot(t, n, ask, o->plot);
	if (o->format)
		return cli_tolerance_data(t, n, ask, o->format);
	for (size_t i = 0; i < n; i++) {
		if (i)
			putchar('\n');
		cli_tolerance_text(&t[i], ask);
	}
	return CLI_DONE;
}

/* Stores records for netprof, computed with the network as measured. */
static void leave_curves(const struct cli_options *o,
			 const struct np_loggps *net)
{
	for (size_t i = 0; i < o->n_apps; i++) {
		char *path;

		if (cli_trace_path(o->apps[i], &path) >= 0)
			continue;
		cli_curve_store(path, net);
		free(path);
	}
}

static int run_tolerance(const struct cli_cmd *self, int argc, char **argv)
{
	struct cli_tolerance_ask ask = {
		.net = CLI_TOLERANCE_NET,
		.up_to_ns = NAN, .latency_ns = NAN, .gap_ns = NAN,
		.wire_ns = NAN, .switch_ns = NAN,
	};
	struct np_loggps measured;
	struct cli_tolerance *t;
	struct cli_options o;
	size_t n = 0;
	int rc;

	ask.n_shares = TOLERANCE_ZONES;
	memcpy(ask.share, cli_tolerance_shares, sizeof(cli_tolerance_shares));
	cli_loggps_net(&ask.net);
	measured = ask.net;
	rc = parse(self, argc, argv, &ask, &o);
	if (rc >= 0)
		return rc;
	t = calloc(o.n_apps, sizeof(*t));
	rc = t ? read_topology(&ask) : cli_fail("out of memory");
	if (rc < 0)
		rc = read_noise(&ask);
	while (rc < 0 && n < o.n_apps) {
		rc = cli_tolerance_read(o.apps[n], &ask, &t[n]);
		n++;
	}
	if (rc < 0)
		rc = print(t, n, &ask, &o);
	if (rc == CLI_DONE)
		leave_curves(&o, &measured);
	for (size_t i = 0; i < n; i++)
		cli_tolerance_free(&t[i]);
	free(t);
	np_topology_conf_free(&ask.read);
	np_detours_free(&ask.detours);
	return rc;
}

const struct cli_cmd cmd_tolerance = {
	.name = "tolerance",
	.args = "[--json|--parsable] [OPTION]... APP|FILE...",
	.help = "how much latency a program tolerates, from its execution "
		"graph",
	.text =
"Finds how much longer the program of an execution graph (GOAL, text or\n"
"binary), of a trace (netprof help trace) or of the newest trace of APP\n"
"runs as the latency, the overhead and the bandwidth of the network\n"
"change, and how far each may go until the run takes 1, 2 and 5 % longer.\n\n"
"Network parameters default to those measured by netprof loggps, or else to\n"
"the values in brackets:\n\n"
"  -L, --latency=TIME     latency of a message (3us); not with --topology\n"
"  -o, --overhead=TIME    processor time per message on either side (0ns)\n"
"  -G, --per-byte=TIME    time per byte (0.1ns, which is 10 GB/s)\n"
"  -S, --rendezvous=BYTES larger messages wait for their receiver (never)\n"
"  --first-byte-free      a message of n bytes takes the time of n - 1\n"
"  --serial               a processor executes one operation at a time\n"
"  -g, --gap=TIME         as --serial, with this time between sends\n"
"  --shared-links         messages to one rank arrive one after the other\n"
"  --overlap              as --serial, but receiving a message takes only the\n"
"                         overhead of processor time, not that of its bytes\n"
"  --noise=FILE           as --serial, with detours of processors: lines with\n"
"                         a start and a length in ns; or MEAN:LENGTH, such as\n"
"                         1ms:20us\n"
"  --topology=T           latency of wires and switches: fat-tree:K,\n"
"                         dragonfly:GxAxP, torus:XxYx... or a topology.conf\n"
"  --wire=TIME, --switch=TIME\n"
"                         latency of each, with --topology (274ns, 108ns)\n"
"  --ranks-per-node=N     ranks on a node, in order, with --topology (1)\n"
"  --place=N              search for a better placement of the ranks in N\n"
"                         trials, with --topology\n"
"  --threshold=PERCENT[,PERCENT]...  other thresholds than 1,2,5\n"
"  --sweep=PARAMETER      parameter to vary: latency, overhead, bandwidth\n"
"  --up-to=TIME           how much to add to it (bandwidth: per byte)\n"
"  --critical             also show where the critical path changes\n"
"  --pairs                also show which ranks its messages are between\n"
"  --collective=NAME[:BYTES]=ALGORITHM  for a trace, see netprof help trace\n"
"  --plot=FILE            draw a figure instead: .svg, .png or .pdf\n"
"  --json, --parsable     for programs",
	.examples =
"  netprof tolerance lammps\n"
"  netprof tolerance --topology=fat-tree:16 lammps\n"
"  netprof tolerance -L 200ns -G 5ns graph.goal\n",
	.takes = CLI_TAKES_FORMAT | CLI_TAKES_PLOT, .own = options,
	.missing = "an application, a trace or a graph in GOAL", .most = CLI_ANY,
	.run = run_tolerance,
};

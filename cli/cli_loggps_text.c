/* netprof loggps, for people. */
#include "cli_loggps.h"

#include <stdio.h>

#include "cli_text.h"

static void say(const char *symbol, const char *name,
		const struct np_loggps_value *v)
{
	char value[CLI_NUMBER], low[CLI_NUMBER], high[CLI_NUMBER];

	printf("%s%-3s%s%-22s", cli_colour(CLI_BOLD), symbol,
	       cli_colour(CLI_PLAIN), name);
	cli_right(stdout, cli_sec(v->value, value), 9);
	printf("   %s to %s\n", cli_sec(v->low, low), cli_sec(v->high, high));
}

static void say_bytes(const struct np_loggps_value *v)
{
	printf("%s%-3s%s%-22s%6.3g ns   %.3g to %.3g ns;  %.3g MB/s\n",
	       cli_colour(CLI_BOLD), "G", cli_colour(CLI_PLAIN),
	       "time per byte", 1e9 * v->value, 1e9 * v->low, 1e9 * v->high,
	       1e-6 / v->value);
}

static void say_rendezvous(const struct np_loggps_fit *f)
{
	char s[CLI_NUMBER], above[CLI_NUMBER], cost[CLI_NUMBER];

	printf("%s%-3s%s", cli_colour(CLI_BOLD), "S", cli_colour(CLI_PLAIN));
	if (f->S)
		printf("%-22s%9s   and not from %s on;  costs %s\n",
		       "eager up to", cli_bytes(f->S, s),
		       cli_bytes(f->S_above, above),
		       cli_sec(f->step.value, cost));
	else
		printf("no rendezvous that costs time up to %s\n",
		       cli_bytes(f->bytes_max, s));
}

int cli_loggps_text(const struct np_loggps_record *r)
{
	const struct np_loggps_fit *f = &r->fit;
	char date[CLI_NUMBER];

	printf("%s to %s over %s, %s%s%s\n\n", r->from, r->to,
	       *r->transport ? r->transport : "an unknown transport",
	       r->across ? "across leaf switches" :
	       *r->leaf ? r->leaf : "no topology",
	       *r->cluster ? " of " : "", r->cluster);
	say("L", "latency", &f->L);
	say("o", "overhead of sending", &f->o_send);
	say("", "overhead of receiving", &f->o_recv);
	say("g", "between messages", &f->g);
	say_bytes(&f->G);
	say_rendezvous(f);
	printf("\nMedians of %u blocks, %u sizes, with intervals of %.0f %%; "
	       "%s\n", f->n_blocks, f->n_sizes, 100 * NP_LOGGPS_CONFIDENCE,
	       cli_date(r->date, date));
	return CLI_DONE;
}

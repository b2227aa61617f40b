/* Who slows it, and whom it slows, on the page of `netprof show`. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cli_page.h"
#include "cli_text.h"

#define NAME 20 /* columns of an application's name */
#define ROOM (CLI_COLUMNS - CLI_LABEL)

/* "fft +49 % (46 to 55)" */
static void say_tie(const struct cli_ties *t, const struct cli_tie *tie,
		    char *buf, size_t len)
{
	bool itself = tie->app == t->k.app[0]->r.runs.app;
	char name[4 * NAME], change[CLI_NUMBER];
	int n = snprintf(buf, len, "%s%s %s", itself ? "another " : "",
			 cli_cut(tie->app, NAME, name, sizeof(name)),
			 cli_change(tie->p.slowdown, change));

	if (!isnan(tie->p.low))
		snprintf(buf + n, len - (size_t)n, " (%.0f to %.0f)",
			 100 * tie->p.low + 0.0, 100 * tie->p.high);
}

static void say_list(FILE *f, const struct cli_ties *t, const char *label,
		     const struct cli_tie *list, size_t n, bool brief)
{
	char line[512] = "", one[160];
	size_t used = 0;

	for (size_t i = 0; i < n; i++) {
		say_tie(t, &list[i], one, sizeof(one));
		if (brief && i && used + 2 + strlen(one) > ROOM)
			break;
		used += (size_t)snprintf(line + used, sizeof(line) - used,
					 "%s%s", i ? ", " : "", one);
	}
	if (n)
		cli_labelled(f, label, line);
}

void cli_page_ties(FILE *f, const struct cli_profile *p,
		   const struct cli_ties *t, bool brief)
{
	char line[512];

	if (!t->asked) {
		/* Nothing to predict from yet is said in the verdict. */
		if (p->profile.ev.n_levels)
			cli_labelled(f, "Hurt by", "not known, as this "
				     "fabric is not calibrated");
		return;
	}
	if (cli_no_effect(&t->k, t->scope)) {
		cli_say_no_effect(&t->k, t->scope, line, sizeof(line));
		cli_labelled(f, "No effect", line);
		return;
	}
	say_list(f, t, "Hurt by", t->hurt_by, t->n_hurt_by, brief);
	say_list(f, t, "Hurts", t->hurts, t->n_hurts, brief);
}

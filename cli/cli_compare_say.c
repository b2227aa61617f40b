/* Which side is slower, and what was different, in sentences. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cli_compare.h"
#include "cli_text.h"

#define LEAST_NOISE 0.02 /* as np_noise.h: run times scatter by so much */

static bool same_application(const struct cli_compare *c)
{
	for (size_t i = 1; i < c->n; i++)
		if (strcmp(c->side[i].runs.app, c->side[0].runs.app))
			return false;
	return true;
}

/* How far two means are apart by chance, of the smaller one. */
static double chance(const struct np_mean *a, const struct np_mean *b)
{
	double noise = LEAST_NOISE;

	if (a->n > 1)
		noise = fmax(noise, a->sd / a->mean);
	if (b->n > 1)
		noise = fmax(noise, b->sd / b->mean);
	return 2 * noise * sqrt(1.0 / (double)a->n + 1.0 / (double)b->n);
}

/* "fft alone (60.0 s, n 2)" */
static void say_side(const struct cli_side *s, char *buf, size_t len)
{
	char sec[CLI_NUMBER];
	int n = snprintf(buf, len, "%s%s (%s", s->name, s->run ? "" : s->beside ?
			 " beside other jobs" : " alone",
			 cli_sec(s->run_sec.mean, sec));

	if (s->run)
		snprintf(buf + n, len - (size_t)n, ")");
	else
		snprintf(buf + n, len - (size_t)n, ", n %u)", s->run_sec.n);
}

static void say_slower(const struct cli_side *slow, const struct cli_side *fast,
		       char *buf, size_t len)
{
	double d = slow->run_sec.mean / fast->run_sec.mean - 1;
	char other[CLI_COMPARE_NAME + 64], sec[CLI_NUMBER], how[64];

	say_side(fast, other, sizeof(other));
	if (d < LEAST_NOISE)
		snprintf(how, sizeof(how), "as long as");
	else
		snprintf(how, sizeof(how), "%.0f %% longer than", 100 * d);
	snprintf(buf, len, "%s took %s, %s %s%s.", slow->name,
		 cli_sec(slow->run_sec.mean, sec), how, other,
		 d >= LEAST_NOISE && d < chance(&slow->run_sec,
						&fast->run_sec) ?
		 ", which may be chance" : "");
}

/* Whose probes were delayed most says who used the network most. */
static void say_uses(const struct cli_compare *c, char *buf, size_t len)
{
	const struct cli_side *most = NULL;
	char share[CLI_NUMBER];

	for (size_t i = 0; i < c->n; i++) {
		const struct cli_side *s = &c->side[i];

		if (s->profile.verdict.use &&
		    (!most || s->profile.verdict.delayed_share >
			      most->profile.verdict.delayed_share))
			most = s;
	}
	if (!most)
		snprintf(buf, len, "Of none of these is it known how it uses "
			 "the network.");
	else
		snprintf(buf, len, "Of these applications, %s uses the network "
			 "most: %s of probes were delayed.", most->name,
			 cli_percent(most->profile.verdict.delayed_share,
				     share));
}

void cli_compare_verdict(const struct cli_compare *c, char *buf, size_t len)
{
	const struct cli_side *slow = NULL, *fast = NULL;
	size_t known = 0;

	if (!same_application(c)) {
		say_uses(c, buf, len);
		return;
	}
	for (size_t i = 0; i < c->n; i++) {
		const struct cli_side *s = &c->side[i];

		if (!np_mean_known(&s->run_sec) || !(s->run_sec.mean > 0))
			continue;
		known++;
		if (!slow || s->run_sec.mean > slow->run_sec.mean)
			slow = s;
		if (!fast || s->run_sec.mean <= fast->run_sec.mean)
			fast = s;
	}
	if (known < 2)
		snprintf(buf, len, "Run times of %s cannot be compared: fewer "
			 "than two of these are known.",
			 c->side[0].runs.app);
	else
		say_slower(slow, fast, buf, len);
}

void cli_compare_differs(const struct cli_compare *c, char *buf, size_t len)
{
	buf[0] = '\0';
	for (size_t i = 0; i < cli_n_facts; i++)
		if (cli_fact_differs(c, &cli_facts[i]))
			cli_add(buf, len, "%s%s", *buf ? ", " : "Different: ",
				cli_facts[i].words);
	cli_add(buf, len, "%s", *buf ? "." :
		"Nothing else that is recorded differs.");
}

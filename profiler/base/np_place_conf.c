#include "np_place_conf.h"

#include <fnmatch.h>
#include <string.h>

static const char *const mode_names[] = {
	[NP_MODE_OFF] = "off",
	[NP_MODE_ADVISE] = "advise",
	[NP_MODE_PREFER] = "prefer",
	[NP_MODE_ENFORCE] = "enforce",
};

const char *np_mode_name(enum np_mode mode)
{
	return mode_names[mode];
}

void np_place_conf_init(struct np_place_conf *c)
{
	memset(c, 0, sizeof(*c));
	c->mode = NP_MODE_OFF;
	c->max_slowdown = 0.1;
	c->max_defer_sec = 3600;
	c->interval_sec = 2;
}

enum np_mode np_place_conf_mode(const struct np_place_conf *c,
				const char *partition)
{
	for (size_t i = 0; partition && i < c->n_partitions; i++)
		if (!strcmp(c->partition[i].name, partition))
			return c->partition[i].mode;
	return c->mode;
}

bool np_place_conf_at_work(const struct np_place_conf *c)
{
	if (c->mode != NP_MODE_OFF)
		return true;
	for (size_t i = 0; i < c->n_partitions; i++)
		if (c->partition[i].mode != NP_MODE_OFF)
			return true;
	return false;
}

static bool matches(const struct np_place_rule *r, const char *text)
{
	return text && *text &&
	       strnlen(text, NP_PLACE_TEXT_MAX + 1) <= NP_PLACE_TEXT_MAX &&
	       !fnmatch(r->pattern, text, 0);
}

const char *np_place_conf_app(const struct np_place_conf *c,
			      const char *job_name, const char *comment)
{
	for (size_t i = 0; i < c->n_rules; i++)
		if (matches(&c->rule[i], c->rule[i].what == NP_PLACE_JOB_NAME ?
			    job_name : comment))
			return c->rule[i].app;
	return NULL;
}

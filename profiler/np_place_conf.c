#include "np_place_conf.h"

#include <ctype.h>
#include <errno.h>
#include <fnmatch.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "np_conf.h"
#include "np_place_keys.h"

#define YEAR_SEC (365 * 86400.0)
#define MAX_PERCENT 10000

static const char *const modes[] = {
	[NP_MODE_OFF] = "off", [NP_MODE_ADVISE] = "advise",
	[NP_MODE_PREFER] = "prefer", [NP_MODE_ENFORCE] = "enforce",
};

const char *np_mode_name(enum np_mode mode)
{
	return modes[mode];
}

void np_place_conf_init(struct np_place_conf *c)
{
	memset(c, 0, sizeof(*c));
	c->mode = NP_MODE_OFF;
	c->max_slowdown = 0.10;
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

const char *np_place_conf_app(const struct np_place_conf *c,
			      const char *job_name, const char *comment)
{
	for (size_t i = 0; i < c->n_rules; i++) {
		const struct np_place_rule *r = &c->rule[i];
		const char *text = r->what == NP_PLACE_COMMENT ? comment :
								 job_name;

		if (text && !fnmatch(r->pattern, text, 0))
			return r->app;
	}
	return NULL;
}

static int take_mode(const char *v, enum np_mode *mode)
{
	for (size_t i = 0; i < NP_ARRAY_SIZE(modes); i++)
		if (!strcasecmp(v, modes[i])) {
			*mode = (enum np_mode)i;
			return 0;
		}
	return -EINVAL;
}

int np_place_set_mode(const char *v, void *field)
{
	return take_mode(v, &((struct np_place_conf *)field)->mode);
}

/* What stands before the last ':', if it is a name of at most max bytes. */
static int take_left(const char *v, const char **right, char *left, size_t max)
{
	const char *colon = strrchr(v, ':');
	size_t len;

	if (!colon)
		return -EINVAL;
	len = (size_t)(colon - v);
	if (!len || len > max)
		return -EINVAL;
	memcpy(left, v, len);
	left[len] = '\0';
	*right = colon + 1;
	return 0;
}

int np_place_set_partition(const char *v, void *field)
{
	struct np_place_conf *c = field;
	char name[NP_PLACE_NAME_MAX + 1];
	enum np_mode mode;
	const char *right;
	size_t i = 0;

	if (take_left(v, &right, name, NP_PLACE_NAME_MAX) ||
	    take_mode(right, &mode))
		return -EINVAL;
	while (i < c->n_partitions && strcmp(c->partition[i].name, name))
		i++;
	if (i == NP_PLACE_MAX_PARTITIONS)
		return -E2BIG;
	if (i == c->n_partitions)
		c->n_partitions++;
	strcpy(c->partition[i].name, name);
	c->partition[i].mode = mode;
	return 0;
}

int np_place_set_slowdown(const char *v, void *field)
{
	char *end;
	double percent = strtod(v, &end);

	if (end == v || strcmp(end, "%") || !(percent >= 0 &&
					      percent <= MAX_PERCENT))
		return -EINVAL;
	((struct np_place_conf *)field)->max_slowdown = percent / 100;
	return 0;
}

int np_place_set_defer(const char *v, void *field)
{
	double sec;

	if (np_duration_parse(v, &sec) || sec < 1 || sec > YEAR_SEC)
		return -EINVAL;
	((struct np_place_conf *)field)->max_defer_sec = sec;
	return 0;
}

int np_place_set_interval(const char *v, void *field)
{
	double sec;

	if (np_duration_parse(v, &sec) || sec < 0.1 || sec > 3600)
		return -EINVAL;
	((struct np_place_conf *)field)->interval_sec = sec;
	return 0;
}

int np_place_set_unknown(const char *v, void *field)
{
	struct np_place_conf *c = field;

	if (!strcasecmp(v, "none")) {
		c->unknown_as[0] = '\0';
		return 0;
	}
	if (np_app_check(v, NULL))
		return -EINVAL;
	strcpy(c->unknown_as, v);
	return 0;
}

/* A number, or the name of a user. */
static int take_uid(const char *word, uint32_t *uid)
{
	unsigned long n;
	char *end;

	if (isdigit((unsigned char)*word)) {
		n = strtoul(word, &end, 10);
		if (*end || n >= UINT32_MAX)
			return -EINVAL;
		*uid = (uint32_t)n;
	} else {
		const struct passwd *pw = getpwnam(word);

		if (!pw)
			return -EINVAL;
		*uid = pw->pw_uid;
	}
	return 0;
}

int np_place_set_trusted(const char *v, void *field)
{
	struct np_place_conf *c = field;
	uint32_t uid[NP_PLACE_MAX_TRUSTED];
	size_t n = 0;

	while (*v) {
		size_t len = strcspn(v, ",");
		char word[64];

		if (!len || len >= sizeof(word) || n == NP_PLACE_MAX_TRUSTED)
			return -EINVAL;
		memcpy(word, v, len);
		word[len] = '\0';
		if (take_uid(word, &uid[n++]))
			return -EINVAL;
		v += len + (v[len] == ',');
	}
	memcpy(c->trusted, uid, n * sizeof(*uid));
	c->n_trusted = n;
	return 0;
}

static int add_rule(const char *v, struct np_place_conf *c,
		    enum np_place_what what)
{
	struct np_place_rule r = { .what = what };
	const char *app;

	if (take_left(v, &app, r.pattern, NP_PLACE_PATTERN_MAX) ||
	    np_app_check(app, NULL))
		return -EINVAL;
	if (c->n_rules == NP_PLACE_MAX_RULES)
		return -E2BIG;
	strcpy(r.app, app);
	c->rule[c->n_rules++] = r;
	return 0;
}

int np_place_set_job_name(const char *v, void *field)
{
	return add_rule(v, field, NP_PLACE_JOB_NAME);
}

int np_place_set_comment(const char *v, void *field)
{
	return add_rule(v, field, NP_PLACE_COMMENT);
}

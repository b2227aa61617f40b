#include "np_settings.h"

#include <stdlib.h>
#include <string.h>

/* Several intervals, so that a deferral ends only if nobody decides. */
#define LEAST_STEP_SEC 30
#define STEP_INTERVALS 10

void np_settings_init(struct np_settings *s)
{
	memset(s, 0, sizeof(*s));
	np_conf_init(&s->conf);
}

static const char *path(void)
{
	const char *p = getenv("NETPROF_CONF");

	return p && *p ? p : NP_CONF_DEFAULT_PATH;
}

bool np_settings_refresh(struct np_settings *s)
{
	struct stat st = { 0 };
	struct np_conf conf;

	if (stat(path(), &st))
		memset(&st, 0, sizeof(st));
	if (s->read && st.st_size == s->size &&
	    st.st_mtim.tv_sec == s->changed.tv_sec &&
	    st.st_mtim.tv_nsec == s->changed.tv_nsec)
		return false;
	s->read = true;
	s->size = st.st_size;
	s->changed = st.st_mtim;
	s->trouble.text[0] = '\0';
	if (np_conf_from_environment(&conf, &s->trouble))
		return false;
	s->conf = conf;
	return true;
}

void np_settings_policy(const struct np_settings *s,
			const struct np_app_index *index,
			struct np_policy *policy)
{
	const struct np_place_conf *c = &s->conf.place;
	double step = STEP_INTERVALS * c->interval_sec;

	np_policy_init(policy);
	policy->max_slowdown = c->max_slowdown;
	policy->max_defer_sec = c->max_defer_sec;
	policy->defer_step_sec = step > LEAST_STEP_SEC ? step : LEAST_STEP_SEC;
	policy->modes = 1u << c->mode;
	for (size_t i = 0; i < c->n_partitions; i++)
		policy->modes |= 1u << c->partition[i].mode;
	policy->unknown_as = np_app_index_unknown(index);
}

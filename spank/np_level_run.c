#include "np_level_run.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "np_level.h"

int np_level_run_note(struct np_record *r, const char *name, const char *scope,
		      const char *nodes, struct np_err *err)
{
	struct np_level_run *l;
	struct np_level level;

	if (np_level_parse(name, &level, err))
		return -EINVAL;
	l = calloc(1, sizeof(*l));
	if (!l)
		return -ENOMEM;
	r->level = l;
	l->name = strdup(level.name);
	l->partners = level.partners;
	l->messages = level.messages;
	l->bytes = level.bytes;
	l->pause_sec = level.pause_sec;
	l->scope = strdup(scope);
	l->nodes = strdup(nodes);
	return l->name && l->scope && l->nodes ? 0 : -ENOMEM;
}

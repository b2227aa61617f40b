#include "cli_row.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void pack_level(struct np_pack *p, struct np_evidence_level *l)
{
	l->name = np_pack_text(p, l->name);
	l->scope = np_pack_text(p, l->scope);
	l->run_sec = np_pack_mean(p, l->run_sec);
	l->slowdown = np_pack_mean(p, l->slowdown);
	l->low = np_pack_real(p, l->low);
	l->high = np_pack_real(p, l->high);
	l->of_blocks = np_pack_count(p, l->of_blocks, 1);
	l->pressure = np_pack_mean(p, l->pressure);
}

/* Returns 0, -EINVAL or -ENOMEM. */
static int pack(struct np_pack *p, struct cli_row *r)
{
	struct np_profile *pr = &r->profile;
	struct np_evidence *e = &pr->ev;

	r->n_runs = np_pack_count(p, r->n_runs, SIZE_MAX);
	r->last = np_pack_real(p, r->last);
	pr->is_idle = np_pack_count(p, pr->is_idle, 1);
	pr->verdict.use = (enum np_use)np_pack_count(p, pr->verdict.use,
						     NP_USE_SATURATED);
	pr->phases.kind = (enum np_phase_kind)np_pack_count(p,
		pr->phases.kind, NP_PHASE_PHASES);
	pr->phases.busy_share = np_pack_real(p, pr->phases.busy_share);
	e->alone_sec = np_pack_mean(p, e->alone_sec);
	e->n_levels = np_pack_count(p, e->n_levels, p->left);
	if (!p->f)
		e->level = calloc(e->n_levels + 1, sizeof(*e->level));
	if (!e->level)
		return -ENOMEM;
	for (size_t i = 0; !p->bad && i < e->n_levels; i++)
		pack_level(p, &e->level[i]);
	return p->bad || p->left ? -EINVAL : 0;
}

static int unpack(const char *data, size_t len, struct cli_row *r)
{
	struct np_pack p = { .at = data, .left = len };

	return pack(&p, r);
}

static int pack_into(struct np_kept *k, const char *name, uint64_t state,
		     const struct cli_profile *p, char **data, size_t *len)
{
	struct np_pack to = { .f = open_memstream(data, len) };
	struct cli_row r = {
		.n_runs = p->runs.n, .profile = p->profile,
		.last = p->runs.n ? p->runs.run[0]->end : 0,
	};

	if (!to.f)
		return -ENOMEM;
	pack(&to, &r);
	if (fclose(to.f)) {
		free(*data);
		return -ENOMEM;
	}
	return np_kept_put(k, name, state, *data, *len);
}

static int make(struct cli_store *s, struct np_kept *k, const char *name,
		uint64_t state, struct cli_row *r, struct np_err *err)
{
	struct cli_profile p;
	int rc = cli_profile_load(s, r->owner, r->uid, r->app, &p, err);
	size_t len;
	char *data;

	if (rc)
		return rc;
	/* That a file is skipped is to be said again the next time. */
	rc = pack_into(k, name, p.n_skipped ? 0 : state, &p, &data, &len);
	cli_profile_free(&p);
	if (!rc)
		rc = unpack(data, len, r);
	return rc ? np_errf(err, rc, "%s: out of memory", r->app) : 0;
}

int cli_row_load(struct cli_store *s, struct np_kept *k,
		 enum np_store_owner owner, uid_t uid,
		 const struct np_store_app *a,
		 const struct np_store_stamp idle[2], struct cli_row *out,
		 struct np_err *err)
{
	const struct np_store_stamp stamp[] = { a->stamp, idle[0], idle[1] };
	struct cli_row r = { .owner = owner, .uid = uid };
	uint64_t state = np_kept_state(uid, stamp, NP_ARRAY_SIZE(stamp));
	char name[NP_APP_MAX + 16];
	const char *data;
	size_t len;
	int rc = -EINVAL;

	strcpy(r.app, a->name);
	snprintf(name, sizeof(name), "%u %s",
		 owner == NP_STORE_PUBLISHED ? UINT32_MAX : uid, a->name);
	data = np_kept_find(k, name, state, &len);
	if (data)
		rc = unpack(data, len, &r);
	if (rc) {
		cli_row_free(&r);
		rc = make(s, k, name, state, &r, err);
	}
	if (rc)
		cli_row_free(&r);
	else
		*out = r;
	return rc;
}

void cli_row_free(struct cli_row *r)
{
	np_profile_free(&r->profile);
}

#include "cli_row.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "np_pack.h"

static void pack_level(FILE *f, const struct np_evidence_level *l)
{
	np_pack_text(f, l->name);
	np_pack_text(f, l->scope);
	np_pack_mean(f, &l->run_sec);
	np_pack_mean(f, &l->slowdown);
	np_pack_real(f, l->low);
	np_pack_real(f, l->high);
	np_pack_count(f, l->of_blocks);
	np_pack_mean(f, &l->pressure);
}

static struct np_evidence_level unpack_level(struct np_unpack *u)
{
	struct np_evidence_level l = { .name = NULL };

	l.name = np_unpack_text(u);
	l.scope = np_unpack_text(u);
	l.run_sec = np_unpack_mean(u);
	l.slowdown = np_unpack_mean(u);
	l.low = np_unpack_real(u);
	l.high = np_unpack_real(u);
	l.of_blocks = np_unpack_count(u, 1);
	l.pressure = np_unpack_mean(u);
	return l;
}

static void pack(FILE *f, const struct cli_profile *p)
{
	const struct np_profile *pr = &p->profile;

	np_pack_count(f, p->runs.n);
	np_pack_real(f, p->runs.n ? p->runs.run[0]->end : 0);
	np_pack_count(f, pr->is_idle);
	np_pack_count(f, pr->verdict.use);
	np_pack_count(f, pr->phases.kind);
	np_pack_real(f, pr->phases.busy_share);
	np_pack_mean(f, &pr->ev.alone_sec);
	np_pack_count(f, pr->ev.n_levels);
	for (size_t i = 0; i < pr->ev.n_levels; i++)
		pack_level(f, &pr->ev.level[i]);
}

/* Returns 0, -EINVAL or -ENOMEM. */
static int unpack(const char *data, size_t len, struct cli_row *r)
{
	struct np_unpack u = { .at = data, .left = len };
	struct np_profile *p = &r->profile;

	r->n_runs = np_unpack_count(&u, SIZE_MAX);
	r->last = np_unpack_real(&u);
	p->is_idle = np_unpack_count(&u, 1);
	p->verdict.use = (enum np_use)np_unpack_count(&u, NP_USE_SATURATED);
	p->phases.kind = (enum np_phase_kind)np_unpack_count(&u,
							     NP_PHASE_PHASES);
	p->phases.busy_share = np_unpack_real(&u);
	p->ev.alone_sec = np_unpack_mean(&u);
	p->ev.n_levels = np_unpack_count(&u, len);
	p->ev.level = calloc(p->ev.n_levels + 1, sizeof(*p->ev.level));
	if (!p->ev.level)
		return -ENOMEM;
	for (size_t i = 0; !u.bad && i < p->ev.n_levels; i++)
		p->ev.level[i] = unpack_level(&u);
	return u.bad || u.left ? -EINVAL : 0;
}

static int pack_into(struct np_kept *k, const char *name, uint64_t state,
		     const struct cli_profile *p, char **data, size_t *len)
{
	FILE *f = open_memstream(data, len);

	if (!f)
		return -ENOMEM;
	pack(f, p);
	if (fclose(f)) {
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

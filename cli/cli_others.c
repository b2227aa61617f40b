#include "cli_others.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "np_evidence_pack.h"
#include "np_text.h"

static int by_name(const void *a, const void *b)
{
	return strcmp(((const struct np_store_app *)a)->name,
		      ((const struct np_store_app *)b)->name);
}

/* Of one owner, behind those that there are. */
static void look(struct cli_others *all, enum np_store_owner owner)
{
	size_t n = 0, n_before = all->n;
	struct np_store_app *found, *grown;

	if (np_store_look(all->s->store, owner, all->uid, &found, &n, NULL))
		return;
	grown = reallocarray(all->app, n_before + n + 1, sizeof(*grown));
	if (grown)
		all->app = grown;
	for (size_t i = 0; grown && i < n; i++)
		if (strcmp(found[i].name, NP_IDLE_APP) &&
		    !(n_before && bsearch(&found[i], grown, n_before,
					  sizeof(*grown), by_name)))
			grown[all->n++] = found[i];
	free(found);
}

void cli_others_look(struct cli_others *all, struct cli_store *s,
		     const struct cli_options *o)
{
	*all = (struct cli_others){ .s = s, .uid = o->uid };
	if (!o->published)
		look(all, NP_STORE_USER);
	all->n_own = all->n;
	look(all, NP_STORE_PUBLISHED);
}

void cli_others_free(struct cli_others *all)
{
	np_kept_close(all->kept);
	np_kept_close(all->ties);
	free(all->app);
}

/* A later calibration has another path, and changes the directory's stamp. */
void cli_others_judge(struct cli_others *all, const struct cli_known *k)
{
	const char *path = k->cal.path;
	uint64_t basis = np_hash(NP_HASH, path, strlen(path));

	if (np_fabric_store_look(all->s->store, k->cal.cluster, &all->fabric,
				 NULL))
		return;
	all->kept = np_kept_open(all->s->store, "show", basis);
	all->ties = np_kept_open(all->s->store, "ties", basis);
}

uint64_t cli_others_state(const struct cli_others *all)
{
	uint64_t state = np_kept_state(all->n_own, &all->fabric, 1);

	for (size_t i = 0; state && i < all->n; i++) {
		const struct np_store_app *a = &all->app[i];

		state = np_hash(state, a->name, strlen(a->name) + 1);
		state = np_kept_state(state, &a->stamp, 1);
	}
	return state;
}

/* From the runs.  Returns 0, -ENOENT or -ENOMEM. */
static int make(struct cli_others *all, struct cli_known *k,
		struct cli_known_app *a)
{
	const struct np_evidence_opt opt = { .calibration = &k->cal };
	struct cli_runs r;
	int rc = cli_runs_look(all->s, a->r.owner, a->r.uid, a->r.runs.app, &r);

	if (rc)
		return rc;
	rc = np_evidence_make(&r.runs, &opt, &a->evidence);
	if (!rc)
		np_evidence_detach(&a->evidence, a->r.runs.app);
	np_runs_free(&r.runs);
	return rc;
}

static void keep(struct cli_others *all, const char *name, uint64_t state,
		 const struct np_evidence *e)
{
	size_t len;
	char *data;
	FILE *f = state ? open_memstream(&data, &len) : NULL;

	if (!f)
		return;
	np_evidence_pack(f, e);
	if (fclose(f))
		free(data);
	else
		np_kept_put(all->kept, name, state, data, len);
}

static int find(struct cli_others *all, size_t i, struct cli_known *k,
		struct cli_known_app *a)
{
	const struct np_store_stamp stamp[] = {
		all->fabric, all->app[i].stamp,
	};
	uint64_t state = np_kept_state(0, stamp, NP_ARRAY_SIZE(stamp));
	struct np_pack u = { .bad = false };
	char name[NP_APP_MAX + 16];
	int rc = -EINVAL;

	snprintf(name, sizeof(name), "%u %s", i < all->n_own ? all->uid :
		 UINT32_MAX, a->r.runs.app);
	u.at = np_kept_find(all->kept, name, state, &u.left);
	if (u.at)
		rc = np_evidence_unpack(&u, k->cal.fabric, a->r.runs.app,
					&a->evidence);
	if (!rc)
		return 0; /* which was checked */
	rc = make(all, k, a);
	if (rc)
		return rc;
	keep(all, name, state, &a->evidence);
	np_program_check(&a->evidence.program, k->cal.fabric, &a->unusable);
	return 0;
}

int cli_others_add(struct cli_others *all, size_t i, struct cli_known *k)
{
	struct cli_runs r = {
		.owner = i < all->n_own ? NP_STORE_USER : NP_STORE_PUBLISHED,
		.uid = all->uid,
	};
	struct cli_known_app *a;
	int rc;

	strcpy(r.runs.app, all->app[i].name);
	rc = cli_known_add(k, &r, true);
	if (rc)
		return rc;
	a = k->app[k->n - 1];
	rc = find(all, i, k, a);
	if (rc) {
		k->n--;
		free(a);
	}
	return rc;
}

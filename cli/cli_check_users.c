/* users/ of the store: what is there and belongs to somebody else. */
#include "cli_check.h"
#include "np_store.h"

#define MOST_SQUATTERS 8 /* that are told one by one */

static void say_cut(struct cli_check *c, bool squatters)
{
	cli_found(c, CLI_PROBLEM, "users/", "%s/users: more than %d entries: "
		  "slurmctld does not look at the rest", c->conf.store,
		  NP_STORE_MAX_SCAN);
	cli_remedy(c, squatters ? "remove what is no directory of its own "
		   "user, as told below" : "remove the directories of users "
		   "that are gone");
}

/* Root's own mistake takes no squatter to mend. */
static void say_of_root(struct cli_check *c, const struct np_store_squatter *q)
{
	cli_found(c, CLI_PROBLEM, "users/", "root owns %zu of other users, "
		  "such as %s/users/%u: these cannot keep a record",
		  q->n_taken, c->conf.store, q->taken);
	cli_remedy(c, "netprof check --make-users %u", q->taken);
}

static void say_squatter(struct cli_check *c,
			 const struct np_store_squatter *q)
{
	const char *store = c->conf.store;
	char who[CLI_NUMBER];

	cli_user(q->uid, who);
	if (q->n_taken)
		cli_found(c, CLI_PROBLEM, "users/", "%s owns %zu of other "
			  "users, such as %s/users/%u: these cannot keep a "
			  "record", who, q->n_taken, store, q->taken);
	else
		cli_found(c, CLI_WARNING, "users/", "%s owns %zu in %s/users "
			  "with a name that is no user's", who, q->n, store);
	cli_remedy(c, "find %s/users -mindepth 1 -maxdepth 1 -uid %u ! -name "
		   "%u -exec rm -r {} +; netprof check --make-users", store,
		   q->uid, q->uid);
}

static void say_closed(struct cli_check *c, const struct np_store_census *s)
{
	cli_found(c, CLI_WARNING, "users/", "the mode of %zu keeps slurmctld "
		  "out, such as %s/users/%u", s->n_closed, c->conf.store,
		  s->closed);
	cli_remedy(c, "netprof check --make-users; or wait for the next runs "
		   "of their users");
}

void cli_check_census(struct cli_check *c)
{
	struct np_err err = NP_ERR_INIT;
	struct np_store_census s;
	struct np_store *store;
	int rc = np_store_open(c->conf.store, &store, &err);

	if (!rc) {
		rc = np_store_census(store, &s, &err);
		np_store_close(store);
	}
	if (rc) {
		cli_found(c, CLI_WARNING, "users/", "%s", err.text);
		return;
	}
	if (s.cut)
		say_cut(c, s.n);
	for (size_t i = 0; i < s.n && i < MOST_SQUATTERS; i++)
		if (s.squatter[i].uid)
			say_squatter(c, &s.squatter[i]);
		else
			say_of_root(c, &s.squatter[i]);
	if (s.n > MOST_SQUATTERS)
		cli_found(c, CLI_WARNING, "users/", "%zu more users own such "
			  "entries", s.n - MOST_SQUATTERS);
	if (s.n_closed)
		say_closed(c, &s);
	np_store_census_free(&s);
}

#include "t.h"
#include "np_record.h"

#define SIXTY_FOUR \
	"abcdefghijklmnopqrstuvwxyz0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ-_"

static const struct {
	const char *name;
	int rc;
} apps[] = {
	{ "lammps", 0 },
	{ "a", 0 },
	{ "7zip", 0 },
	{ "_x", 0 },
	{ "+x", 0 },
	{ "a.b_c+d-e", 0 },
	{ SIXTY_FOUR, 0 },
	{ "", -EINVAL },
	{ ".hidden", -EINVAL },
	{ "..", -EINVAL },
	{ "-option", -EINVAL },
	{ "a/b", -EINVAL },
	{ "a b", -EINVAL },
	{ "a\nb", -EINVAL },
	{ "caf\xc3\xa9", -EINVAL },
	{ "a*", -EINVAL },
	{ SIXTY_FOUR "x", -EINVAL },
};

T_TEST("application names cannot leave their directory")
{
	T_EACH(r, apps) {
		struct np_err err = NP_ERR_INIT;

		T_ROW(r->name, np_app_check(r->name, &err) == r->rc);
		T_ROW(r->name, !r->rc == !err.text[0]);
	}
}

/* clang-format off */
static const struct {
	const char *name, *in, *app; /* NULL: nothing usable */
} texts[] = {
	{ "a path",             "/usr/bin/lmp",     "lmp" },
	{ "a relative path",    "./a.out",          "a.out" },
	{ "a job name",         "my job (3)",       "my_job__3_" },
	{ "other letters",      "caf\xc3\xa9",      "caf__" },
	{ "hidden file",        "/home/u/.run",     "_run" },
	{ "option",             "-x",               "_x" },
	{ "the longest",        SIXTY_FOUR,         SIXTY_FOUR },
	{ "cut at 64",          SIXTY_FOUR "yz",    SIXTY_FOUR },
	{ "empty",              "",                 NULL },
	{ "a directory",        "/opt/bin/",        NULL },
	{ "no letter or digit", "/opt/(...)",       NULL },
};
/* clang-format on */

T_TEST("any executable or job name gives a valid one")
{
	T_EACH(r, texts) {
		char app[NP_APP_MAX + 1] = "unchanged";
		int rc = np_app_from_text(r->in, app);

		T_ROW(r->name, rc == (r->app ? 0 : -EINVAL));
		T_ROW(r->name, !strcmp(app, r->app ? r->app : "unchanged"));
		if (!rc)
			T_ROW(r->name, !np_app_check(app, NULL));
	}
}

T_TEST("leaves are found by name and bounded")
{
	struct np_record *r = np_record_new();
	struct np_leaf_run *a = np_record_leaf(r, "leaf0");

	T_CHECK(a && !strcmp(a->name, "leaf0") && a->latency.n == 0);
	T_CHECK(!!np_record_leaf(r, ""));
	T_CHECK(np_record_leaf(r, "leaf0") == &r->leaves[0]);
	T_CHECK(r->n_leaves == 2);
	for (int i = 1; i < NP_RECORD_MAX_LEAVES + 5; i++)
		np_record_leaf(r, t_text("leaf%d", i));
	T_CHECK(r->n_leaves == NP_RECORD_MAX_LEAVES);
	T_CHECK(!np_record_leaf(r, "one more"));
	T_CHECK(np_record_leaf(r, "leaf1") == &r->leaves[2]);
	np_record_free(r);
}

T_TEST("notes are single lines and bounded")
{
	struct np_record *r = np_record_new();
	char big[1000];

	memset(big, 'x', sizeof(big));
	big[sizeof(big) - 1] = '\0';
	np_record_note(r, "node %s\nis\tdown\x1b[31m", "n3");
	np_record_note(r, "%s", big);
	T_CHECK(!strcmp(r->notes[0], "node n3?is?down?[31m"));
	T_CHECK(strlen(r->notes[1]) == 255);
	for (int i = 0; i < 2 * NP_RECORD_MAX_NOTES; i++)
		np_record_note(r, "more %d", i);
	T_CHECK(r->n_notes == NP_RECORD_MAX_NOTES);
	np_record_free(r);
	np_record_free(NULL);
}

/* Once a minute for a day, and there is room for what comes after. */
T_TEST("a trouble that stays is noted once")
{
	struct np_record *r = np_record_new();

	for (int i = 0; i < 24 * 60; i++)
		np_record_note(r, "slurmctld\ndoes not answer");
	np_record_note(r, "the probes ended");
	T_CHECK(r->n_notes == 2);
	T_CHECK(!strcmp(r->notes[0], "slurmctld?does not answer"));
	T_CHECK(!strcmp(r->notes[r->n_notes - 1], "the probes ended"));
	np_record_free(r);
}

/* The test plays srun between the host and the processes of a step. */
#include "t.h"
#include "np_wire.h"

#include <sys/wait.h>

/* clang-format off */
static const struct {
	const char *name, *lines[8]; /* to a host of two */
	int rc;			     /* of the last one */
	const char *reply;	     /* after it; NULL: nothing */
} rows[] = {
	{ "all learn of all once all wait",
	  { "np1w 1 put 62", "np1w 0 put 61", "np1w 0 fence", "np1w 1 fence" },
	  0, "place 0 61\nplace 1 62\ngo\n" },
	{ "nobody gets a reply before", { "np1w 0 put 61", "np1w 0 fence" }, 0,
	  NULL },
	{ "pieces are put together",
	  { "np1w 0 put 61", "np1w 1 fence", "np1w 0 put 62", "np1w 0 fence" },
	  0, "place 0 6162\ngo\n" },
	{ "the next fence says what is new",
	  { "np1w 0 put 61", "np1w 0 fence", "np1w 1 fence", "np1w 1 put 62",
	    "np1w 1 fence", "np1w 0 fence" }, 0, "place 1 62\ngo\n" },
	{ "a rank beyond the step", { "np1w 2 fence" }, -EPROTO, NULL },
	{ "no rank", { "np1w fence" }, -EPROTO, NULL },
	{ "a rank below 0", { "np1w -1 fence" }, -EPROTO, NULL },
	{ "a word that is none", { "np1w 0 fences" }, -EPROTO, NULL },
	{ "a rank alone", { "np1w 0" }, -EPROTO, NULL },
	{ "no number", { "np1w 0 put 6g" }, -EPROTO, NULL },
	{ "capitals", { "np1w 0 put AB" }, -EPROTO, NULL },
	{ "twice at one fence", { "np1w 0 fence", "np1w 0 fence" }, -EPROTO,
	  NULL },
};
/* clang-format on */

T_TEST("what the processes of a step send, and what they get")
{
	T_EACH(r, rows) {
		struct np_wire_host *h = np_wire_host_new(2);
		char *reply = NULL;
		int rc = 0;

		for (size_t k = 0; r->lines[k]; k++) {
			free(reply);
			T_ROW(r->name, !rc);
			rc = np_wire_host_take(h, NULL, r->lines[k], &reply);
		}
		T_ROW(r->name, rc == r->rc);
		T_ROW(r->name,
		      r->reply ? reply && !strcmp(reply, r->reply) : !reply);
		free(reply);
		np_wire_host_free(h);
	}
}

T_TEST("reports are not for the host")
{
	struct np_wire_host *h = np_wire_host_new(2);
	char *reply;

	T_CHECK(np_wire_host_take(h, NULL, "np1w 0 fence", &reply) == 0);
	T_CHECK(np_wire_host_take(h, NULL, "np1 hello", &reply) == -ENOMSG);
	T_CHECK(np_wire_host_take(h, NULL, "np1w", &reply) == -ENOMSG);
	T_CHECK(np_wire_host_take(h, NULL, "np1ws 0 fence", &reply) == -ENOMSG);
	np_wire_host_free(h);
}

T_TEST("one process does not fill the memory")
{
	static char line[NP_WIRE_MAX_BYTES + 32] = "np1w 0 put ";
	struct np_wire_host *h = np_wire_host_new(1);
	char *reply;

	memset(line + 11, '0', NP_WIRE_MAX_BYTES);
	T_CHECK(np_wire_host_take(h, NULL, line, &reply) == 0);
	T_CHECK(np_wire_host_take(h, NULL, line, &reply) == 0);
	T_CHECK(np_wire_host_take(h, NULL, line, &reply) == -EPROTO);
	np_wire_host_free(h);
}

enum { STEP = 3, LONG = 1000, LONGEST = 1024 };

/* What process `rank` puts. */
static void fill(char *data, uint32_t rank)
{
	memset(data, 'a' + (int)rank, LONG);
}

static int finds_all(struct np_wire *w)
{
	char mine[LONG], want[LONG];
	void *data;
	size_t len;

	fill(mine, w->rank);
	if (w->size != STEP || w->ops->put(w, mine, LONG, NULL) ||
	    w->ops->fence(w, 60, NULL))
		return 0;
	for (uint32_t i = 0; i < STEP; i++) {
		fill(want, i);
		if (w->ops->get(w, i, &data, &len, NULL) || len != LONG ||
		    memcmp(data, want, LONG))
			return 0;
		free(data);
	}
	return w->ops->fence(w, 60, NULL) == 0;
}

static void process(int rank, int in, int out)
{
	struct np_wire *w;
	int ok;

	setenv("SLURM_PROCID", t_text("%d", rank), 1);
	setenv("SLURM_NTASKS", "3", 1);
	dup2(in, 0);
	dup2(out, 1);
	ok = !np_wire_open("srun", &w, NULL) && finds_all(w);
	if (ok)
		w->ops->close(w);
	_exit(!ok);
}

/* Two fences of three processes. */
static void pass_on(struct np_wire_host *h, FILE *output, const int in[STEP])
{
	static char line[64 * LONGEST];
	int fences = 0;

	while (fences < 2 && fgets(line, sizeof(line), output)) {
		char *reply = NULL;

		T_CHECK(strlen(line) < LONGEST);
		line[strcspn(line, "\n")] = '\0';
		T_CHECK(np_wire_host_take(h, NULL, line, &reply) == 0);
		for (int i = 0; reply && i < STEP; i++)
			T_CHECK(write(in[i], reply, strlen(reply)) ==
				(ssize_t)strlen(reply));
		fences += !!reply;
		free(reply);
	}
	T_CHECK(fences == 2);
}

T_TEST("processes of a step find each other")
{
	struct np_wire_host *h = np_wire_host_new(STEP);
	int out[2], in[STEP][2], to[STEP], status;
	FILE *output;

	T_CHECK(!pipe(out) && !pipe(in[0]) && !pipe(in[1]) && !pipe(in[2]));
	for (int i = 0; i < STEP; i++) {
		to[i] = in[i][1];
		if (!fork())
			process(i, in[i][0], out[1]);
	}
	close(out[1]);
	output = fdopen(out[0], "r");
	pass_on(h, output, to);
	for (int i = 0; i < STEP; i++) {
		T_CHECK(wait(&status) > 0 && status == 0);
		close(in[i][0]);
		close(in[i][1]);
	}
	fclose(output);
	np_wire_host_free(h);
}

T_TEST("a process that srun did not start is reported")
{
	struct np_err err = NP_ERR_INIT;
	struct np_wire *w;

	unsetenv("SLURM_PROCID");
	T_CHECK(np_wire_open("srun", &w, &err) == -EINVAL);
	T_CHECK(strstr(err.text, "srun"));
}

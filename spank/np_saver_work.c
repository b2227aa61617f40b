#include "np_saver_work.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "np_choice_text.h"
#include "np_clock.h"
#include "np_profile.h"
#include "np_level_run.h"
#include "np_log.h"
#include "np_read.h"
#include "np_store.h"

#define AGAIN_SEC 5 /* where the store's server is lost */
#define TRIES 60

enum { F_STORE, F_RUN, F_MAX_RUNS, F_RECORD, N_SAVE_FIELDS };
enum {
	F_SCOPE = F_RECORD, F_NODES, F_SHARE, F_NOW, F_CHOOSE_RECORD,
	N_CHOOSE_FIELDS,
};

/*
 * What a file system says that has lost its server, or has just found it again.
 * Nobody waits for us: we try until it answers otherwise.
 */
static bool is_lost(int rc)
{
	switch (-rc) {
	case EIO: case ESTALE: case ENOTCONN: case ETIMEDOUT: case ESHUTDOWN:
	case EHOSTDOWN: case EHOSTUNREACH: case EREMOTEIO:
		return true;
	default:
		return false;
	}
}

static void append(const char *store, char *line)
{
	int rc = 0;

	for (int i = 0; i < TRIES && (!i || is_lost(rc)); i++) {
		sleep(i ? AGAIN_SEC : 0);
		if (!np_log_append(store, line))
			return;
		rc = -errno;
	}
	line[strcspn(line, "\n")] = '\0';
	np_log_system(line);
}

static int open_store(char *const field[], struct np_store **s,
		      struct np_err *err)
{
	int rc = np_store_open(field[F_STORE], s, err);

	if (!rc)
		np_store_set_max_runs(*s, (uint32_t)strtoul(field[F_MAX_RUNS],
							    NULL, 10));
	return rc;
}

static int read_record(const char *text, struct np_record **r,
		       struct np_err *err)
{
	return np_record_from_json(text, strlen(text), "record", r, err);
}

/* A record that nobody asked for is kept if it tells anything new. */
static bool is_wanted(struct np_store *s, const struct np_record *r)
{
	struct np_runs idle = { .n = 0 };
	bool wanted;

	if (!r->source)
		return true;
	np_store_load(s, NP_STORE_USER, geteuid(), NP_IDLE_APP, NULL, NULL,
		      &idle, NULL);
	wanted = np_idle_is_wanted(&idle, r, np_date_sec());
	np_runs_free(&idle);
	return wanted;
}

static int save_once(char *const field[], const struct np_record *r,
		     struct np_err *err)
{
	struct np_store *s = NULL;
	int rc = open_store(field, &s, err);

	if (!rc && is_wanted(s, r))
		rc = np_store_save(s, r, err);
	np_store_close(s);
	return rc;
}

static int save(char *const field[], struct np_err *err)
{
	struct np_record *r = NULL;
	int rc = read_record(field[F_RECORD], &r, err), tries = TRIES;

	if (rc)
		return rc;
	while ((rc = save_once(field, r, err)) && is_lost(rc) && --tries)
		sleep(AGAIN_SEC);
	np_record_free(r);
	return rc;
}

/* The record says what was chosen, for runs that start at the same time. */
static int note_choice(struct np_record *r, const struct np_choice *c,
		       char *const field[], struct np_err *err)
{
	if (!c->history.n_levels)
		r->blocks_nodes = 0;
	else if (!(r->blocks_scope = strdup(field[F_SCOPE])))
		return np_errf(err, -ENOMEM, "out of memory");
	return c->level[0] ? np_level_run_note(r, c->level, field[F_SCOPE],
					       field[F_NODES], err) : 0;
}

static int choose(char *const field[], char **choice, struct np_err *err)
{
	struct np_choice c = NP_CHOICE_INIT;
	struct np_record *r = NULL;
	struct np_store *s = NULL;
	int rc = read_record(field[F_CHOOSE_RECORD], &r, err);

	if (!rc)
		rc = open_store(field, &s, err);
	if (!rc)
		rc = np_choose(s, r, field[F_SCOPE],
			       strtod(field[F_SHARE], NULL),
			       strtod(field[F_NOW], NULL), &c, err);
	if (!rc)
		rc = note_choice(r, &c, field, err);
	if (!rc)
		rc = np_store_save(s, r, err);
	np_choice_end(&c);
	if (!rc && !(*choice = np_choice_print(&c)))
		rc = np_errf(err, -ENOMEM, "out of memory");
	np_course_history_free(&c.history);
	np_store_close(s);
	np_record_free(r);
	return rc;
}

/* A directory that is refused is one that answers. */
static int check(const char *dir)
{
	int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	return fd < 0 && is_lost(-errno) ? -errno : 0;
}

static void reply(int fd, int rc, const char *why, const char *choice)
{
	char number[16];
	const char *field[] = { number, why, choice };

	snprintf(number, sizeof(number), "%d", rc);
	for (size_t i = 0; i < NP_ARRAY_SIZE(field); i++)
		if (np_write_all(fd, field[i], strlen(field[i]) + 1))
			return;
}

void np_saver_work(enum np_saver_kind kind, char *text, size_t len, int fd)
{
	char *field[NP_SAVER_MAX_FIELDS], *choice = NULL;
	size_t n = np_saver_fields(text, len, field);
	struct np_err err = NP_ERR_INIT;
	int rc = -EPROTO;

	if (kind == NP_SAVER_LOG && n == 2) {
		append(field[0], field[1]);
		return;
	}
	if (kind == NP_SAVER_SAVE && n == N_SAVE_FIELDS)
		rc = save(field, &err);
	else if (kind == NP_SAVER_CHOOSE && n == N_CHOOSE_FIELDS)
		rc = choose(field, &choice, &err);
	else if (kind == NP_SAVER_CHECK && n == 1)
		rc = check(field[0]);
	reply(fd, rc, rc && !err.text[0] ? strerror(-rc) : err.text,
	      choice ? choice : "");
	free(choice);
}

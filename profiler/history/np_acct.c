#include "np_acct.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "np_bits.h"
#include "np_hostlist.h"
#include "np_sacct.h"
#include "np_text.h"

#define MAX_LINE 1048576 /* bytes of a row */
#define MAX_TEXT 1024	 /* bytes; longer names and commands are cut */
/*
 * The accounting has this limit for some jobs without one: those that Slurm's
 * backfill scheduler started (YEAR_MINUTES in backfill.c).
 */
#define YEAR_SEC (365 * 86400.0)
#define NO_TOPOLOGY "all" /* name of the leaf switch without a topology */

void np_acct_free(struct np_acct *h)
{
	free(h->job);
	free(h->node);
	free(h->leaf_of);
	free(h->leaf_size);
	free(h->place);
	np_index_free(&h->text);
	np_index_free(&h->node_name);
	np_index_free(&h->leaf_name);
	*h = (struct np_acct){ .now = 0 };
}

/* ---- texts ---- */

/* The number of a text; a new text gets the next number. */
static uint32_t number_of(struct np_index *x, const char *text)
{
	size_t len = strlen(text);

	return np_index_add(x, text, len < MAX_TEXT ? len : MAX_TEXT);
}

const char *np_acct_text(const struct np_index *x, uint32_t number, char *buf,
			 size_t len)
{
	size_t from = number && number < x->n ? x->end[number - 1] : 0;
	size_t n = number < x->n ? x->end[number] - from : 0;

	snprintf(buf, len, "%.*s", (int)n, n ? x->bytes + from : "");
	np_text_make_plain(buf);
	return buf;
}

/* ---- leaf switches ---- */

/* The number of a node; a new one has no leaf switch yet. */
static uint32_t node_number(struct np_acct *h, const char *name)
{
	uint32_t n = number_of(&h->node_name, name);
	size_t had = h->leaf_room;

	if (n == NP_NO_INDEX || np_array_reserve(&h->leaf_of, &h->leaf_room,
						 n + 1, sizeof(*h->leaf_of)))
		return NP_NO_INDEX;
	for (; had < h->leaf_room; had++)
		h->leaf_of[had] = h->one_leaf ? 0 : NP_NO_INDEX;
	return n;
}

struct leaf_filler {
	struct np_acct *h;
	uint32_t leaf;
};

/* A node of two leaf switches belongs to the first, as everywhere. */
static int put_on_leaf(void *arg, const char *name)
{
	struct leaf_filler *to = arg;
	uint32_t n = node_number(to->h, name);

	if (n == NP_NO_INDEX)
		return -ENOMEM;
	if (n >= NP_HOSTLIST_MAX * 16u)
		return -E2BIG;
	if (to->h->leaf_of[n] == NP_NO_INDEX) {
		to->h->leaf_of[n] = to->leaf;
		to->h->leaf_size[to->leaf]++;
	}
	return 0;
}

int np_acct_topology(struct np_acct *h, const struct np_topo *t,
		     struct np_err *err)
{
	size_t n = t && t->n ? t->n : 1;
	struct leaf_filler to = { .h = h };

	h->leaf_size = calloc(n, sizeof(*h->leaf_size));
	if (!h->leaf_size)
		return -ENOMEM;
	h->one_leaf = !t || !t->n;
	if (h->one_leaf)
		return number_of(&h->leaf_name, NO_TOPOLOGY) == NP_NO_INDEX ?
			     -ENOMEM :
			     0;
	for (size_t i = 0; i < t->n; i++) {
		int rc;

		to.leaf = number_of(&h->leaf_name, t->leaf[i].name);
		if (to.leaf == NP_NO_INDEX)
			return -ENOMEM;
		rc = np_hostlist_each(t->leaf[i].nodes, put_on_leaf, &to);
		if (rc == -ENOMEM)
			return rc;
		if (rc == -E2BIG)
			return np_errf(err, rc,
				       "leaf switch %.64s: too many nodes",
				       t->leaf[i].name);
		if (rc)
			return np_errf(err, rc,
				       "leaf switch %.64s: \"%.80s\": expected "
				       "a list of nodes",
				       t->leaf[i].name, t->leaf[i].nodes);
	}
	return 0;
}

/* ---- jobs ---- */

enum column {
	JOB_ID,
	RAW_ID,
	USER,
	PARTITION,
	STATE,
	SUBMIT,
	START,
	END,
	SUSPENDED,
	N_NODES,
	N_CPUS,
	TASKS,
	LIMIT,
	NODES,
	NAME,
	DIR,
	LINE,
	N_COLUMNS
};

static const char *const columns[N_COLUMNS] = {
	[JOB_ID] = "JobID",	   [RAW_ID] = "JobIDRaw",
	[USER] = "User",	   [PARTITION] = "Partition",
	[STATE] = "State",	   [SUBMIT] = "Submit",
	[START] = "Start",	   [END] = "End",
	[SUSPENDED] = "Suspended", [N_NODES] = "NNodes",
	[N_CPUS] = "NCPUS",	   [TASKS] = "NTasks",
	[LIMIT] = "TimelimitRaw",  [NODES] = "NodeList",
	[NAME] = "JobName",	   [DIR] = "WorkDir",
	[LINE] = "SubmitLine",
};

/* Output without one of these is refused. */
static const enum column required[] = {
	JOB_ID, USER, STATE, START, END, N_NODES, NODES, NAME,
};

struct reader {
	struct np_acct *h;
	const char *name; /* of the text, for messages */
	struct np_err *err;
	/* The present row: where it begins, and its columns. */
	size_t line;
	char *const *value;
};

/* The state by the first word of sacct's column State. */
static enum np_acct_state state_of(const char *text)
{
	static const struct {
		const char *word;
		enum np_acct_state state;
	} states[] = {
		{ "RUNNING", NP_ACCT_RUNNING },
		{ "SUSPENDED", NP_ACCT_RUNNING },
		{ "COMPLETED", NP_ACCT_COMPLETED },
		{ "FAILED", NP_ACCT_FAILED },
		{ "OUT_OF_MEMORY", NP_ACCT_FAILED },
		{ "NODE_FAIL", NP_ACCT_FAILED },
		{ "TIMEOUT", NP_ACCT_TIMEOUT },
		{ "CANCELLED", NP_ACCT_CANCELLED }, /* "CANCELLED by 0" */
		{ "REQUEUED", NP_ACCT_REQUEUED },
		{ "PREEMPTED", NP_ACCT_REQUEUED },
		{ "RESIZING", NP_ACCT_RESIZED },
	};

	for (size_t i = 0; i < NP_ARRAY_SIZE(states); i++)
		if (!strncasecmp(text, states[i].word, strlen(states[i].word)))
			return states[i].state;
	return NP_ACCT_OTHER;
}

bool np_acct_take_id(const char **text, uint32_t *id)
{
	uint64_t v = 0;

	if (!isdigit((unsigned char)**text))
		return false;
	for (; isdigit((unsigned char)**text) && v < UINT32_MAX; ++*text)
		v = 10 * v + (uint64_t)(**text - '0');
	*id = (uint32_t)v;
	return v < UINT32_MAX - 1;
}

/*
 * Parse a job's id: "12", "12_3" or "12+0". False for "12_[4-9]", which has
 * not started, and for a step, "12.batch".
 */
static bool read_id(const struct reader *r, struct np_acct_job *j)
{
	const char *p = r->value[JOB_ID], *raw = r->value[RAW_ID];

	j->task = NP_ACCT_NO_TASK;
	if (!np_acct_take_id(&p, &j->id))
		return false;
	if (*p == '_') {
		p++;
		j->array = j->id;
		if (!np_acct_take_id(&p, &j->task))
			return false;
	} else if (*p == '+') {
		uint32_t component;

		p++;
		if (!np_acct_take_id(&p, &component))
			return false;
	}
	return !*p && (!*raw || (np_acct_take_id(&raw, &j->id) && !*raw));
}

/* -EINVAL with err: name, line, column, value, and what was expected. */
static int refuse(const struct reader *r, enum column c, const char *expected)
{
	return np_errf(r->err, -EINVAL, "%s:%zu: %s \"%.64s\": expected %s",
		       r->name, r->line, columns[c], r->value[c], expected);
}

static int read_date(const struct reader *r, enum column c, double *date)
{
	const char *end = np_sacct_date(r->value[c], false, date);

	return end && !*end ? 0 :
			      refuse(r, c,
				     "a date such as 2026-11-25T10:00:00, or "
				     "seconds since 1970");
}

/* *out, which is 0, remains so if the column is empty. */
static int read_count(const struct reader *r, enum column c, uint32_t *out,
		      const char *expected)
{
	return *r->value[c] && np_sacct_count(r->value[c], out) ?
		       refuse(r, c, expected) :
		       0;
}

/* Parse the dates, the time limit and the suspended time of a row. */
static int read_times(const struct reader *r, struct np_acct_job *j)
{
	int rc = read_date(r, SUBMIT, &j->submit);

	if (!rc)
		rc = read_date(r, START, &j->start);
	if (!rc)
		rc = read_date(r, END, &j->end);
	if (rc)
		return rc;
	if (np_sacct_duration(r->value[LIMIT], &j->limit_sec))
		return refuse(r, LIMIT, "a number of minutes");
	if (j->limit_sec == YEAR_SEC)
		j->limit_sec = INFINITY;
	return *r->value[SUSPENDED] && np_sacct_duration(r->value[SUSPENDED],
							 &j->suspended_sec) ?
		       refuse(r, SUSPENDED, "a time such as 01:02:03") :
		       0;
}

/*
 * Parse the number of tasks of a row, which rows of jobs have only in JSON: that
 * of the largest step.
 */
static int read_tasks(const struct reader *r, struct np_acct_job *j)
{
	return read_count(r, TASKS, &j->tasks, "a number of tasks");
}

/* Parse the numbers of nodes, processors and tasks of a row. */
static int read_numbers(const struct reader *r, struct np_acct_job *j)
{
	int rc = np_sacct_count(r->value[N_NODES], &j->n_nodes) ?
			 refuse(r, N_NODES, "a number of nodes") :
			 read_count(r, N_CPUS, &j->cpus,
				    "a number of processors");

	return rc ? rc : read_tasks(r, j);
}

/* Append a node to the list of the nodes of all jobs. */
static int add_node(void *arg, const char *name)
{
	struct np_acct *h = arg;
	uint32_t n = node_number(h, name);

	if (n == NP_NO_INDEX ||
	    np_array_reserve(&h->node, &h->node_room, h->n_nodes + 1,
			     sizeof(*h->node)))
		return -ENOMEM;
	if (h->n_nodes == NP_ACCT_MAX_NODES)
		return -E2BIG;
	h->node[h->n_nodes++] = n;
	return 0;
}

/* Parse the list of nodes of a row; the job refers to its part of h->node. */
static int read_nodes(const struct reader *r, struct np_acct_job *j)
{
	struct np_acct *h = r->h;
	int rc;

	j->first_node = h->n_nodes;
	rc = np_hostlist_each(r->value[NODES], add_node, h);
	j->n_listed = h->n_nodes - j->first_node;
	if (rc == -EINVAL)
		return refuse(r, NODES, "a list of nodes such as n[0-3]");
	return rc == -E2BIG ?
		       np_errf(r->err, rc,
			       "%s:%zu: more than %d nodes of all jobs together",
			       r->name, r->line, NP_ACCT_MAX_NODES) :
		       rc;
}

/*
 * Take the tasks of a step, "12.0" or "12_3.0". It belongs to the job before it,
 * unless that one was left out. Batch scripts and what Slurm adds have no number.
 */
static int take_step(const struct reader *r)
{
	char *dot = strchr(r->value[JOB_ID], '.'),
	     *raw = strchr(r->value[RAW_ID], '.');
	struct np_acct_job *last = r->h->n_jobs ? &r->h->job[r->h->n_jobs - 1] :
						  NULL;
	struct np_acct_job j = { .id = 0 };
	int rc;

	if (!isdigit((unsigned char)dot[1]))
		return 0;
	rc = read_tasks(r, &j);
	if (rc)
		return rc;
	*dot = '\0';
	if (raw)
		*raw = '\0';
	if (last && read_id(r, &j) && j.id == last->id &&
	    j.task == last->task && j.tasks > last->tasks)
		last->tasks = j.tasks;
	return 0;
}

/* Add the job of a row, unless it never ran; of a step, take its tasks. */
static int add_job(const struct reader *r)
{
	char *const *value = r->value;
	struct np_acct *h = r->h;
	struct np_acct_job j = { .id = 0 };
	int rc;

	if (strchr(value[JOB_ID], '.'))
		return take_step(r);
	if (!read_id(r, &j))
		return 0;
	/* Without it, all tasks of an array would count as one job. */
	if (!*value[RAW_ID] && strpbrk(value[JOB_ID], "_+"))
		return refuse(r, RAW_ID,
			      "a number, as JobID is a part of several jobs");
	rc = read_times(r, &j);
	if (!rc)
		rc = read_numbers(r, &j);
	j.state = state_of(value[STATE]);
	/* A job that was cancelled while pending may have both dates, equal. */
	if (rc || isnan(j.start) || !(j.end != j.start) ||
	    !strcasecmp(value[NODES], "None assigned") || !*value[NODES])
		return rc;
	if (j.end < j.start)
		return refuse(r, END, "a date after Start");
	if (h->n_jobs == NP_ACCT_MAX_JOBS)
		return np_errf(r->err, -E2BIG, "%s:%zu: more than %d jobs",
			       r->name, r->line, NP_ACCT_MAX_JOBS);
	rc = read_nodes(r, &j);
	if (rc)
		return rc;
	j.user = number_of(&h->text, value[USER]);
	j.name = number_of(&h->text, value[NAME]);
	j.partition = number_of(&h->text, value[PARTITION]);
	j.line = number_of(&h->text, value[LINE]);
	j.dir = number_of(&h->text, value[DIR]);
	if (j.user == NP_NO_INDEX || j.name == NP_NO_INDEX ||
	    j.partition == NP_NO_INDEX || j.line == NP_NO_INDEX ||
	    j.dir == NP_NO_INDEX ||
	    np_array_reserve(&h->job, &h->job_room, h->n_jobs + 1,
			     sizeof(*h->job)))
		return -ENOMEM;
	h->job[h->n_jobs++] = j;
	return 0;
}

/* Cut the next line off *text; NULL: there is none. */
static char *next_line(char **text)
{
	char *line = *text;
	size_t len = strcspn(line, "\n");

	if (!*line)
		return NULL;
	*text = line + len + (line[len] == '\n');
	line[len] = '\0';
	if (len && line[len - 1] == '\r')
		line[len - 1] = '\0';
	return line;
}

/* The first line must name every required column, and no known one twice. */
static int check_head(const struct reader *r, const struct np_sacct_head *head)
{
	if (head->more)
		return np_errf(r->err, -EINVAL, "%s:1: more than %d columns",
			       r->name, NP_SACCT_MAX_COLUMNS);
	if (head->twice != NP_SACCT_NONE)
		return np_errf(r->err, -EINVAL, "%s:1: column %s given twice",
			       r->name, columns[head->twice]);
	for (size_t i = 0; i < NP_ARRAY_SIZE(required); i++)
		if (!head->has[required[i]])
			return np_errf(
				r->err, -EINVAL,
				"%s:1: expected a line that names the columns, "
				"%s among them, as sacct --parsable2 prints it",
				r->name, columns[required[i]]);
	return 0;
}

/*
 * Does a line belong to the row before it? A command may contain line breaks, which
 * sacct prints as they are; its first line counts.
 */
static bool is_continued(const struct np_sacct_head *head, size_t n_fields,
			 const char *line)
{
	return n_fields < head->n && !isdigit((unsigned char)*line) &&
	       head->column[head->n - 1] == LINE;
}

/* A row with another number of fields is damaged: it is counted, not used. */
static int read_rows(struct reader *r, char *text, const char *delimiter)
{
	char *line = next_line(&text), *value[N_COLUMNS];
	struct np_sacct_head head;
	int rc;

	if (!line)
		return 0;
	np_sacct_read_head(line, delimiter, columns, N_COLUMNS, &head);
	rc = check_head(r, &head);
	r->value = value;
	for (r->line = 2; !rc && (line = next_line(&text)); r->line++) {
		size_t n = 0;

		if (!*line)
			continue;
		if (strlen(line) <= MAX_LINE)
			n = np_sacct_read_row(line, delimiter, &head, value,
					      N_COLUMNS);
		if (n == head.n)
			rc = add_job(r);
		else if (r->line == 2 || !is_continued(&head, n, line))
			r->h->damaged++;
	}
	return rc;
}

/* A job of sacct --json. */
static int add_json_job(void *arg, char *const *value, const bool *has,
			size_t line)
{
	struct reader *r = arg;

	r->line = line;
	r->value = value;
	for (size_t i = 0; i < NP_ARRAY_SIZE(required); i++)
		if (!has[required[i]])
			return np_errf(r->err, -EINVAL,
				       "%s:%zu: a job without %s, which sacct "
				       "--json prints for all",
				       r->name, line, columns[required[i]]);
	if (!*value[USER])
		return np_errf(r->err, -EINVAL,
			       "%s:%zu: a job without a user, as slurmdbd does "
			       "not know that user: save the output of sacct "
			       "--parsable2 instead",
			       r->name, line);
	return add_job(r);
}

int np_acct_read(struct np_acct *h, char *text, const char *name,
		 const char *delimiter, struct np_err *err)
{
	struct reader r = { .h = h, .name = name, .err = err };
	int rc = !*delimiter ?
			 np_errf(err, -EINVAL, "%s: expected a delimiter",
				 name) :
		 text[strspn(text, " \t\r\n")] == '{' ?
			 np_sacct_read_json(text, name, columns, N_COLUMNS,
					    add_json_job, &r, err) :
			 read_rows(&r, text, delimiter);

	return rc == -ENOMEM ? np_errf(err, rc, "%s: out of memory", name) : rc;
}

/* ---- order ---- */

/* Order of jobs for merge_duplicates(): by id, then by start. */
static int by_id(const void *a, const void *b)
{
	const struct np_acct_job *x = a, *y = b;

	if (x->id != y->id)
		return x->id < y->id ? -1 : 1;
	return (x->start > y->start) - (x->start < y->start);
}

/*
 * Keep a job that was read twice once, as it was seen last, with the tasks of
 * the time when its steps were read, too. Earlier starts of a requeued job are
 * counted, and stay as they occupied nodes. So do the earlier parts of a job
 * that changed its number of nodes, for each of which Slurm has a row.
 */
static void merge_duplicates(struct np_acct *h)
{
	size_t n = 0;

	if (h->n_jobs)
		qsort(h->job, h->n_jobs, sizeof(*h->job), by_id);
	for (size_t i = 0; i < h->n_jobs; i++) {
		struct np_acct_job *j = &h->job[i];
		struct np_acct_job *before = n ? &h->job[n - 1] : NULL;

		if (before && before->id == j->id &&
		    before->start == j->start) {
			j->requeues = before->requeues;
			j->resized = before->resized;
			if (j->tasks < before->tasks)
				j->tasks = before->tasks;
			if (!isnan(j->end) || isnan(before->end))
				*before = *j;
			before->tasks = j->tasks;
			continue;
		}
		if (before && before->id == j->id) {
			j->resized = before->state == NP_ACCT_RESIZED;
			j->requeues = before->requeues + !j->resized;
		}
		h->job[n++] = *j;
	}
	h->n_jobs = n;
}

size_t np_acct_off_leaves(const struct np_acct *h)
{
	size_t n = 0;

	for (size_t i = 0; i < h->node_name.n; i++)
		n += h->leaf_of[i] == NP_NO_INDEX;
	return n;
}

size_t np_acct_leaves(const struct np_acct *h, const struct np_acct_job *j,
		      struct np_acct_place *out, size_t max)
{
	size_t n = 0;

	for (size_t i = 0; i < j->n_listed; i++) {
		uint32_t leaf = h->leaf_of[h->node[j->first_node + i]];
		size_t k = n;

		if (leaf == NP_NO_INDEX)
			continue;
		while (k && out[k - 1].leaf != leaf)
			k--;
		if (k) {
			out[k - 1].nodes++;
			continue;
		}
		if (n == max)
			continue;
		out[n++] = (struct np_acct_place){ .leaf = leaf, .nodes = 1 };
	}
	return n;
}

/* Add a place for each leaf switch of a job. */
static int add_places(struct np_acct *h, uint32_t at, size_t *room)
{
	const struct np_acct_job *j = &h->job[at];
	struct np_acct_place *place;
	size_t n;

	if (np_array_reserve(&h->place, room, h->n_places + j->n_listed,
			     sizeof(*h->place)))
		return -ENOMEM;
	place = h->place + h->n_places;
	n = np_acct_leaves(h, j, place, j->n_listed);
	for (size_t i = 0; i < n; i++)
		place[i].job = at;
	h->n_places += n;
	return 0;
}

static const struct np_acct_job *sorted_jobs; /* for by_leaf() */

/* Order of places: by leaf switch, then by start of the job. */
static int by_leaf(const void *a, const void *b)
{
	const struct np_acct_place *x = a, *y = b;
	double s = sorted_jobs[x->job].start, t = sorted_jobs[y->job].start;

	if (x->leaf != y->leaf)
		return x->leaf < y->leaf ? -1 : 1;
	return s != t ? (s < t ? -1 : 1) :
			(x->job > y->job) - (x->job < y->job);
}

int np_acct_index(struct np_acct *h)
{
	size_t room = 0;
	int rc = 0;

	merge_duplicates(h);
	free(h->place);
	h->place = NULL;
	h->n_places = 0;
	for (size_t i = 0; !rc && i < h->n_jobs; i++)
		rc = add_places(h, (uint32_t)i, &room);
	sorted_jobs = h->job;
	if (!rc && h->n_places)
		qsort(h->place, h->n_places, sizeof(*h->place), by_leaf);
	return rc;
}

/* ---- queries ---- */

const struct np_acct_job *np_acct_find(const struct np_acct *h, uint32_t id,
				       uint32_t task)
{
	const struct np_acct_job *found = NULL;

	for (size_t i = 0; i < h->n_jobs; i++) {
		const struct np_acct_job *j = &h->job[i];

		if (task == NP_ACCT_NO_TASK ? j->id == id :
					      j->array == id && j->task == task)
			if (!found || j->start > found->start)
				found = j;
	}
	return found;
}

double np_acct_job_end(const struct np_acct *h, const struct np_acct_job *j)
{
	return isnan(j->end) ? fmax(h->now, j->start) : j->end;
}

double np_acct_job_sec(const struct np_acct *h, const struct np_acct_job *j)
{
	return fmax(np_acct_job_end(h, j) - j->start - j->suspended_sec, 0);
}

int32_t np_acct_limit_class(const struct np_acct_job *j)
{
	double sec = j->limit_sec;

	return isnan(sec) ? -1 :
	       isinf(sec) || sec <= 0 ?
			    -2 :
			    (int32_t)floor(log2(sec / 60) / 2) + 100;
}

/*
 * Options of sbatch, salloc and srun that do not change what a job does, or that
 * the accounting has columns for.
 */
static const struct {
	const char *name;
	char letter; /* or '\0' */
	bool flag;   /* without a value */
} idle_options[] = {
	{ "account", 'A' },
	{ "begin", 'b' },
	{ "comment" },
	{ "deadline" },
	{ "dependency", 'd' },
	{ "error", 'e' },
	{ "exclude", 'x' },
	{ "job-name", 'J' },
	{ "mail-type" },
	{ "mail-user" },
	{ "netprofile" },
	{ "nodelist", 'w' },
	{ "nodes", 'N' },
	{ "output", 'o' },
	{ "partition", 'p' },
	{ "priority" },
	{ "qos", 'q' },
	{ "reservation" },
	{ "signal" },
	{ "switches" },
	{ "time", 't' },
	{ "time-min" },
	{ "hold", 'H', true },
	{ "no-requeue", '\0', true },
	{ "parsable", '\0', true },
	{ "quiet", 'Q', true },
	{ "requeue", '\0', true },
	{ "verbose", 'v', true },
	{ "wait", 'W', true },
};

/*
 * Is a word of the command line one of these options? *value: the next word is
 * the value of the option, of this one or another.
 */
static bool is_idle_option(const char *word, bool *value)
{
	static const char *const flags = "HhIkKOQsuvVWX";
	bool is_long = word[1] == '-';
	size_t len = strcspn(word, "=");

	*value = !is_long && !word[2] && !strchr(flags, word[1]);
	for (size_t i = 0; i < NP_ARRAY_SIZE(idle_options); i++) {
		const char *name = idle_options[i].name;

		if (!is_long ? word[1] != idle_options[i].letter :
			       strlen(name) != len - 2 ||
				       strncmp(word + 2, name, len - 2))
			continue;
		if (is_long)
			*value = !word[len] && !idle_options[i].flag;
		return true;
	}
	return false;
}

const char *np_acct_command(const struct np_acct *h,
			    const struct np_acct_job *j, char *buf, size_t len)
{
	char text[MAX_TEXT + 1], *rest, *word;
	bool options = true, value = false, idle = false;
	size_t used = 0;

	np_acct_text(&h->text, j->line, text, sizeof(text));
	buf[0] = '\0';
	/*
	 * The first word is sbatch. All words from the script's name on count.
	 */
	for (word = strtok_r(text, " ", &rest); word && used < len;
	     word = strtok_r(NULL, " ", &rest)) {
		if (value) {
			value = false; /* left out if its option is */
		} else if (used && options && word[0] == '-' && word[1]) {
			idle = is_idle_option(word, &value);
		} else {
			idle = false;
			options = !used;
		}
		if (idle)
			continue;
		used += (size_t)snprintf(buf + used, len - used, "%s%s",
					 used ? " " : "", word);
	}
	return buf;
}

/*
 * Does j have as many tasks as o, a completed run, as far as is known? The largest
 * step of a job that did not complete may not have started.
 */
static bool is_same_tasks(const struct np_acct_job *j,
			  const struct np_acct_job *o)
{
	if (!j->tasks || !o->tasks)
		return true;
	return j->state == NP_ACCT_COMPLETED ? j->tasks == o->tasks :
					       j->tasks <= o->tasks;
}

/* Does j have the size of o, and may they run as long? */
static bool is_same_size(const struct np_acct_job *j,
			 const struct np_acct_job *o)
{
	return j->user == o->user && j->n_nodes == o->n_nodes &&
	       j->cpus == o->cpus && is_same_tasks(j, o) &&
	       j->partition == o->partition &&
	       np_acct_limit_class(j) == np_acct_limit_class(o);
}

/* command: of the job that o is compared with; "": its name counts. */
static bool is_same_work(const struct np_acct *h, const struct np_acct_job *j,
			 const struct np_acct_job *o, const char *command)
{
	char other[MAX_TEXT + 1];

	if (!is_same_size(j, o))
		return false;
	if (!*command)
		return j->name == o->name;
	return j->dir == o->dir &&
	       (j->line == o->line ||
		!strcmp(command, np_acct_command(h, o, other, sizeof(other))));
}

/* Insert a job into a short array, newest first. */
static void insert_newest(const struct np_acct *h, uint32_t *out, size_t n,
			  uint32_t job)
{
	size_t i = n;

	for (; i && h->job[out[i - 1]].start < h->job[job].start; i--)
		out[i] = out[i - 1];
	out[i] = job;
}

size_t np_acct_comparable(const struct np_acct *h, const struct np_acct_job *j,
			  enum np_acct_same same, uint32_t *out, size_t max,
			  size_t *any)
{
	char command[MAX_TEXT + 1] = "";
	size_t n = 0;

	*any = 0;
	if (j->resized || (same == NP_ACCT_SAME_COMMAND &&
			   !*np_acct_command(h, j, command, sizeof(command))))
		return 0;
	for (size_t i = 0; i < h->n_jobs; i++) {
		const struct np_acct_job *o = &h->job[i];

		if (o == j || o->id == j->id || o->resized ||
		    o->state != NP_ACCT_COMPLETED ||
		    !is_same_work(h, j, o, command) ||
		    np_acct_job_sec(h, o) <= 0)
			continue;
		++*any;
		if (n == max && h->job[out[n - 1]].start >= o->start)
			continue;
		n -= n == max;
		insert_newest(h, out, n++, (uint32_t)i);
	}
	return n;
}

static uint32_t value_of(const struct np_acct_job *j, enum np_acct_trait trait)
{
	return trait == NP_ACCT_NODES ? j->n_nodes :
	       trait == NP_ACCT_CPUS  ? j->cpus :
	       trait == NP_ACCT_TASKS ? j->tasks :
					j->partition;
}

/* Is o a usual run of j's name, whose value is known? */
static bool is_usual(const struct np_acct_job *j, const struct np_acct_job *o,
		     enum np_acct_trait trait)
{
	return o->id != j->id && o->state == NP_ACCT_COMPLETED && !o->resized &&
	       o->user == j->user && o->name == j->name &&
	       (trait != NP_ACCT_TASKS || o->tasks);
}

/* The value that is voted for by more than half of the runs, if there is one. */
static uint32_t elect(const struct np_acct *h, const struct np_acct_job *j,
		      enum np_acct_trait trait)
{
	uint32_t value = value_of(j, trait);
	size_t votes = 0;

	for (size_t i = 0; i < h->n_jobs; i++) {
		uint32_t v = value_of(&h->job[i], trait);

		if (!is_usual(j, &h->job[i], trait))
			continue;
		if (!votes)
			value = v;
		if (v == value)
			votes++;
		else
			votes--;
	}
	return value;
}

#define LEAST_USUAL 3 /* runs */

bool np_acct_differs(const struct np_acct *h, const struct np_acct_job *j,
		     enum np_acct_trait trait, struct np_acct_usual *out)
{
	struct np_acct_usual u = { .own = value_of(j, trait),
				   .usual = elect(h, j, trait) };
	size_t own = 0;

	/* Its largest step may not have started; a value of 0 is not known. */
	if (trait == NP_ACCT_TASKS &&
	    (!u.own || (j->state != NP_ACCT_COMPLETED && u.own < u.usual)))
		return false;
	for (size_t i = 0; i < h->n_jobs; i++) {
		if (!is_usual(j, &h->job[i], trait))
			continue;
		u.of++;
		u.runs += value_of(&h->job[i], trait) == u.usual;
		own += value_of(&h->job[i], trait) == u.own;
	}
	if (u.of < LEAST_USUAL || 2 * u.runs <= u.of || 10 * own >= u.of)
		return false;
	*out = u;
	return true;
}

/* Does a job have one of these nodes? own: bit set. */
static bool shares_node(const struct np_acct *h, const uint64_t *own,
			const struct np_acct_job *o)
{
	for (size_t i = 0; i < o->n_listed; i++)
		if (np_bits_test(own, h->node[o->first_node + i]))
			return true;
	return false;
}

/* Node-seconds that a neighbour spent near the job. */
static double weight(const struct np_acct_neighbour *b)
{
	return b->nodes * (b->to - b->from);
}

/* Descending order of node-seconds. */
static int by_weight(const void *a, const void *b)
{
	double x = weight(a), y = weight(b);

	return (x < y) - (x > y);
}

/* Index of the first place of a leaf switch, by bisection. */
static size_t first_place(const struct np_acct *h, uint32_t leaf)
{
	size_t lo = 0, hi = h->n_places;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (h->place[mid].leaf < leaf)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

struct neighbours {
	struct np_acct_neighbour *list;
	size_t n, room;
	uint64_t *own; /* bit set of the job's nodes */
};

/*
 * Add a neighbour's part on one leaf switch, if the two jobs overlap in time.
 */
static int add_neighbour(const struct np_acct *h, const struct np_acct_job *j,
			 const struct np_acct_place *p, struct neighbours *to)
{
	const struct np_acct_job *o = &h->job[p->job];
	double from = fmax(j->start, o->start);
	double end = fmin(np_acct_job_end(h, j), np_acct_job_end(h, o));

	if (o->id == j->id || end <= from)
		return 0;
	for (size_t i = 0; i < to->n; i++)
		if (to->list[i].job == p->job) {
			to->list[i].nodes += p->nodes;
			return 0;
		}
	if (np_array_reserve(&to->list, &to->room, to->n + 1,
			     sizeof(*to->list)))
		return -ENOMEM;
	to->list[to->n++] = (struct np_acct_neighbour){
		.job = p->job,
		.leaf = p->leaf,
		.nodes = p->nodes,
		.from = from,
		.to = end,
		.same_node = shares_node(h, to->own, o),
		.rate = NAN,
		.cost_sec = NAN,
	};
	return 0;
}

int np_acct_neighbours(const struct np_acct *h, const struct np_acct_job *j,
		       struct np_acct_neighbour **out, size_t *n)
{
	struct np_acct_place *own = calloc(j->n_listed + 1, sizeof(*own));
	size_t n_own = own ? np_acct_leaves(h, j, own, j->n_listed) : 0;
	struct neighbours to = {
		.own = calloc(np_bits_words(h->node_name.n) + 1,
			      sizeof(*to.own)),
	};
	int rc = own && to.own ? 0 : -ENOMEM;

	for (size_t i = 0; !rc && i < j->n_listed; i++)
		np_bits_set(to.own, h->node[j->first_node + i]);
	for (size_t i = 0; !rc && i < n_own; i++)
		for (size_t k = first_place(h, own[i].leaf);
		     !rc && k < h->n_places &&
		     h->place[k].leaf == own[i].leaf &&
		     h->job[h->place[k].job].start < np_acct_job_end(h, j);
		     k++)
			rc = add_neighbour(h, j, &h->place[k], &to);
	free(own);
	free(to.own);
	if (rc) {
		free(to.list);
		return rc;
	}
	if (to.n)
		qsort(to.list, to.n, sizeof(*to.list), by_weight);
	*out = to.list;
	*n = to.n;
	return 0;
}

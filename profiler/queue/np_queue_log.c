#include "np_queue_log.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "np_read.h"
#include "np_sacct.h"
#include "np_text.h"

#define UTF8_MARK "\xef\xbb\xbf" /* byte-order mark */
#define MAX_SEC (INT64_C(1) << 40) /* latest date */
#define MAX_RUN_SEC (1 << 30)
#define CANCELLED_LIMIT_SEC 3600 /* limit of a cancelled job without one */
#define OVER_LIMIT_SEC 120 /* beyond its limit, before Slurm ends a job */
#define ARRAY_SPLIT_SEC 1 /* until the tasks of an array are eligible */

const char *const np_queue_issue_text[NP_QUEUE_N_ISSUES] = {
	[NP_QUEUE_BAD_LINE] = "Lines that could not be read",
	[NP_QUEUE_NEVER_RAN] = "Jobs that never ran, ignored",
	[NP_QUEUE_RUNNING] = "Jobs still running, replayed as far as they ran",
	[NP_QUEUE_UNSORTED] = "Jobs out of order in the file, sorted",
	[NP_QUEUE_NO_SIZE] = "Jobs without nodes or processors, ignored",
	[NP_QUEUE_NO_LIMIT] = "Jobs without a time limit, given twice what "
			      "they ran",
	[NP_QUEUE_OVER_LIMIT] = "Jobs that ran beyond their limit, cut to it",
	[NP_QUEUE_RESERVATION] = "Jobs in a reservation, replayed as any other",
	[NP_QUEUE_STEP] = "Lines of job steps, ignored",
	[NP_QUEUE_SEVERAL] = "Jobs that name several partitions, put into the "
			     "first",
	[NP_QUEUE_LOST_PARENT] = "Jobs that waited for one that the log does "
				 "not have",
};

/* Columns of sacct that are used. */
enum column { C_JOBID, C_USER, C_ACCOUNT, C_NAME, C_PARTITION, C_SUBMIT,
	      C_ELIGIBLE, C_START, C_END, C_ELAPSED, C_ELAPSED_RAW,
	      C_TIMELIMIT, C_TIMELIMIT_RAW, C_NNODES, C_ALLOC_NODES,
	      C_REQ_NODES, C_NCPUS, C_ALLOC_CPUS, C_REQ_CPUS, C_STATE,
	      C_PRIORITY, C_SUBMIT_LINE, C_RESERVATION, N_COLUMNS };
static const char *const columns[N_COLUMNS] = {
	"JobID", "User", "Account", "JobName", "Partition", "Submit",
	"Eligible", "Start", "End", "Elapsed", "ElapsedRaw", "Timelimit",
	"TimelimitRaw", "NNodes", "AllocNodes", "ReqNodes", "NCPUS",
	"AllocCPUS", "ReqCPUS", "State", "Priority", "SubmitLine",
	"Reservation",
};

/* A log while it is read. */
struct reader {
	struct np_queue_log *q;
	const char *source; /* its name, for messages */
	const char *delimiter; /* between the fields of sacct */
	size_t line; /* number of the current line */
	size_t capacity; /* of q->job */
	enum { UNDECIDED, SWF, SACCT } format;
	struct np_sacct_head head; /* of sacct, by enum column */
	int64_t last_submit_sec; /* of the job before */
	/* About the first bad lines, for warnings if the log can be used. */
	struct np_err bad[NP_QUEUE_MAX_WARNINGS];
	size_t n_bad;
	struct np_err *err;
};

const char *np_queue_text(const struct np_queue_log *q, uint32_t number,
			  char *buf, size_t len)
{
	const struct np_index *t = &q->text;
	size_t from, n;

	buf[0] = '\0';
	if (number >= t->n)
		return buf;
	from = number ? t->end[number - 1] : 0;
	n = t->end[number] - from;
	if (n > len - 1)
		n = len - 1;
	memcpy(buf, t->bytes + from, n);
	buf[n] = '\0';
	return buf;
}

/* Count a line that cannot be used, and keep the first ones. Returns 0. */
__attribute__((format(printf, 2, 3)))
static int bad_line(struct reader *r, const char *fmt, ...)
{
	char why[NP_ERR_LEN];
	va_list ap;

	r->q->issues[NP_QUEUE_BAD_LINE]++;
	if (r->n_bad == NP_QUEUE_MAX_WARNINGS)
		return 0;
	va_start(ap, fmt);
	np_text_print(why, sizeof(why), fmt, ap);
	va_end(ap);
	np_errf(&r->bad[r->n_bad++], 0, "%s:%zu: %s", r->source, r->line, why);
	return 0;
}

/* The number of a text in q->text, or NP_QUEUE_NONE for "". */
static int intern(struct reader *r, const char *text, uint32_t *out)
{
	*out = NP_QUEUE_NONE;
	if (!*text)
		return 0;
	*out = np_index_add(&r->q->text, text, strlen(text));
	return *out == NP_QUEUE_NONE ? -ENOMEM : 0;
}

/* Fill in a missing time limit, or cut a run time that exceeds it. */
static void settle_limit(struct np_queue_log *q, struct np_queue_job *j)
{
	if (!j->limit_sec) {
		q->issues[NP_QUEUE_NO_LIMIT] += !j->cancel_sec;
		/* A slowed job must not hit a limit that it did not have. */
		j->limit_sec = j->cancel_sec ? CANCELLED_LIMIT_SEC :
			j->run_sec < MAX_RUN_SEC / 2 ? 2 * j->run_sec :
						       MAX_RUN_SEC;
	} else if (j->run_sec > j->limit_sec) {
		/* Slurm checks limits now and then, and allows a grace time. */
		q->issues[NP_QUEUE_OVER_LIMIT] +=
			j->run_sec - j->limit_sec > OVER_LIMIT_SEC;
		j->run_sec = j->limit_sec;
	}
}

/* Add a job that has a size. 0, -E2BIG or -ENOMEM. */
static int add_job(struct reader *r, struct np_queue_job *j)
{
	struct np_queue_log *q = r->q;

	if (!j->nodes && !j->cpus) {
		q->issues[NP_QUEUE_NO_SIZE]++;
		return 0;
	}
	settle_limit(q, j);
	/* sacct lists the tasks of arrays last. */
	if (j->task == NP_QUEUE_NONE) {
		q->issues[NP_QUEUE_UNSORTED] +=
			j->submit_sec < r->last_submit_sec;
		r->last_submit_sec = j->submit_sec;
	}
	if (q->n >= NP_QUEUE_MAX_JOBS)
		return np_errf(r->err, -E2BIG, "%s: more than %d jobs",
			       r->source, NP_QUEUE_MAX_JOBS);
	if (np_array_room(&q->job, &r->capacity, q->n + 1, sizeof(*j)))
		return -ENOMEM;
	q->job[q->n++] = *j;
	return 0;
}

/* ---- Standard Workload Format ---- */

/* "; MaxProcs: 128"; "-1" is unknown. */
static void read_swf_header(struct reader *r, const char *line)
{
	const struct {
		const char *key;
		uint32_t *n;
	} of[] = {
		{ "MaxNodes:", &r->q->max_nodes },
		{ "MaxProcs:", &r->q->max_procs },
	};

	line += strspn(line, "; \t");
	for (size_t i = 0; i < NP_ARRAY_SIZE(of); i++) {
		size_t len = strlen(of[i].key);
		unsigned n;

		if (strncmp(line, of[i].key, len))
			continue;
		line += len + strspn(line + len, " \t");
		if (isdigit((unsigned char)*line) &&
		    sscanf(line, "%9u", &n) == 1)
			*of[i].n = n;
		return;
	}
}

/* As intern(), of a name that SWF only numbers: "user7". */
static int intern_number(struct reader *r, const char *prefix, double number,
			 uint32_t *out)
{
	char text[48];

	*out = NP_QUEUE_NONE;
	if (number < 0)
		return 0;
	snprintf(text, sizeof(text), "%s%.0f", prefix, number);
	return intern(r, text, out);
}

/* A number of seconds or processors within limits; 0: unknown. */
static uint32_t clamp_positive(double v)
{
	return v > 0 ? (uint32_t)(v < MAX_RUN_SEC ? v : MAX_RUN_SEC) : 0;
}

/* The fields of a line that are used. */
enum swf { S_ID, S_SUBMIT, S_WAIT, S_RUN, S_PROCS, S_REQ_PROCS = 7, S_REQ_SEC,
	   S_STATUS = 10, S_USER, S_GROUP, S_PROGRAM, S_QUEUE, S_AFTER = 16,
	   S_THINK, SWF_FIELDS };
#define SWF_CANCELLED 5 /* value of S_STATUS */

/* Read the numbers of a line. False: a bad line, which was counted. */
static bool read_swf_fields(struct reader *r, const char *line,
			    double v[SWF_FIELDS])
{
	const char *at = line;
	char *end;

	for (int i = 0; i < SWF_FIELDS; i++, at = end) {
		v[i] = strtod(at, &end);
		if (end == at || !(v[i] >= -1 && v[i] <= (double)MAX_SEC)) {
			size_t len;

			at += strspn(at, " \t");
			len = strcspn(at, " \t\n");
			bad_line(r, "field %d: \"%.*s\", expected a number of "
				 "at least -1", i + 1,
				 len > 40 ? 40 : (int)len, at);
			return false;
		}
	}
	if (at[strspn(at, " \t\r")])
		bad_line(r, "more than %d fields", SWF_FIELDS);
	else if (v[S_SUBMIT] < 0 || v[S_ID] < 0)
		bad_line(r, "job %.0f submitted at %.0f s, expected 0 or more",
			 v[S_ID], v[S_SUBMIT]);
	else
		return true;
	return false;
}

/* Intern what SWF numbers: user, group, program and queue. */
static int read_swf_names(struct reader *r, const double v[SWF_FIELDS],
			  struct np_queue_job *j)
{
	int rc = intern_number(r, "user", v[S_USER], &j->user);

	j->command = NP_QUEUE_NONE;
	if (!rc)
		rc = intern_number(r, "group", v[S_GROUP], &j->account);
	if (!rc)
		rc = intern_number(r, "program", v[S_PROGRAM], &j->name);
	return rc ? rc : intern_number(r, "queue", v[S_QUEUE], &j->partition);
}

/* One job of the Standard Workload Format. */
static int read_swf_line(struct reader *r, const char *line)
{
	double v[SWF_FIELDS];
	struct np_queue_job j = { .task = NP_QUEUE_NONE,
				  .after = NP_QUEUE_NONE };
	int rc;

	if (!read_swf_fields(r, line, v))
		return 0;
	j.id = (uint64_t)v[S_ID];
	j.submit_sec = (int64_t)v[S_SUBMIT];
	j.wait_sec = v[S_WAIT] < 0 ? -1 : (int64_t)v[S_WAIT];
	j.run_sec = clamp_positive(v[S_RUN]);
	j.limit_sec = clamp_positive(v[S_REQ_SEC]);
	j.cpus = clamp_positive(v[S_PROCS] > 0 ? v[S_PROCS] : v[S_REQ_PROCS]);
	j.think_sec = clamp_positive(v[S_THINK]);
	if (v[S_AFTER] > 0 && v[S_AFTER] < (double)j.id &&
	    v[S_AFTER] < (double)NP_QUEUE_NONE)
		j.after = (uint32_t)v[S_AFTER];
	if (v[S_STATUS] == SWF_CANCELLED && v[S_RUN] <= 0 && v[S_WAIT] >= 0)
		j.cancel_sec = j.submit_sec + j.wait_sec + !j.wait_sec;
	else if (v[S_RUN] < 0) {
		r->q->issues[NP_QUEUE_NEVER_RAN]++;
		return 0;
	}
	if (!j.run_sec)
		j.run_sec = 1;
	rc = read_swf_names(r, v, &j);
	return rc ? rc : add_job(r, &j);
}

/* ---- sacct ---- */

/* Find the columns of sacct; some of them are required. */
static int read_head(struct reader *r, char *line)
{
	const bool *has = r->head.has;

	np_sacct_read_head(line, r->delimiter, columns, N_COLUMNS, &r->head);
	strcpy(r->q->unused, r->head.unused);
	r->q->priorities = has[C_PRIORITY];
	if (r->head.twice != NP_SACCT_NONE)
		return np_errf(r->err, -EINVAL, "%s:%zu: column %s given twice",
			       r->source, r->line, columns[r->head.twice]);
	if (has[C_JOBID] && has[C_SUBMIT] &&
	    (has[C_ELAPSED] || has[C_ELAPSED_RAW] ||
	     (has[C_START] && has[C_END])))
		return 0;
	return np_errf(r->err, -EINVAL, "%s:%zu: expected the columns of sacct "
		       "--parsable2, with JobID, Submit, Elapsed, NNodes and "
		       "NCPUS, or a Standard Workload Format", r->source,
		       r->line);
}

/*
 * Seconds, or -1: none.  Dates are read as UTC in any time zone: only
 * differences matter, and a log is replayed alike everywhere.
 */
static int64_t parse_date(const char *text)
{
	double sec;

	return np_sacct_date(text, true, &sec) && sec >= 0 ? (int64_t)sec : -1;
}

/* Seconds, or -1: none.  A number without a colon would be in minutes. */
static int64_t parse_span(const char *text)
{
	double sec;

	return strchr(text, ':') && !np_sacct_duration(text, &sec) ?
	       (int64_t)sec : -1;
}

/* The number at the beginning of a text; 0: none. */
static uint32_t parse_number(const char *text)
{
	unsigned long long n;

	if (!isdigit((unsigned char)*text))
		return 0;
	n = strtoull(text, NULL, 10);
	return n < NP_QUEUE_NONE ? (uint32_t)n : 0;
}

/*
 * The first known number of three columns that mean nearly the same; 0: none.
 * False: a bad line, which was counted.
 */
static bool first_count(struct reader *r, char *const *field,
			const enum column of[3], uint32_t *n)
{
	*n = 0;
	for (size_t i = 0; !*n && i < 3; i++) {
		const char *text = field[of[i]];

		if (!*text || !np_sacct_count(text, n))
			continue;
		bad_line(r, "%s \"%.40s\", expected a whole number",
			 columns[of[i]], text);
		return false;
	}
	return true;
}

/* Nodes and processors; false: a bad line, which was counted. */
static bool read_size(struct reader *r, char *const *field,
		      struct np_queue_job *j)
{
	static const enum column nodes[] = { C_NNODES, C_ALLOC_NODES,
					     C_REQ_NODES };
	static const enum column cpus[] = { C_ALLOC_CPUS, C_NCPUS,
					    C_REQ_CPUS };

	return first_count(r, field, nodes, &j->nodes) &&
	       first_count(r, field, cpus, &j->cpus);
}

static bool state_is(const char *state, const char *name)
{
	return !strncmp(state, name, strlen(name));
}

/* Run time by the columns that exist; -1: unknown. */
static int64_t run_sec_of(char *const *field, int64_t start, int64_t end)
{
	int64_t sec = -1;

	if (isdigit((unsigned char)*field[C_ELAPSED_RAW]))
		sec = parse_number(field[C_ELAPSED_RAW]);
	if (sec < 0 && *field[C_ELAPSED])
		sec = parse_span(field[C_ELAPSED]);
	if (sec < 0 && start >= 0 && end >= start)
		sec = end - start;
	return sec < MAX_RUN_SEC ? sec : MAX_RUN_SEC;
}

/* Time limit in seconds; 0: unknown or unlimited. */
static uint32_t limit_of(char *const *field)
{
	int64_t sec = 60 * (int64_t)parse_number(field[C_TIMELIMIT_RAW]);

	if (!sec)
		sec = parse_span(field[C_TIMELIMIT]);
	return sec <= 0 ? 0 : sec < MAX_RUN_SEC ? (uint32_t)sec : MAX_RUN_SEC;
}

/*
 * The job that this one was submitted to wait for, by the options of sbatch:
 * "-d afterok:12:13_4", "--dependency=afterany:12".  Of several jobs, the one
 * submitted last.  NP_QUEUE_NONE: none.
 */
static uint32_t dependency_of(const char *submit_line)
{
	const char *p = strstr(submit_line, " --dependency");
	uint32_t last = NP_QUEUE_NONE;

	p = p ? p + strlen(" --dependency") : strstr(submit_line, " -d");
	if (!p)
		return NP_QUEUE_NONE;
	p = strncmp(p, " -d", 3) ? p : p + 3;
	p += strspn(p, "= ");
	if (strncmp(p, "after", 5))
		return NP_QUEUE_NONE;
	for (; *p && *p != ' '; p++) {
		uint32_t id = *p == ':' ? parse_number(p + 1) : 0;

		if (id && (last == NP_QUEUE_NONE || id > last))
			last = id;
	}
	return last;
}

/*
 * When the job was submitted; or, if that is later and is not due to a job that
 * it waited for, when it became eligible: its user had asked for a later start
 * (--begin), or held it.
 */
static int64_t submit_of(char *const *field, uint32_t after)
{
	int64_t submit = parse_date(field[C_SUBMIT]);
	int64_t eligible = parse_date(field[C_ELIGIBLE]);

	return submit >= 0 && after == NP_QUEUE_NONE &&
		eligible > submit + ARRAY_SPLIT_SEC ? eligible : submit;
}

/* Set how long it ran, or when it was cancelled.  False: neither. */
static bool read_times(struct reader *r, char *const *field,
		       struct np_queue_job *j)
{
	const char *state = field[C_STATE];
	int64_t start = parse_date(field[C_START]);
	int64_t end = parse_date(field[C_END]);
	int64_t run = run_sec_of(field, start, end);

	if (start >= j->submit_sec)
		j->wait_sec = start - j->submit_sec;
	j->limit_sec = limit_of(field);
	if (run > 0 && !state_is(state, "PENDING")) {
		j->run_sec = (uint32_t)run;
		r->q->issues[NP_QUEUE_RUNNING] += state_is(state, "RUNNING");
		return true;
	}
	if (state_is(state, "CANCELLED") && end > j->submit_sec) {
		j->cancel_sec = end;
		j->run_sec = 1;
		return true;
	}
	if (run == 0 && start >= 0 && end >= start &&
	    !state_is(state, "CANCELLED") && !state_is(state, "PENDING")) {
		j->run_sec = 1;
		return true;
	}
	r->q->issues[NP_QUEUE_NEVER_RAN]++;
	return false;
}

/* Intern user, account, job name, command line and partition. */
static int read_names(struct reader *r, char **field, struct np_queue_job *j)
{
	char *comma = strchr(field[C_PARTITION], ',');
	int rc = intern(r, field[C_USER], &j->user);

	if (comma) {
		*comma = '\0';
		r->q->issues[NP_QUEUE_SEVERAL]++;
	}
	if (!rc)
		rc = intern(r, field[C_ACCOUNT], &j->account);
	if (!rc)
		rc = intern(r, field[C_NAME], &j->name);
	if (!rc)
		rc = intern(r, field[C_SUBMIT_LINE], &j->command);
	return rc ? rc : intern(r, field[C_PARTITION], &j->partition);
}

/*
 * Does a line with too few fields belong to the row before it?  A command line
 * may contain line breaks, which sacct prints as they are.
 */
static bool is_continued(const struct reader *r, const char *line)
{
	return r->line > 2 && !isdigit((unsigned char)*line) &&
		r->head.column[r->head.n - 1] == C_SUBMIT_LINE;
}

/*
 * May a row have more fields than columns?  A text that a user chose may have
 * the delimiter in it.  Unless it is in the last column, the fields behind it
 * would be taken for others.
 */
static bool may_have_more(const struct reader *r)
{
	size_t last = r->head.column[r->head.n - 1];

	return r->head.more || last == C_SUBMIT_LINE || last == C_NAME ||
		(last == NP_SACCT_NONE && !r->head.has[C_SUBMIT_LINE] &&
		 !r->head.has[C_NAME]);
}

/* One row of sacct. */
static int read_sacct_line(struct reader *r, char *line)
{
	struct np_queue_job j = { .task = NP_QUEUE_NONE, .wait_sec = -1 };
	char *field[N_COLUMNS], *end;
	size_t n = np_sacct_read_row(line, r->delimiter, &r->head, field,
				     N_COLUMNS);
	int rc;

	if (n < r->head.n && is_continued(r, line))
		return 0;
	if (n < r->head.n || (n > r->head.n && !may_have_more(r)))
		return bad_line(r, "%zu columns, expected %zu", n, r->head.n);
	if (strchr(field[C_JOBID], '.')) {
		r->q->issues[NP_QUEUE_STEP]++;
		return 0;
	}
	/* "12", "12_3", "12_[4-9]" or "12+1" */
	j.id = parse_number(field[C_JOBID]);
	end = field[C_JOBID] + strspn(field[C_JOBID], "0123456789");
	if (*end && !strchr("_+", *end))
		j.id = 0;
	if (*end == '_' && isdigit((unsigned char)end[1]))
		j.task = parse_number(end + 1);
	j.after = dependency_of(field[C_SUBMIT_LINE]);
	j.submit_sec = submit_of(field, j.after);
	if (!j.id || j.submit_sec < 0)
		return bad_line(r, "job \"%.40s\" submitted at \"%.40s\", "
				"expected a number and a time",
				field[C_JOBID], field[C_SUBMIT]);
	if (!read_size(r, field, &j))
		return 0;
	j.priority = parse_number(field[C_PRIORITY]);
	if (!read_times(r, field, &j))
		return 0;
	r->q->issues[NP_QUEUE_RESERVATION] += *field[C_RESERVATION] != '\0';
	rc = read_names(r, field, &j);
	return rc ? rc : add_job(r, &j);
}

/* ---- the whole log ---- */

/* False: the line has control characters. */
static bool is_text(const char *line)
{
	for (const char *p = line; *p; p++)
		if ((unsigned char)*p < ' ' && *p != '\t' && *p != '\r')
			return false;
	return true;
}

/* Tell the format by the first line with text.  0 or -EINVAL with err. */
static int find_format(struct reader *r, const char *text)
{
	if (*text == ';' || strspn(text, "0123456789-"))
		r->format = SWF;
	if (*text != ';' && strstr(text, r->delimiter))
		r->format = SACCT;
	return r->format != UNDECIDED ? 0 :
		np_errf(r->err, -EINVAL, "%s:%zu: \"%.40s\": expected the "
			"columns of sacct --parsable2 or a Standard Workload "
			"Format", r->source, r->line, text);
}

/* One line, with or without an end of line. */
static int read_line(struct reader *r, char *line)
{
	bool first = r->format == UNDECIDED;
	size_t len = strlen(line);
	char *text;
	int rc;

	r->line++;
	while (len && (line[len - 1] == '\n' || line[len - 1] == '\r'))
		line[--len] = '\0';
	if (r->line == 1 && !strncmp(line, UTF8_MARK, 3))
		line += 3;
	if (!is_text(line))
		return first ?
			np_errf(r->err, -EINVAL, "%s:%zu: not text in UTF-8 or "
				"ASCII", r->source, r->line) :
			bad_line(r, "control characters, expected text");
	text = line + strspn(line, " \t");
	if (!*text)
		return 0;
	r->q->lines++;
	rc = first ? find_format(r, text) : 0;
	if (rc)
		return rc;
	if (r->format == SACCT)
		return first ? read_head(r, line) : read_sacct_line(r, line);
	if (*text != ';')
		return read_swf_line(r, line);
	read_swf_header(r, text);
	return 0;
}

static int by_submission(const void *a, const void *b)
{
	const struct np_queue_job *x = a, *y = b;

	if (x->submit_sec != y->submit_sec)
		return x->submit_sec < y->submit_sec ? -1 : 1;
	if (x->id != y->id)
		return x->id < y->id ? -1 : 1;
	return x->task < y->task ? -1 : x->task > y->task;
}

/* When a job ended in the log; its submission if its start is not known. */
static int64_t end_of(const struct np_queue_job *j)
{
	return j->wait_sec < 0 ? j->submit_sec :
				 j->submit_sec + j->wait_sec + j->run_sec;
}

/*
 * By id; of the tasks of an array, the one that ended last comes first, and of
 * these the last one.
 */
static int by_id(const void *a, const void *b)
{
	const struct np_queue_job *x = *(struct np_queue_job *const *)a;
	const struct np_queue_job *y = *(struct np_queue_job *const *)b;

	if (x->id != y->id)
		return x->id < y->id ? -1 : 1;
	if (end_of(x) != end_of(y))
		return end_of(x) > end_of(y) ? -1 : 1;
	return x->task > y->task ? -1 : x->task < y->task;
}

/* The first of the jobs with this id in that order, or NULL. */
static const struct np_queue_job *
find_job(struct np_queue_job *const *of, size_t n, uint64_t id)
{
	size_t low = 0, high = n;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (of[mid]->id < id)
			low = mid + 1;
		else
			high = mid;
	}
	return low < n && of[low]->id == id ? of[low] : NULL;
}

static void sort_by_id(const struct np_queue_log *q, struct np_queue_job **of)
{
	for (size_t i = 0; i < q->n; i++)
		of[i] = &q->job[i];
	qsort(of, q->n, sizeof(*of), by_id);
}

/*
 * A job may wait for one with a later submission: one that was requeued, or
 * became eligible later.  It counts as submitted at the same time, which does
 * not change when it can start.
 */
static void submit_after_parents(const struct np_queue_log *q,
				 struct np_queue_job *const *of)
{
	for (size_t i = 0; i < q->n; i++) {
		struct np_queue_job *j = of[i];
		const struct np_queue_job *parent =
			j->after == NP_QUEUE_NONE ? NULL :
						    find_job(of, q->n, j->after);

		int64_t later_sec = parent ?
			parent->submit_sec - j->submit_sec : 0;

		/* It may have started before the other one was requeued. */
		if (later_sec <= 0 ||
		    (j->wait_sec >= 0 && j->wait_sec < later_sec))
			continue;
		if (j->wait_sec >= 0)
			j->wait_sec -= later_sec;
		j->submit_sec = parent->submit_sec;
	}
}

/* Turn the ids in job.after into indices of jobs that come before. */
static void find_parents(struct np_queue_log *q, struct np_queue_job *const *of)
{
	for (size_t i = 0; i < q->n; i++) {
		const struct np_queue_job *found;

		if (q->job[i].after == NP_QUEUE_NONE)
			continue;
		found = find_job(of, q->n, q->job[i].after);
		q->job[i].after = found && found < &q->job[i] ?
			(uint32_t)(found - q->job) : NP_QUEUE_NONE;
		q->issues[NP_QUEUE_LOST_PARENT] += q->job[i].after ==
						NP_QUEUE_NONE;
	}
}

/* Refuse a file whose first bytes are those of another kind (np_read.h). */
static int check_kind(const struct reader *r, const char *text, size_t len)
{
	size_t mark = strncmp(text, UTF8_MARK, 3) ? 0 : 3;

	return np_kind_check(text + mark, len - mark, NP_KIND_QUEUE, r->source,
			     r->err);
}

/* Read all lines, from a plain or a gzip file. */
static int read_lines(struct reader *r, gzFile f)
{
	char *line = malloc(NP_QUEUE_LINE);
	int rc = line ? 0 : -ENOMEM, error = Z_OK;

	while (!rc && gzgets(f, line, NP_QUEUE_LINE)) {
		size_t len = strlen(line);

		if (!r->line && check_kind(r, line, len)) {
			rc = -EINVAL;
			break;
		}
		/* A line ends with an end of line, or the file does. */
		if (!len || (len < NP_QUEUE_LINE - 1 &&
			     line[len - 1] != '\n' && !gzeof(f))) {
			rc = np_errf(r->err, -EINVAL, "%s:%zu: a NUL "
				     "character, expected text", r->source,
				     r->line + 1);
			break;
		}
		/* A full buffer without an end of line: the line is longer. */
		if (len == NP_QUEUE_LINE - 1 && line[len - 1] != '\n')
			rc = np_errf(r->err, -EINVAL, "%s:%zu: a line of more "
				     "than %d bytes", r->source, r->line + 1,
				     NP_QUEUE_LINE - 2);
		else
			rc = read_line(r, line);
	}
	free(line);
	if (rc)
		return rc;
	gzerror(f, &error);
	return error == Z_OK || error == Z_STREAM_END ? 0 :
		np_errf(r->err, -EIO, "%s: cannot be read to its end, or is no "
			"valid gzip file", r->source);
}

/* Sort the jobs by submission and resolve their dependencies. */
static int finish_log(struct reader *r)
{
	struct np_queue_log *q = r->q;
	struct np_queue_job **of;

	if (!q->n && r->n_bad)
		return np_errf(r->err, -EINVAL, "%.*s; none of %zu lines has a "
			       "job that could be replayed", NP_ERR_LEN - 70,
			       r->bad[0].text, q->lines);
	if (!q->n)
		return np_errf(r->err, -EINVAL, "%s: no job that could be "
			       "replayed among %zu lines", r->source, q->lines);
	of = malloc(q->n * sizeof(*of));
	if (!of)
		return -ENOMEM;
	sort_by_id(q, of);
	if (r->format == SACCT)
		submit_after_parents(q, of);
	qsort(q->job, q->n, sizeof(*q->job), by_submission);
	sort_by_id(q, of);
	find_parents(q, of);
	free(of);
	return 0;
}

int np_queue_log_read_fd(int fd, const char *source, const char *delimiter,
			 np_queue_warn_f *warn, void *arg,
			 struct np_queue_log *out, struct np_err *err)
{
	struct np_queue_log q = { .n = 0 };
	struct reader r = { .q = &q, .source = source, .delimiter = delimiter,
			    .err = err };
	gzFile f = gzdopen(fd, "rb");
	int rc;

	if (!f) {
		close(fd);
		return np_errf(err, -ENOMEM, "%s: out of memory", source);
	}
	rc = read_lines(&r, f);
	gzclose(f);
	if (!rc)
		rc = finish_log(&r);
	if (rc == -ENOMEM)
		np_errf(err, rc, "%s: out of memory", source);
	if (rc) {
		np_queue_log_free(&q);
		return rc;
	}
	for (size_t i = 0; warn && i < r.n_bad; i++)
		warn(r.bad[i].text, arg);
	*out = q;
	return 0;
}

int np_queue_log_read(const char *path, np_queue_warn_f *warn, void *arg,
		      struct np_queue_log *out, struct np_err *err)
{
	bool is_stdin = !strcmp(path, "-");
	int fd = is_stdin ? dup(STDIN_FILENO) : np_read_stream(path, err);
	struct stat st;

	if (fd < 0)
		return is_stdin ? np_errf(err, -errno, "%s: %s", path,
					  strerror(errno)) : fd;
	if (!fstat(fd, &st) && S_ISDIR(st.st_mode)) {
		close(fd);
		return np_errf(err, -EISDIR, "%s: %s", path,
			       np_read_irregular(&st));
	}
	return np_queue_log_read_fd(fd, path, "|", warn, arg, out, err);
}

void np_queue_log_free(struct np_queue_log *q)
{
	free(q->job);
	np_index_free(&q->text);
	*q = (struct np_queue_log){ .n = 0 };
}

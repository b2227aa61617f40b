/*
 * Reading a log of jobs. The format is found out from the first line with text;
 * each further line of a job then adds one entry to the log. When all lines are
 * read, the jobs are sorted by submission and their dependencies, which logs
 * give as ids, become indices.
 *
 * Readers of a line return 0 if the line was used, ignored or counted as bad,
 * and -errno if reading cannot go on.
 */
#include "np_queue_log.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "np_option.h"
#include "np_read.h"
#include "np_sacct.h"
#include "np_text.h"

#define UTF8_MARK "\xef\xbb\xbf"   /* byte-order mark */
#define MAX_SEC (INT64_C(1) << 40) /* latest date */
#define MAX_RUN_SEC (1 << 30)
#define MAX_SIZE 999999999	 /* nodes or processors of a cluster */
#define CANCELLED_LIMIT_SEC 3600 /* limit of a cancelled job without one */
#define OVER_LIMIT_SEC 120	 /* beyond its limit, before Slurm ends a job */
#define ARRAY_SPLIT_SEC 1	 /* until the tasks of an array are eligible */

const char *const np_queue_issue_text[NP_QUEUE_N_ISSUES] = {
	[NP_QUEUE_BAD_LINE] = "Lines that could not be read",
	[NP_QUEUE_NEVER_RAN] = "Jobs that never ran, ignored",
	[NP_QUEUE_RUNNING] = "Jobs still running, replayed as far as they ran",
	[NP_QUEUE_UNSORTED] = "Jobs out of order in the file, sorted",
	[NP_QUEUE_NO_SIZE] = "Jobs without nodes or processors, ignored",
	[NP_QUEUE_NO_LIMIT] =
		"Jobs without a time limit, given twice what they ran",
	[NP_QUEUE_OVER_LIMIT] = "Jobs that ran beyond their limit, cut to it",
	[NP_QUEUE_RESERVATION] = "Jobs in a reservation, replayed as any other",
	[NP_QUEUE_STEP] = "Lines of job steps, ignored",
	[NP_QUEUE_SEVERAL] =
		"Jobs that name several partitions, put into the first",
	[NP_QUEUE_LOST_PARENT] =
		"Jobs that waited for one not before them in the log",
};

/* Columns of sacct that are used. */
enum column {
	C_JOBID,
	C_USER,
	C_ACCOUNT,
	C_NAME,
	C_PARTITION,
	C_SUBMIT,
	C_ELIGIBLE,
	C_START,
	C_END,
	C_ELAPSED,
	C_ELAPSED_RAW,
	C_TIMELIMIT,
	C_TIMELIMIT_RAW,
	C_NNODES,
	C_ALLOC_NODES,
	C_REQ_NODES,
	C_NCPUS,
	C_ALLOC_CPUS,
	C_REQ_CPUS,
	C_STATE,
	C_PRIORITY,
	C_SUBMIT_LINE,
	C_RESERVATION,
	N_COLUMNS
};
static const char *const columns[N_COLUMNS] = {
	"JobID",      "User",	    "Account",	    "JobName", "Partition",
	"Submit",     "Eligible",   "Start",	    "End",     "Elapsed",
	"ElapsedRaw", "Timelimit",  "TimelimitRaw", "NNodes",  "AllocNodes",
	"ReqNodes",   "NCPUS",	    "AllocCPUS",    "ReqCPUS", "State",
	"Priority",   "SubmitLine", "Reservation",
};

/* A log while it is read. */
struct reader {
	struct np_queue_log *log;
	const char *source;    /* its name, for messages */
	const char *delimiter; /* between the fields of sacct */
	size_t line;	       /* number of the current line */
	size_t capacity;       /* of log->job */
	enum { UNDECIDED, SWF, SACCT } format;
	struct np_sacct_head head; /* of sacct, by enum column */
	int64_t last_submit_sec;   /* of the job before */
	/* Warnings about the first bad lines, if the log can be used. */
	struct np_err bad[NP_QUEUE_MAX_WARNINGS];
	size_t n_bad;
	struct np_err *err;
};

const char *np_queue_text(const struct np_queue_log *log, uint32_t number,
			  char *buf, size_t len)
{
	const struct np_index *texts = &log->text;
	size_t from, n;

	buf[0] = '\0';
	if (number >= texts->n)
		return buf;
	from = number ? texts->end[number - 1] : 0;
	n = texts->end[number] - from;
	if (n > len - 1)
		n = len - 1;
	memcpy(buf, texts->bytes + from, n);
	buf[n] = '\0';
	return buf;
}

/* Count a line that cannot be used; the first ones are reported. Returns 0. */
__attribute__((format(printf, 2, 3))) static int bad_line(struct reader *in,
							  const char *fmt, ...)
{
	char why[NP_ERR_LEN];
	va_list ap;

	in->log->issues[NP_QUEUE_BAD_LINE]++;
	if (in->n_bad == NP_QUEUE_MAX_WARNINGS)
		return 0;
	va_start(ap, fmt);
	np_text_print(why, sizeof(why), fmt, ap);
	va_end(ap);
	np_errf(&in->bad[in->n_bad++], 0, "%s:%zu: %s", in->source, in->line,
		why);
	return 0;
}

/* Set *out to the number of a text in log->text, NP_QUEUE_NONE for "". */
static int intern(struct reader *in, const char *text, uint32_t *out)
{
	*out = NP_QUEUE_NONE;
	if (!*text)
		return 0;
	*out = np_index_add(&in->log->text, text, strlen(text));
	return *out == NP_QUEUE_NONE ? -ENOMEM : 0;
}

/* Fill in a missing time limit, or cut a run time that exceeds it. */
static void fix_limit(struct np_queue_log *log, struct np_queue_job *job)
{
	if (!job->limit_sec) {
		log->issues[NP_QUEUE_NO_LIMIT] += !job->cancel_sec;
		/* A slowed job must not hit a limit that it did not have. */
		job->limit_sec = job->cancel_sec ? CANCELLED_LIMIT_SEC :
				 job->run_sec < MAX_RUN_SEC / 2 ?
						   2 * job->run_sec :
						   MAX_RUN_SEC;
	} else if (job->run_sec > job->limit_sec) {
		/* Slurm checks limits now and then, and allows a grace time. */
		log->issues[NP_QUEUE_OVER_LIMIT] +=
			job->run_sec - job->limit_sec > OVER_LIMIT_SEC;
		job->run_sec = job->limit_sec;
	}
}

/* Add a job that has a size. 0, -E2BIG or -ENOMEM. */
static int add_job(struct reader *in, struct np_queue_job *job)
{
	struct np_queue_log *log = in->log;

	if (!job->nodes && !job->cpus) {
		log->issues[NP_QUEUE_NO_SIZE]++;
		return 0;
	}
	fix_limit(log, job);
	/* sacct lists the tasks of arrays last. */
	if (job->task == NP_QUEUE_NONE) {
		log->issues[NP_QUEUE_UNSORTED] += job->submit_sec <
						  in->last_submit_sec;
		in->last_submit_sec = job->submit_sec;
	}
	if (log->n >= NP_QUEUE_MAX_JOBS)
		return np_errf(in->err, -E2BIG, "%s: more than %d jobs",
			       in->source, NP_QUEUE_MAX_JOBS);
	if (np_array_reserve(&log->job, &in->capacity, log->n + 1,
			     sizeof(*job)))
		return -ENOMEM;
	log->job[log->n++] = *job;
	return 0;
}

/* ---- Standard Workload Format ---- */

/* A comment, such as "; MaxProcs: 128"; "-1" is unknown. */
static void read_swf_header(struct reader *in, const char *line)
{
	const struct {
		const char *key;
		uint32_t *n;
	} of[] = {
		{ "MaxNodes:", &in->log->max_nodes },
		{ "MaxProcs:", &in->log->max_procs },
	};

	line += strspn(line, "; \t");
	for (size_t i = 0; i < NP_ARRAY_SIZE(of); i++) {
		size_t len = strlen(of[i].key);
		char word[48];
		uint64_t n;

		if (strncmp(line, of[i].key, len))
			continue;
		line += len + strspn(line + len, " \t");
		snprintf(word, sizeof(word), "%.*s", (int)strcspn(line, " \t"),
			 line);
		if (!isdigit((unsigned char)*word))
			return;
		if (np_whole_parse(word, MAX_SIZE, &n))
			bad_line(
				in,
				"%s \"%.40s\", expected a whole number up to %d",
				of[i].key, word, MAX_SIZE);
		else
			*of[i].n = (uint32_t)n;
		return;
	}
}

/* As intern(), for what SWF only numbers: "user7". */
static int intern_number(struct reader *in, const char *prefix, double number,
			 uint32_t *out)
{
	char text[48];

	*out = NP_QUEUE_NONE;
	if (number < 0)
		return 0;
	snprintf(text, sizeof(text), "%s%.0f", prefix, number);
	return intern(in, text, out);
}

/* A number of seconds or processors within limits; 0: unknown. */
static uint32_t clamp_positive(double number)
{
	return number > 0 ? (uint32_t)fmin(number, MAX_RUN_SEC) : 0;
}

/* The fields of a line that are used. */
enum swf {
	S_ID,
	S_SUBMIT,
	S_WAIT,
	S_RUN,
	S_PROCS,
	S_REQ_PROCS = 7,
	S_REQ_SEC,
	S_STATUS = 10,
	S_USER,
	S_GROUP,
	S_PROGRAM,
	S_QUEUE,
	S_AFTER = 16,
	S_THINK,
	SWF_FIELDS
};
#define SWF_CANCELLED 5 /* value of S_STATUS */

/* Read the numbers of a line. False: a bad line, which was counted. */
static bool read_swf_fields(struct reader *in, const char *line,
			    double field[SWF_FIELDS])
{
	const char *at = line, *end;

	for (int i = 0; i < SWF_FIELDS; i++, at = end) {
		at += strspn(at, " \t");
		end = np_decimal_parse(at, &field[i]);
		if (!end || (*end && !strchr(" \t\r", *end)) || field[i] < -1 ||
		    field[i] > (double)MAX_SEC) {
			size_t len = strcspn(at, " \t\n");

			bad_line(in,
				 "field %d: \"%.*s\", expected a number of at "
				 "least -1 and at most %lld",
				 i + 1, len > 40 ? 40 : (int)len, at,
				 (long long)MAX_SEC);
			return false;
		}
	}
	if (at[strspn(at, " \t\r")])
		bad_line(in, "more than %d fields", SWF_FIELDS);
	else if (field[S_SUBMIT] < 0 || field[S_ID] < 0)
		bad_line(in, "job %.0f submitted at %.0f s, expected 0 or more",
			 field[S_ID], field[S_SUBMIT]);
	else
		return true;
	return false;
}

/* Intern what SWF numbers: user, group, program and queue. */
static int read_swf_names(struct reader *in, const double field[SWF_FIELDS],
			  struct np_queue_job *job)
{
	int rc = intern_number(in, "user", field[S_USER], &job->user);

	job->command = NP_QUEUE_NONE;
	if (!rc)
		rc = intern_number(in, "group", field[S_GROUP], &job->account);
	if (!rc)
		rc = intern_number(in, "program", field[S_PROGRAM], &job->name);
	return rc ? rc :
		    intern_number(in, "queue", field[S_QUEUE], &job->partition);
}

/* One job of the Standard Workload Format. */
static int read_swf_line(struct reader *in, const char *line)
{
	double field[SWF_FIELDS];
	struct np_queue_job job = { .task = NP_QUEUE_NONE,
				    .after = NP_QUEUE_NONE };
	int rc;

	if (!read_swf_fields(in, line, field))
		return 0;
	job.id = (uint64_t)field[S_ID];
	job.submit_sec = (int64_t)field[S_SUBMIT];
	job.wait_sec = field[S_WAIT] < 0 ? -1 : (int64_t)field[S_WAIT];
	job.run_sec = clamp_positive(field[S_RUN]);
	job.limit_sec = clamp_positive(field[S_REQ_SEC]);
	job.cpus = clamp_positive(
		field[field[S_PROCS] > 0 ? S_PROCS : S_REQ_PROCS]);
	job.think_sec = clamp_positive(field[S_THINK]);
	if (field[S_AFTER] > 0 && field[S_AFTER] < (double)NP_QUEUE_NONE)
		job.after = (uint32_t)field[S_AFTER];
	if (field[S_STATUS] == SWF_CANCELLED && field[S_RUN] <= 0 &&
	    field[S_WAIT] >= 0)
		job.cancel_sec = job.submit_sec + job.wait_sec + !job.wait_sec;
	else if (field[S_RUN] < 0) {
		in->log->issues[NP_QUEUE_NEVER_RAN]++;
		return 0;
	}
	if (!job.run_sec)
		job.run_sec = 1;
	rc = read_swf_names(in, field, &job);
	return rc ? rc : add_job(in, &job);
}

/* ---- sacct ---- */

/* Find the columns of sacct; some of them are required. */
static int read_sacct_header(struct reader *in, char *line)
{
	const bool *has = in->head.has;

	np_sacct_read_head(line, in->delimiter, columns, N_COLUMNS, &in->head);
	strcpy(in->log->unused, in->head.unused);
	in->log->priorities = has[C_PRIORITY];
	if (in->head.twice != NP_SACCT_NONE)
		return np_errf(in->err, -EINVAL,
			       "%s:%zu: column %s given twice", in->source,
			       in->line, columns[in->head.twice]);
	if (has[C_JOBID] && has[C_SUBMIT] &&
	    (has[C_ELAPSED] || has[C_ELAPSED_RAW] ||
	     (has[C_START] && has[C_END])))
		return 0;
	return np_errf(in->err, -EINVAL,
		       "%s:%zu: expected the columns of sacct"
		       " --parsable2, with JobID, Submit, Elapsed, NNodes and "
		       "NCPUS, or a Standard Workload Format",
		       in->source, in->line);
}

/*
 * Seconds, or -1: none. Dates are read as UTC in any time zone: only
 * differences matter, and a log is replayed alike everywhere.
 */
static int64_t parse_date(const char *text)
{
	double sec;
	const char *end = np_sacct_date(text, true, &sec);

	return end && !*end && sec >= 0 ? (int64_t)sec : -1;
}

/* Seconds, or -1: none. A number without a colon would be in minutes. */
static int64_t parse_span(const char *text)
{
	double sec;

	return strchr(text, ':') && !np_sacct_duration(text, &sec) ?
		       (int64_t)sec :
		       -1;
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
static bool first_count(struct reader *in, char *const *field,
			const enum column of[3], uint32_t *n)
{
	*n = 0;
	for (size_t i = 0; !*n && i < 3; i++) {
		const char *text = field[of[i]];

		if (!*text || !np_sacct_count(text, n))
			continue;
		bad_line(in, "%s \"%.40s\", expected a whole number",
			 columns[of[i]], text);
		return false;
	}
	return true;
}

/* Nodes and processors; false: a bad line, which was counted. */
static bool read_size(struct reader *in, char *const *field,
		      struct np_queue_job *job)
{
	static const enum column nodes[] = { C_NNODES, C_ALLOC_NODES,
					     C_REQ_NODES };
	static const enum column cpus[] = { C_ALLOC_CPUS, C_NCPUS, C_REQ_CPUS };

	return first_count(in, field, nodes, &job->nodes) &&
	       first_count(in, field, cpus, &job->cpus);
}

static bool is_date(const char *text)
{
	double sec;
	const char *end = np_sacct_date(text, true, &sec);

	return end && !*end;
}

static bool is_span(const char *text)
{
	double sec;

	return !np_sacct_duration(text, &sec);
}

static bool is_whole(const char *text)
{
	uint64_t n;

	return !np_whole_parse(text, UINT64_MAX, &n);
}

/*
 * Columns that may have a word instead, such as "Unknown", "INVALID" or
 * "UNLIMITED", must be right where they begin with a digit. False: a bad line,
 * which was counted.
 */
static bool check_times(struct reader *in, char *const *field)
{
	static const char date[] = "a date such as 2026-11-25T10:00:00",
			  span[] = "a time such as 01:02:03",
			  whole[] = "a whole number";
	static const struct {
		enum column column;
		bool (*is)(const char *text);
		const char *expected;
	} of[] = {
		{ C_ELIGIBLE, is_date, date },
		{ C_START, is_date, date },
		{ C_END, is_date, date },
		{ C_ELAPSED, is_span, span },
		{ C_TIMELIMIT, is_span, span },
		{ C_ELAPSED_RAW, is_whole, whole },
		{ C_TIMELIMIT_RAW, is_whole, whole },
		{ C_PRIORITY, is_whole, whole },
	};

	for (size_t i = 0; i < NP_ARRAY_SIZE(of); i++) {
		const char *text = field[of[i].column];

		if (!isdigit((unsigned char)*text) || of[i].is(text))
			continue;
		bad_line(in, "%s \"%.40s\", expected %s", columns[of[i].column],
			 text, of[i].expected);
		return false;
	}
	return true;
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
 * "-d afterok:12:13_4", "--dependency=afterany:12". Of several jobs, the one
 * submitted last. NP_QUEUE_NONE: none.
 */
static uint32_t dependency_of(const char *submit_line)
{
	const char *at = strstr(submit_line, " --dependency");
	uint32_t last = NP_QUEUE_NONE;

	at = at ? at + strlen(" --dependency") : strstr(submit_line, " -d");
	if (!at)
		return NP_QUEUE_NONE;
	at = strncmp(at, " -d", 3) ? at : at + 3;
	at += strspn(at, "= ");
	if (strncmp(at, "after", 5))
		return NP_QUEUE_NONE;
	for (; *at && *at != ' '; at++) {
		uint32_t id = *at == ':' ? parse_number(at + 1) : 0;

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
			       eligible > submit + ARRAY_SPLIT_SEC ?
		       eligible :
		       submit;
}

/* Set how long it ran, or when it was cancelled. False: neither. */
static bool read_times(struct reader *in, char *const *field,
		       struct np_queue_job *job)
{
	const char *state = field[C_STATE];
	int64_t start = parse_date(field[C_START]);
	int64_t end = parse_date(field[C_END]);
	int64_t run = run_sec_of(field, start, end);

	if (start >= job->submit_sec)
		job->wait_sec = start - job->submit_sec;
	job->limit_sec = limit_of(field);
	if (run > 0 && !state_is(state, "PENDING")) {
		job->run_sec = (uint32_t)run;
		in->log->issues[NP_QUEUE_RUNNING] += state_is(state, "RUNNING");
		return true;
	}
	if (state_is(state, "CANCELLED") && end > job->submit_sec) {
		job->cancel_sec = end;
		job->run_sec = 1;
		return true;
	}
	if (run == 0 && start >= 0 && end >= start &&
	    !state_is(state, "CANCELLED") && !state_is(state, "PENDING")) {
		job->run_sec = 1;
		return true;
	}
	in->log->issues[NP_QUEUE_NEVER_RAN]++;
	return false;
}

/* Intern user, account, job name, command line and partition. */
static int read_names(struct reader *in, char **field, struct np_queue_job *job)
{
	char *comma = strchr(field[C_PARTITION], ',');
	int rc = intern(in, field[C_USER], &job->user);

	if (comma) {
		*comma = '\0';
		in->log->issues[NP_QUEUE_SEVERAL]++;
	}
	if (!rc)
		rc = intern(in, field[C_ACCOUNT], &job->account);
	if (!rc)
		rc = intern(in, field[C_NAME], &job->name);
	if (!rc)
		rc = intern(in, field[C_SUBMIT_LINE], &job->command);
	return rc ? rc : intern(in, field[C_PARTITION], &job->partition);
}

/*
 * Whether a line with too few fields belongs to the row before it. A command
 * line may contain line breaks, which sacct prints as they are.
 */
static bool is_continued(const struct reader *in, const char *line)
{
	return in->line > 2 && !isdigit((unsigned char)*line) &&
	       in->head.column[in->head.n - 1] == C_SUBMIT_LINE;
}

/*
 * Whether a row may have more fields than columns. Text that a user chose may
 * contain the delimiter. Unless it is in the last column, the fields after it
 * would be taken for those of other columns.
 */
static bool may_have_more(const struct reader *in)
{
	size_t last = in->head.column[in->head.n - 1];

	return in->head.more || last == C_SUBMIT_LINE || last == C_NAME ||
	       (last == NP_SACCT_NONE && !in->head.has[C_SUBMIT_LINE] &&
		!in->head.has[C_NAME]);
}

static const char *skip_digits(const char *text)
{
	return text + strspn(text, "0123456789");
}

/* One row of sacct. */
static int read_sacct_row(struct reader *in, char *line)
{
	struct np_queue_job job = { .task = NP_QUEUE_NONE, .wait_sec = -1 };
	char *field[N_COLUMNS];
	const char *end;
	size_t n = np_sacct_read_row(line, in->delimiter, &in->head, field,
				     N_COLUMNS);
	int rc;

	if (n < in->head.n && is_continued(in, line))
		return 0;
	if (n < in->head.n || (n > in->head.n && !may_have_more(in)))
		return bad_line(in, "%zu columns, expected %zu", n, in->head.n);
	if (strchr(field[C_JOBID], '.')) {
		in->log->issues[NP_QUEUE_STEP]++;
		return 0;
	}
	/* "12", "12_3", "12_[4-9]" or "12+1" */
	job.id = parse_number(field[C_JOBID]);
	end = skip_digits(field[C_JOBID]);
	if (*end == '_' && isdigit((unsigned char)end[1]))
		job.task = parse_number(end + 1);
	if (*end == '_' || *end == '+')
		end = end[1] == '[' ? "" : skip_digits(end + 1);
	if (*end)
		job.id = 0;
	job.after = dependency_of(field[C_SUBMIT_LINE]);
	job.submit_sec = submit_of(field, job.after);
	if (!job.id || job.submit_sec < 0)
		return bad_line(in,
				"job \"%.40s\" submitted at \"%.40s\", "
				"expected a number and a time",
				field[C_JOBID], field[C_SUBMIT]);
	if (!read_size(in, field, &job) || !check_times(in, field))
		return 0;
	job.priority = parse_number(field[C_PRIORITY]);
	if (!read_times(in, field, &job))
		return 0;
	in->log->issues[NP_QUEUE_RESERVATION] += *field[C_RESERVATION] != '\0';
	rc = read_names(in, field, &job);
	return rc ? rc : add_job(in, &job);
}

/* ---- The whole log ---- */

/* False: the line has control characters. */
static bool is_text(const char *line)
{
	for (const char *p = line; *p; p++)
		if ((unsigned char)*p < ' ' && *p != '\t' && *p != '\r')
			return false;
	return true;
}

/* Find the format by the first line with text. 0 or -EINVAL with err. */
static int find_format(struct reader *in, const char *text)
{
	if (*text == ';' || strspn(text, "0123456789-"))
		in->format = SWF;
	if (*text != ';' && strstr(text, in->delimiter))
		in->format = SACCT;
	return in->format != UNDECIDED ?
		       0 :
		       np_errf(in->err, -EINVAL,
			       "%s:%zu: \"%.40s\": expected the columns of "
			       "sacct --parsable2 or a Standard Workload "
			       "Format",
			       in->source, in->line, text);
}

/* One line, with or without an end of line. */
static int read_line(struct reader *in, char *line)
{
	bool first = in->format == UNDECIDED;
	size_t len = strlen(line);
	char *text;
	int rc;

	in->line++;
	while (len && (line[len - 1] == '\n' || line[len - 1] == '\r'))
		line[--len] = '\0';
	if (in->line == 1 && !strncmp(line, UTF8_MARK, 3))
		line += 3;
	if (!is_text(line))
		return first ? np_errf(in->err, -EINVAL,
				       "%s:%zu: not text in UTF-8 or ASCII",
				       in->source, in->line) :
			       bad_line(in,
					"control characters, expected text");
	text = line + strspn(line, " \t");
	if (!*text)
		return 0;
	in->log->lines++;
	rc = first ? find_format(in, text) : 0;
	if (rc)
		return rc;
	if (in->format == SACCT)
		return first ? read_sacct_header(in, line) :
			       read_sacct_row(in, line);
	if (*text != ';')
		return read_swf_line(in, line);
	read_swf_header(in, text);
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
static int64_t end_sec_of(const struct np_queue_job *job)
{
	return job->wait_sec < 0 ?
		       job->submit_sec :
		       job->submit_sec + job->wait_sec + job->run_sec;
}

/* By id; of the tasks of an array, the one that ended last comes first. */
static int by_id(const void *a, const void *b)
{
	const struct np_queue_job *x = *(struct np_queue_job *const *)a;
	const struct np_queue_job *y = *(struct np_queue_job *const *)b;

	if (x->id != y->id)
		return x->id < y->id ? -1 : 1;
	if (end_sec_of(x) != end_sec_of(y))
		return end_sec_of(x) > end_sec_of(y) ? -1 : 1;
	return x->task > y->task ? -1 : x->task < y->task;
}

/*
 * The job that another one waits for, or NULL; of several with its id, the
 * first in that order.
 */
static const struct np_queue_job *find_parent(struct np_queue_job *const *order,
					      size_t n,
					      const struct np_queue_job *job)
{
	size_t low = 0, high = n;

	if (job->after == NP_QUEUE_NONE)
		return NULL;
	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (order[mid]->id < job->after)
			low = mid + 1;
		else
			high = mid;
	}
	return low < n && order[low]->id == job->after ? order[low] : NULL;
}

static void sort_by_id(const struct np_queue_log *log,
		       struct np_queue_job **order)
{
	for (size_t i = 0; i < log->n; i++)
		order[i] = &log->job[i];
	qsort(order, log->n, sizeof(*order), by_id);
}

/*
 * A job may wait for one with a later submission: one that was requeued, or
 * became eligible later. Count it as submitted at the same time, which does not
 * change when it can start.
 */
static void submit_after_parents(const struct np_queue_log *log,
				 struct np_queue_job *const *order)
{
	for (size_t i = 0; i < log->n; i++) {
		struct np_queue_job *job = order[i];
		const struct np_queue_job *parent =
			find_parent(order, log->n, job);
		int64_t later_sec =
			parent ? parent->submit_sec - job->submit_sec : 0;

		/* It may have started before the other one was requeued. */
		if (later_sec <= 0 ||
		    (job->wait_sec >= 0 && job->wait_sec < later_sec))
			continue;
		if (job->wait_sec >= 0)
			job->wait_sec -= later_sec;
		job->submit_sec = parent->submit_sec;
	}
}

/* Turn the ids in job.after into indices of jobs that come before. */
static void find_parents(struct np_queue_log *log,
			 struct np_queue_job *const *order)
{
	for (size_t i = 0; i < log->n; i++) {
		struct np_queue_job *job = &log->job[i];
		const struct np_queue_job *parent =
			find_parent(order, log->n, job);

		if (job->after == NP_QUEUE_NONE)
			continue;
		job->after = parent && parent < job ?
				     (uint32_t)(parent - log->job) :
				     NP_QUEUE_NONE;
		log->issues[NP_QUEUE_LOST_PARENT] += job->after ==
						     NP_QUEUE_NONE;
	}
}

/* Refuse a file whose first bytes are those of another kind (np_read.h). */
static int check_kind(const struct reader *in, const char *text, size_t len)
{
	size_t mark = strncmp(text, UTF8_MARK, 3) ? 0 : 3;

	return np_kind_check(text + mark, len - mark, NP_KIND_QUEUE, in->source,
			     in->err);
}

/* Read all lines, from a plain or a gzip file. */
static int read_lines(struct reader *in, gzFile file)
{
	char *line = malloc(NP_QUEUE_LINE);
	int rc = line ? 0 : -ENOMEM, error = Z_OK;

	while (!rc && gzgets(file, line, NP_QUEUE_LINE)) {
		size_t len = strlen(line);

		if (!in->line && check_kind(in, line, len)) {
			rc = -EINVAL;
			break;
		}
		/* Every line but the last of a file has an end of line. */
		if (!len || (len < NP_QUEUE_LINE - 1 && line[len - 1] != '\n' &&
			     !gzeof(file))) {
			rc = np_errf(in->err, -EINVAL,
				     "%s:%zu: a NUL character, expected text",
				     in->source, in->line + 1);
			break;
		}
		/* A full buffer without an end of line: the line is longer. */
		if (len == NP_QUEUE_LINE - 1 && line[len - 1] != '\n')
			rc = np_errf(in->err, -EINVAL,
				     "%s:%zu: a line of more than %d bytes",
				     in->source, in->line + 1,
				     NP_QUEUE_LINE - 2);
		else
			rc = read_line(in, line);
	}
	free(line);
	if (rc)
		return rc;
	gzerror(file, &error);
	return error == Z_OK || error == Z_STREAM_END ?
		       0 :
		       np_errf(in->err, -EIO,
			       "%s: cannot be read to its end, or is no valid "
			       "gzip file",
			       in->source);
}

/* Sort the jobs by submission and resolve their dependencies. */
static int finish_log(struct reader *in)
{
	struct np_queue_log *log = in->log;
	struct np_queue_job **order;

	if (!log->n)
		return np_errf(in->err, -EINVAL,
			       "%.*s%c no job that could be replayed among %zu "
			       "line%s",
			       in->n_bad ? NP_ERR_LEN - 70 : NP_ERR_LEN,
			       in->n_bad ? in->bad[0].text : in->source,
			       in->n_bad ? ';' : ':', log->lines,
			       log->lines == 1 ? "" : "s");
	order = malloc(log->n * sizeof(*order));
	if (!order)
		return -ENOMEM;
	sort_by_id(log, order);
	if (in->format == SACCT)
		submit_after_parents(log, order);
	qsort(log->job, log->n, sizeof(*log->job), by_submission);
	sort_by_id(log, order);
	find_parents(log, order);
	free(order);
	return 0;
}

int np_queue_log_read_fd(int fd, const char *source, const char *delimiter,
			 np_queue_warn_f *warn, void *arg,
			 struct np_queue_log *out, struct np_err *err)
{
	struct np_queue_log log = { .n = 0 };
	struct reader in = { .log = &log,
			     .source = source,
			     .delimiter = delimiter,
			     .err = err };
	gzFile file = gzdopen(fd, "rb");
	int rc;

	if (!file) {
		close(fd);
		return np_errf(err, -ENOMEM, "%s: out of memory", source);
	}
	rc = read_lines(&in, file);
	gzclose(file);
	if (!rc)
		rc = finish_log(&in);
	if (rc == -ENOMEM)
		np_errf(err, rc, "%s: out of memory", source);
	if (rc) {
		np_queue_log_free(&log);
		return rc;
	}
	for (size_t i = 0; warn && i < in.n_bad; i++)
		warn(in.bad[i].text, arg);
	*out = log;
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
					  strerror(errno)) :
				  fd;
	if (!fstat(fd, &st) && S_ISDIR(st.st_mode)) {
		close(fd);
		return np_errf(err, -EISDIR, "%s: %s", path,
			       np_read_irregular(&st));
	}
	return np_queue_log_read_fd(fd, path, "|", warn, arg, out, err);
}

void np_queue_log_free(struct np_queue_log *log)
{
	free(log->job);
	np_index_free(&log->text);
	*log = (struct np_queue_log){ .n = 0 };
}

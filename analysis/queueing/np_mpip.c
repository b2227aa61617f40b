/*
 * A report consists of sections of text lines, each with a heading
 *
 *	@--- NAME (...) ---
 *
 * between two lines of dashes. Rows of the sections that are read here are
 * words separated by blanks. Only file names, which occur in other sections,
 * could contain blanks.
 */
#include "np_mpip.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "np_option.h"
#include "np_read.h"
#include "np_text.h"
#include "np_trace.h"

#define MAX_WORDS 10
#define MAX_LINE 8192	/* bytes of a line that are read */
#define MAX_NUMBER 1e18 /* of seconds, messages, bytes */
#define ROUNDING 0.01	/* two values with three significant digits each */

enum section { HEADER, TIMES, SENT, CALLSITES, CONCISE, END, OTHER };

static const struct {
	const char *heading;
	enum section section;
} sections[] = {
	{ "MPI Time (seconds)", TIMES },
	{ "Callsite Message Sent statistics (all, sent bytes)", SENT },
	{ "Callsite Time statistics (all, milliseconds)", CALLSITES },
	{ "Task Time Statistics (seconds)", CONCISE },
	{ "Callsite Time statistics (all callsites,", CONCISE },
	{ "Callsite Message Sent statistics (all callsites,", CONCISE },
	{ "End of Report", END },
};

struct state {
	struct np_mpip *out;
	const char *where;
	struct np_err *err;
	size_t line;	     /* number, from 1 */
	char text[MAX_LINE]; /* current line, cut into words */
	char *word[MAX_WORDS];
	size_t n;
	enum section section;
	bool is_report, seen[OTHER + 1], has_sum;
	bool *task; /* tasks that are in the times */
	uint32_t n_rows;
	double app_sec, mpi_sec; /* sums over these rows */
};

/* Error message about the current line. */
static int line_error(const struct state *s, const char *what)
{
	return np_errf(s->err, -EINVAL, "%s:%zu: %s", s->where, s->line, what);
}

/* Whether word i of the current line is this text. */
static bool word_is(const struct state *s, size_t i, const char *text)
{
	return i < s->n && !strcmp(s->word[i], text);
}

/* Copies a line and splits it into words. */
static void split_words(struct state *s, const char *line, size_t len)
{
	char *save = NULL, *w;

	len = len < MAX_LINE ? len : MAX_LINE - 1;
	memcpy(s->text, line, len);
	s->text[len] = '\0';
	s->n = 0;
	for (w = strtok_r(s->text, " ", &save); w && s->n < MAX_WORDS;
	     w = strtok_r(NULL, " ", &save))
		s->word[s->n++] = w;
}

/* Parses a word as a number from 0 to MAX_NUMBER, as printf() writes it. */
static int parse_number(const struct state *s, size_t i, double *out)
{
	const char *w = s->word[i];
	const char *end = np_decimal_parse(w, out);

	if (end && !*end && *out >= 0 && *out <= MAX_NUMBER)
		return 0;
	return np_errf(s->err, -EINVAL,
		       "%s:%zu: \"%.40s\", expected a number from 0 to %g",
		       s->where, s->line, w, MAX_NUMBER);
}

/* Parses a whole number. */
static int parse_whole(const struct state *s, size_t i, double *out)
{
	int rc = parse_number(s, i, out);

	return !rc && *out != floor(*out) ?
		       np_errf(s->err, -EINVAL,
			       "%s:%zu: \"%.40s\", expected a whole number",
			       s->where, s->line, s->word[i]) :
		       rc;
}

/* Copies a word, without characters that a terminal would interpret. */
static void copy_word(const char *word, char out[NP_MPIP_NAME])
{
	snprintf(out, NP_MPIP_NAME, "%s", word);
	np_text_make_plain(out);
}

/* mpiP names its reports PROGRAM.TASKS.PID.N.mpiP. */
static bool names_report(const struct state *s, const char *program)
{
	const char *report = basename(s->where);
	size_t len = strlen(program);

	return len && !strncmp(report, program, len) && report[len] == '.' &&
	       isdigit((unsigned char)report[len + 1]);
}

/* Whether this is usually the name of a program, not of an input file. */
static bool names_program(const char *base)
{
	static const char *const suffixes[] = { ".exe", ".x", ".bin", ".mpi" };
	const char *dot = strrchr(base, '.');

	if (!dot || !strcmp(base, "a.out"))
		return true;
	for (size_t i = 0; i < NP_ARRAY_SIZE(suffixes); i++)
		if (!strcasecmp(dot, suffixes[i]))
			return true;
	return false;
}

/* Whether a path with blanks may continue with this word and end there. */
static bool may_end_path(const char *word)
{
	const char *base = basename(word);

	return *word != '/' && *word != '.' && base != word && *base &&
	       (strstr(word, "/./") || names_program(base));
}

/* Replaces the backslashes of a Windows path, with a drive or a server. */
static void normalise_path(struct state *s)
{
	const char *w = s->word[3];

	if (strncmp(w, "\\\\", 2) &&
	    !(isalpha((unsigned char)*w) && !strncmp(w + 1, ":\\", 2)))
		return;
	for (size_t i = 3; i < s->n; i++)
		for (char *c = s->word[i]; (c = strchr(c, '\\'));)
			*c = '/';
}

/*
 * The command is printed with blanks between its arguments, and directories in
 * the first one (words from 3 on) may contain blanks too. The name of the
 * report determines where it ends. Otherwise it ends with the last word before
 * options that continues a path, "DIRECTORY/PROGRAM". Arguments such as
 * in/mesh.dat contain a dot in their last component and do not count.
 */
static void parse_program(struct state *s)
{
	const char *program;

	normalise_path(s);
	program = basename(s->word[3]);
	for (size_t i = 4;
	     !names_report(s, program) && strchr(s->word[3], '/') && i < s->n;
	     i++) {
		const char *word = s->word[i];

		if (names_report(s, basename(word)) || may_end_path(word))
			program = basename(word);
		else if (!isalpha((unsigned char)*word) || strpbrk(word, "=/"))
			break;
	}
	copy_word(program, s->out->program);
}

/* Parses "@ mpiP", "@ Version : 3.5.0", "@ MPI Task Assignment : 0 host". */
static int parse_header(struct state *s)
{
	if (!word_is(s, 0, "@"))
		return 0;
	s->is_report |= word_is(s, 1, "mpiP") || word_is(s, 1, "mpiP:");
	if (s->n >= 4 && word_is(s, 1, "Command"))
		parse_program(s);
	if (s->n >= 4 && word_is(s, 1, "Version")) {
		copy_word(s->word[3], s->out->version);
		if (strncmp(s->out->version, "3.", 2))
			return np_errf(s->err, -EINVAL,
				       "%s:%zu: version %.32s, expected 3.x",
				       s->where, s->line, s->out->version);
	}
	if (s->n >= 6 && word_is(s, 1, "MPI") && word_is(s, 2, "Task") &&
	    s->out->n_tasks++ == NP_MPIP_MAX_TASKS)
		return line_error(s, "too many tasks");
	return 0;
}

/* Records the row of a task. The header has given the number of tasks. */
static int mark_task(struct state *s, double task)
{
	uint32_t i;

	if (!s->out->n_tasks)
		return line_error(s, "a task, expected a header that lists it");
	if (task >= s->out->n_tasks)
		return np_errf(s->err, -EINVAL,
			       "%s:%zu: task %.0f, expected one of the %u in "
			       "the header, numbered from 0",
			       s->where, s->line, task, s->out->n_tasks);
	i = (uint32_t)task;
	if (!s->task)
		s->task = calloc(s->out->n_tasks, sizeof(*s->task));
	if (!s->task)
		return np_errf(s->err, -ENOMEM, "%s: no memory", s->where);
	if (s->task[i])
		return np_errf(s->err, -EINVAL,
			       "%s:%zu: a second row of task %u", s->where,
			       s->line, i);
	s->task[i] = true;
	s->n_rows++;
	return 0;
}

/* Parses task, AppTime, MPITime, MPI%; task * is the sum. */
static int parse_times(struct state *s)
{
	double task, app_sec, mpi_sec;

	if (!s->n || word_is(s, 0, "Task"))
		return 0;
	if (s->n != 4)
		return line_error(s,
				  "expected task, AppTime, MPITime and MPI%");
	if (parse_number(s, 1, &app_sec) || parse_number(s, 2, &mpi_sec))
		return -EINVAL;
	if (mpi_sec > app_sec * (1 + ROUNDING))
		return np_errf(s->err, -EINVAL,
			       "%s:%zu: %g s in MPI, of %g s in all", s->where,
			       s->line, mpi_sec, app_sec);
	if (word_is(s, 0, "*")) {
		if (s->has_sum)
			return line_error(s, "a second row *");
		s->has_sum = true;
		s->out->app_sec = app_sec;
		s->out->mpi_sec = mpi_sec;
		return 0;
	}
	s->app_sec += app_sec;
	s->mpi_sec += mpi_sec;
	s->out->max_app_sec = fmax(s->out->max_app_sec, app_sec);
	return parse_whole(s, 0, &task) ? -EINVAL : mark_task(s, task);
}

/*
 * Parses name, site, rank, count, max, mean, min, sum; rank * is for all tasks.
 */
static int parse_sent(struct state *s)
{
	double count, sum;

	if (!s->n || word_is(s, 0, "Name"))
		return 0;
	if (s->n != 8)
		return line_error(s, "expected name, site, rank, count, max, "
				     "mean, min and sum");
	if (!word_is(s, 2, "*"))
		return 0;
	if (parse_whole(s, 3, &count) || parse_number(s, 7, &sum))
		return -EINVAL;
	s->out->messages += count;
	s->out->bytes += sum;
	return 0;
}

/* Parses the text after "@--- ". */
static int parse_heading(struct state *s, const char *text, size_t n)
{
	s->section = OTHER;
	for (size_t i = 0; i < NP_ARRAY_SIZE(sections); i++) {
		size_t len = strlen(sections[i].heading);

		if (n >= len && !memcmp(text, sections[i].heading, len))
			s->section = sections[i].section;
	}
	if (s->section == CONCISE)
		return np_errf(
			s->err, -ENODATA,
			"%s:%zu: a concise report, which has no counts of "
			"messages; expected one without mpiP's option -c",
			s->where, s->line);
	if (s->seen[s->section] && (s->section == TIMES || s->section == SENT))
		return line_error(s, "the same section again");
	s->seen[s->section] = true;
	return 0;
}

/* Handles a line according to the section that it is in. */
static int parse_line(struct state *s, const char *text, size_t len)
{
	if (len && text[len - 1] == '\r')
		len--;
	if (len >= 5 && !memcmp(text, "@--- ", 5))
		return parse_heading(s, text + 5, len - 5);
	if (s->section > SENT || (len >= 3 && !memcmp(text, "---", 3)))
		/* a section that is not read, or the frame of a heading */
		return 0;
	split_words(s, text, len);
	return s->section == HEADER ? parse_header(s) :
	       s->section == TIMES  ? parse_times(s) :
				      parse_sent(s);
}

/* Reads the report up to its end, or to an incomplete last line. */
static int read_lines(struct state *s, const char *text, size_t len)
{
	const char *end = text + len;
	int rc = 0;

	while (!rc && text < end && !s->seen[END]) {
		const char *stop = memchr(text, '\n', (size_t)(end - text));

		/* An incomplete last line may contain part of a number. */
		if (!stop && s->section != HEADER)
			break;
		if (!stop)
			stop = end;
		s->line++;
		rc = parse_line(s, text, (size_t)(stop - text));
		if (!s->is_report && s->line == 1 && !rc)
			return np_errf(
				s->err, -EINVAL,
				"%s:1: expected a report of mpiP, \"@ mpiP\"",
				s->where);
		text = stop + 1;
	}
	/* Nothing follows the end of a report but the next one. */
	if (!rc && text < end &&
	    memmem(text, (size_t)(end - text), "@ mpiP", 6))
		return np_errf(s->err, -EINVAL,
			       "%s:%zu: a second report: expected each in a "
			       "file of its own",
			       s->where, s->line);
	return rc;
}

/* Whether two sums differ by more than rounding. */
static bool differ(double a, double b)
{
	return fabs(a - b) > ROUNDING * fmax(a, b);
}

/* Uses the row * if there is one, otherwise the sums over tasks. */
static void choose_sums(struct state *s)
{
	struct np_mpip *o = s->out;

	if (!s->has_sum) {
		o->notes |= NP_MPIP_NO_SUM;
		o->app_sec = s->app_sec;
		o->mpi_sec = s->mpi_sec;
	} else if (differ(o->app_sec, s->app_sec) ||
		   differ(o->mpi_sec, s->mpi_sec)) {
		o->notes |= NP_MPIP_SUM_DIFFERS;
	}
	if (o->mpi_sec > o->app_sec)
		o->mpi_sec = o->app_sec; /* due to rounding */
}

/* Checks that the report has everything that is needed, and sets its notes. */
static int check(struct state *s)
{
	struct np_mpip *o = s->out;

	if (!s->is_report)
		return np_errf(s->err, -EINVAL, "%s: expected a report of mpiP",
			       s->where);
	if (!s->seen[TIMES])
		return np_errf(s->err, -EINVAL, "%s: no section \"MPI Time\"",
			       s->where);
	if (!o->n_tasks || s->n_rows != o->n_tasks)
		return np_errf(
			s->err, -EINVAL,
			"%s: times of %u task%s, expected %u as the header has",
			s->where, s->n_rows, s->n_rows == 1 ? "" : "s",
			o->n_tasks);
	if (!s->seen[SENT] && !s->seen[CALLSITES])
		return np_errf(s->err, -ENODATA,
			       "%s: no counts of messages; expected a whole "
			       "report, without mpiP's option -d",
			       s->where);
	/* mpiP omits the section if nothing was sent. */
	if (!s->seen[SENT] && !s->seen[END])
		return np_errf(s->err, -ENODATA,
			       "%s: ends before the counts of messages",
			       s->where);
	if (o->messages == 0)
		o->notes |= NP_MPIP_NO_MESSAGES;
	if (!s->seen[END])
		o->notes |= NP_MPIP_TRUNCATED;
	if (!*o->version)
		o->notes |= NP_MPIP_NO_VERSION;
	choose_sums(s);
	return 0;
}

int np_mpip_parse(const char *text, size_t len, const char *where,
		  struct np_mpip *out, struct np_err *err)
{
	struct np_mpip made = { .n_tasks = 0 };
	struct state s = { .out = &made, .where = where, .err = err };
	int rc;

	if (len > NP_MPIP_MAX_BYTES)
		return np_errf(err, -EFBIG,
			       "%s: %zu bytes, expected at most %u", where, len,
			       NP_MPIP_MAX_BYTES);
	rc = np_kind_check(text, len, NP_KIND_MPIP, where, err);
	if (!rc)
		rc = read_lines(&s, text, len);
	if (!rc)
		rc = check(&s);
	free(s.task);
	if (!rc)
		*out = made;
	return rc;
}

int np_mpip_load(const char *path, struct np_mpip *out, struct np_err *err)
{
	return NP_READ_PARSED(path, NP_MPIP_MAX_BYTES, np_mpip_parse, out, err);
}

/* What a report of mpiP would contain for a traced run. */
int np_mpip_trace(const char *path, struct np_mpip *out, struct np_err *err)
{
	struct np_trace_files f;
	struct np_trace_sum s;
	int rc = np_trace_files_find(path, &f, err);

	if (rc)
		return rc;
	rc = np_trace_sum(&f, &s, err);
	if (rc) {
		np_trace_files_free(&f);
		return rc;
	}
	*out = (struct np_mpip){ .n_tasks = s.ranks,
				 .app_sec = s.app_sec,
				 .mpi_sec = s.mpi_sec,
				 .max_app_sec = s.max_app_sec,
				 .messages = (double)s.sent,
				 .bytes = s.given_bytes,
				 .notes = s.cut ? NP_MPIP_TRUNCATED : 0 };
	strcpy(out->program, f.program);
	np_trace_files_free(&f);
	for (int c = NP_BARRIER + 1; c < NP_N_COLLECTIVES; c++)
		out->messages += (double)s.collectives[c];
	if (!out->messages)
		out->notes |= NP_MPIP_NO_MESSAGES;
	return 0;
}

const char *np_mpip_note_text(enum np_mpip_note note)
{
	switch (note) {
	case NP_MPIP_TRUNCATED:
		return "the report is truncated: messages may be missing";
	case NP_MPIP_NO_SUM:
		return "the row * of the times is missing: using the sum of "
		       "the tasks";
	case NP_MPIP_SUM_DIFFERS:
		return "the row * of the times is not the sum of its tasks";
	case NP_MPIP_NO_MESSAGES:
		return "no messages: all time in MPI counts as active";
	default:
		return "the report does not name its version of mpiP";
	}
}

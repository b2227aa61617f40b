#include "np_select_level.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "np_run_summary.h"
#include "np_text.h"

/* ---- the choice ---- */

#define LOCK_NAME ".calibrate.lock" /* hidden: no run has such a name */

/*
 * Lock the selection for an application. Returns a descriptor, or -1. If the
 * file system cannot lock, or the holder of the lock hangs, the selection is
 * made without it: two runs may then select the same level, which does no harm.
 */
static int lock_app(struct np_store *store, const char *app)
{
	struct np_dir d;
	int fd;

	if (np_dir_open(store, NP_STORE_USER, geteuid(), app, true, &d, NULL))
		return -1;
	fd = openat(d.fd, LOCK_NAME, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC,
		    0600);
	np_dir_close(&d);
	if (fd >= 0)
		np_file_lock(fd);
	return fd;
}

/*
 * Find out whether no interval so far was of use, so that whole runs are
 * needed. Returns 0 or -ENOMEM.
 */
static int are_useless(const struct np_earlier_intervals *earlier,
		       bool *useless)
{
	struct np_one_run_level *level =
		calloc(earlier->n_levels + 1, sizeof(*level));
	struct np_one_run o;
	int rc = -ENOMEM;

	if (level)
		rc = np_one_run_estimate(earlier->interval,
					 earlier->n_intervals, NULL, level,
					 earlier->n_levels, &o);
	*useless = !rc && o.verdict != NP_ONE_RUN_FEW &&
		   o.verdict != NP_ONE_RUN_USABLE;
	free(level);
	return rc;
}

/*
 * Find out whether no level needs another interval, or its rounds alone.
 * Returns 0 or -ENOMEM.
 */
static int is_complete(const struct np_earlier_intervals *earlier,
		       bool *complete)
{
	const struct np_one_run_schedule plan = { earlier->n_levels, 1,
						  earlier->share };
	struct np_one_run_next next = { .complete = false };
	int rc = np_one_run_next_interval(&plan, earlier->interval,
					  earlier->n_intervals, 0, 0, &next);

	*complete = next.complete;
	for (size_t i = 0; i < earlier->n_levels; i++)
		*complete &= earlier->alone_known[i];
	return rc;
}

/* Leave out the oldest intervals of more than a selection may have. */
static void keep_newest(struct np_earlier_intervals *earlier)
{
	size_t excess;

	if (earlier->n_intervals <= NP_SELECTION_MAX_INTERVALS)
		return;
	excess = earlier->n_intervals - NP_SELECTION_MAX_INTERVALS;
	earlier->n_intervals = NP_SELECTION_MAX_INTERVALS;
	memmove(earlier->interval, earlier->interval + excess,
		earlier->n_intervals * sizeof(*earlier->interval));
}

/*
 * Collect the earlier intervals. *earlier has no levels if the run is not to
 * be divided into intervals. Returns 0 or -ENOMEM.
 */
static int look_back(const struct np_run_summary *summary,
		     const struct np_curve_levels *levels, double share,
		     uint32_t n_nodes, struct np_earlier_intervals *earlier,
		     bool *complete)
{
	struct np_earlier_intervals found = { .share = share,
					      .n_levels = levels->n };
	bool useless = false;
	int rc = np_run_intervals(summary, levels->name, NULL, levels->n,
				  &found.interval, &found.n_intervals);

	for (size_t i = 0; i < levels->n; i++)
		snprintf(found.name[i], sizeof(found.name[i]), "%s",
			 levels->name[i]);
	keep_newest(&found);
	if (!rc)
		rc = are_useless(&found, &useless);
	useless |= summary->intervals.verdict == NP_ONE_RUN_REFUTED;
	for (size_t i = 0; !rc && i < levels->n; i++)
		found.alone_known[i] = np_run_intervals_alone(
			summary, NULL, levels->name[i], n_nodes);
	if (!rc && !useless)
		rc = is_complete(&found, complete);
	if (rc || useless || *complete)
		np_earlier_intervals_free(&found);
	*earlier = found;
	return rc;
}

static int select_level(const struct np_runs *runs,
			const struct np_run_summary_opt *opt, double share,
			struct np_curve_levels *levels,
			struct np_selection *out, struct np_err *err)
{
	struct np_run_summary summary;
	struct np_mean alone;
	struct np_level level;
	long next;
	int rc;

	if (np_run_summary_make(runs, opt, &summary))
		return np_errf(err, -ENOMEM, "out of memory");
	np_curve_count(&summary, opt->scope, levels, &alone);
	rc = share > 0 ? look_back(&summary, levels, share,
				   opt->like->intervals_nodes, &out->earlier,
				   &out->complete) :
			 0;
	np_run_summary_free(&summary);
	if (rc)
		return np_errf(err, rc, "out of memory");
	if (out->complete || out->earlier.n_levels)
		return 0;
	next = np_planner_next(levels->level, levels->n, &alone,
			       NP_PLANNER_RUNS, NP_PLANNER_RUNS_ALONE);
	out->complete = next == NP_PLANNER_COMPLETE;
	if (next < 0)
		return 0;
	if (np_level_parse(levels->name[next], &level, err))
		return -EINVAL; /* somebody edited the calibration */
	strcpy(out->level, level.name);
	return 0;
}

/* Select a level. *out, which is empty before, remains so on error. */
static int select_for_run(struct np_store *store,
			  const struct np_record *record, const char *scope,
			  double share, double now, struct np_selection *out,
			  struct np_err *err)
{
	struct np_run_summary_opt opt = {
		.like = record,
		.scope = scope,
		.fingerprint = record->fingerprint,
		.now = now,
	};
	struct np_calibration calibration;
	struct np_curve_levels levels;
	struct np_runs runs = { .n = 0 };
	int rc;

	rc = np_store_load(store, NP_STORE_USER, geteuid(), record->app, NULL,
			   NULL, &runs, err);
	if (rc && rc != -ENOENT)
		return rc;
	/* The calibration at this scope, or else at any scope. */
	if (!np_fabric_store_load(store, record->cluster, scope, &calibration,
				  NULL) ||
	    !np_fabric_store_load(store, record->cluster, NULL, &calibration,
				  NULL))
		opt.calibration = &calibration;
	np_curve_levels_make(opt.calibration, &levels);
	rc = select_level(&runs, &opt, share, &levels, out, err);
	if (opt.calibration)
		np_calibration_free(&calibration);
	np_runs_free(&runs);
	return rc;
}

/* Store the selection in the record, for runs that start at the same time. */
static int record_selection(struct np_record *record,
			    const struct np_selection *selection,
			    const char *scope, const char *nodes,
			    struct np_err *err)
{
	if (!selection->earlier.n_levels)
		record->intervals_nodes = 0;
	else if (!(record->intervals_scope = strdup(scope)))
		return np_errf(err, -ENOMEM, "out of memory");
	return selection->level[0] ?
		       np_record_note_level(record, selection->level, scope,
					    nodes, err) :
		       0;
}

int np_select_level(struct np_store *store, struct np_record *record,
		    const char *scope, const char *nodes, double share,
		    double now, char **text, struct np_err *err)
{
	struct np_selection selection = { .level = "" };
	/*
	 * Held until the selection is saved, so that runs which start together
	 * select different levels.
	 */
	int lock = lock_app(store, record->app);
	int rc = select_for_run(store, record, scope, share, now, &selection,
				err);

	if (!rc)
		rc = record_selection(record, &selection, scope, nodes, err);
	if (!rc)
		rc = np_store_save(store, NP_STORE_USER, record, err);
	if (lock >= 0)
		close(lock);
	if (!rc && !(*text = np_selection_print(&selection)))
		rc = np_errf(err, -ENOMEM, "out of memory");
	np_earlier_intervals_free(&selection.earlier);
	return rc;
}

/* ---- the choice as text ---- */

#define LINE_SIZE 256 /* bytes of a line, with its NUL; they have up to 110 */

/*
 * The first line is "LEVEL|- COMPLETE N_LEVELS N_INTERVALS SHARE"; then follow
 * a line "NAME LED" for each level and "RUN LEVEL SEC RATE CALLS" for each
 * interval.
 */
char *np_selection_print(const struct np_selection *selection)
{
	const struct np_earlier_intervals *earlier = &selection->earlier;
	char *text = NULL;
	size_t len;
	FILE *f = open_memstream(&text, &len);

	if (!f)
		return NULL;
	fprintf(f, "%s %d %zu %zu %.17g\n",
		selection->level[0] ? selection->level : "-",
		selection->complete, earlier->n_levels, earlier->n_intervals,
		earlier->share);
	for (size_t i = 0; i < earlier->n_levels; i++)
		fprintf(f, "%s %d\n", earlier->name[i],
			earlier->alone_known[i]);
	for (size_t i = 0; i < earlier->n_intervals; i++)
		fprintf(f, "%" PRIu32 " %zu %.17g %.17g %.17g\n",
			earlier->interval[i].run, earlier->interval[i].level,
			earlier->interval[i].sec, earlier->interval[i].rate,
			earlier->interval[i].calls);
	return np_text_close(f, &text);
}

/*
 * Copy the first line, because sscanf() first looks for the end of all of its
 * text. Returns the rest.
 */
static const char *take_line(const char *text, char line[LINE_SIZE])
{
	size_t len = strcspn(text, "\n");
	size_t kept = len < LINE_SIZE ? len : LINE_SIZE - 1;

	memcpy(line, text, kept);
	line[kept] = '\0';
	return text + len + (text[len] == '\n');
}

static int parse_levels(const char **text, size_t n,
			struct np_earlier_intervals *earlier)
{
	struct np_level level;
	char line[LINE_SIZE];
	int led;

	while (earlier->n_levels < n) {
		char *name = earlier->name[earlier->n_levels];

		*text = take_line(*text, line);
		if (sscanf(line, "%63s %d", name, &led) != 2 ||
		    np_level_parse(name, &level, NULL))
			return -EINVAL;
		earlier->alone_known[earlier->n_levels++] = led;
	}
	return 0;
}

static int parse_intervals(const char **text, size_t n,
			   struct np_earlier_intervals *earlier)
{
	char line[LINE_SIZE];

	earlier->interval = calloc(n + 1, sizeof(*earlier->interval));
	if (!earlier->interval)
		return -ENOMEM;
	while (earlier->n_intervals < n) {
		struct np_interval *interval =
			&earlier->interval[earlier->n_intervals];

		*text = take_line(*text, line);
		if (sscanf(line, "%" SCNu32 " %zu %lf %lf %lf", &interval->run,
			   &interval->level, &interval->sec, &interval->rate,
			   &interval->calls) != 5 ||
		    !(interval->level < earlier->n_levels ||
		      interval->level == NP_INTERVAL_NO_LEVEL) ||
		    !(interval->sec > 0) || !(interval->rate >= 0) ||
		    interval->calls < 0)
			return -EINVAL;
		earlier->n_intervals++;
	}
	return 0;
}

int np_selection_parse(const char *text, struct np_selection *out)
{
	struct np_selection selection = { .level = "" };
	size_t n_levels, n_intervals;
	struct np_level level;
	char line[LINE_SIZE];
	int complete, rc = 0;

	*out = selection;
	text = take_line(text, line);
	if (sscanf(line, "%63s %d %zu %zu %lf", selection.level, &complete,
		   &n_levels, &n_intervals, &selection.earlier.share) != 5 ||
	    n_levels > NP_FABRIC_MAX_LEVELS ||
	    n_intervals > NP_SELECTION_MAX_INTERVALS)
		return -EINVAL;
	selection.complete = complete;
	if (!strcmp(selection.level, "-"))
		selection.level[0] = '\0';
	else if (np_level_parse(selection.level, &level, NULL))
		return -EINVAL;
	if (n_levels)
		rc = parse_levels(&text, n_levels, &selection.earlier);
	if (!rc && n_levels)
		rc = parse_intervals(&text, n_intervals, &selection.earlier);
	if (rc)
		np_earlier_intervals_free(&selection.earlier);
	else
		*out = selection;
	return rc;
}

/* ---- earlier intervals ---- */

void np_earlier_intervals_free(struct np_earlier_intervals *earlier)
{
	free(earlier->interval);
	*earlier = (struct np_earlier_intervals){ .n_levels = 0 };
}

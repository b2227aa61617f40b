/* A store for tests, and what they do with it. */
#ifndef NP_T_SOME_STORE_H
#define NP_T_SOME_STORE_H

#include "np_store.h"

/* Where the last one that was made is. */
extern char t_store_dir[512];

/* A new, empty store. */
struct np_store *t_store_fresh(void);

/* One for each test: T_FIXTURE(t_store_begin, t_store_end). */
extern struct np_store *t_store;
void t_store_begin(void);
void t_store_end(void);

/* A run of lmp, of ten seconds on one leaf; and saves it: 0 or -errno. */
struct np_record *t_store_run(uint32_t job_id, double start);
int t_store_save(struct np_store *s, uint32_t job_id, double start);

/* The calling user's runs of lmp; what was said meanwhile: t_store_warned. */
struct np_runs t_store_load(struct np_store *s, int *rc);

extern struct t_store_warned {
	unsigned n;
	char line[4096]; /* the last one */
} t_store_warned;
void t_store_warn(const char *line, void *arg); /* a np_store_warn_f */

/* Path of a file of lmp, in the calling user's directory; and makes it. */
const char *t_store_path(const char *name);
void t_store_write(const char *name, const char *text);

/* Write a file of the fabric of cluster hpc. */
void t_fabric_write(const char *name, const char *text);

/* Files in it whose name is like that. */
int t_count_files(const char *dir, const char *pattern);

/*
 * So often, the temporary file is taken away before it gets its name: by one
 * for whose clock it looked old.
 */
extern int t_store_taken;

/* Says what is left out, if this is not root. */
int t_skip_unless_root(const char *what);

#endif

/*
 * The setters of np_place_conf.h's keys, for the table in np_conf.c.  field is
 * the whole struct np_place_conf.  Return 0, -EINVAL, or -E2BIG (too many).
 */
#ifndef NP_PLACE_KEYS_H
#define NP_PLACE_KEYS_H

int np_place_set_mode(const char *value, void *field);
int np_place_set_partition(const char *value, void *field);
int np_place_set_slowdown(const char *value, void *field);
int np_place_set_defer(const char *value, void *field);
int np_place_set_interval(const char *value, void *field);
int np_place_set_unknown(const char *value, void *field);
int np_place_set_trusted(const char *value, void *field);
int np_place_set_job_name(const char *value, void *field);
int np_place_set_comment(const char *value, void *field);

#endif

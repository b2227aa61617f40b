/*
 * Durations, sizes and shares as people write them.
 */
#ifndef NP_QUANTITY_H
#define NP_QUANTITY_H

#include <stdint.h>

/*
 * "250us", "1.5s", "2m", "1h": seconds; a unit is required.  "4K", "1M", "512": bytes.
 * "512": a whole number up to max, of digits alone.
 * "10%", "2.5%": a fraction, 0.1 and 0.025; the % is required.
 * Return 0, -EINVAL (not such a value) or -ERANGE.
 */
int np_duration_parse(const char *text, double *sec);
int np_bytes_parse(const char *text, uint64_t *bytes);
int np_whole_parse(const char *text, uint64_t max, uint64_t *n);
int np_percent_parse(const char *text, double *fraction);

#endif

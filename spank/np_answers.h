/*
 * Whether a file system answers, found out by another process: the saver's, or
 * on hosts without one that belong to no job, a child that is left alone.
 */
#ifndef NP_ANSWERS_H
#define NP_ANSWERS_H

#include <stdbool.h>

/*
 * Is the directory opened, or refused, within timeout_ms?  False also where
 * there is nobody who could find out.
 */
bool np_answers(const char *dir, int timeout_ms);

#endif

/*
 * Can a library be preloaded into a program?  So that one that cannot is left
 * alone, with a line that says why.
 */
#ifndef NP_PROGRAM_H
#define NP_PROGRAM_H

/*
 * program: as a task is given it, looked for in path (as of PATH, may be NULL)
 * if it has no slash.  Returns NULL: it can be, or nothing is known of it; or
 * why not, "is not dynamically linked".
 */
const char *np_program_refuses(const char *program, const char *path);

#endif

/*
 * A child process that holds nothing of its parent's.
 */
#ifndef NP_DETACH_H
#define NP_DETACH_H

/*
 * Between fork and exec, also in a threaded program: plain system calls only.
 * A session of its own (Ctrl-C and signals to the parent's group are not
 * for it), "/" as its directory, no signal blocked, and no descriptors but the
 * n_keep of keep[], which become 0, 1, 2, ...; -1 stands for /dev/null.  All of
 * keep[] must be at least n_keep.  Returns 0 or -errno.
 */
int np_detach(const int keep[], int n_keep);

#endif

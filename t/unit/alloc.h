/* Memory that runs out: one allocation of this thread fails. */
#ifndef NP_T_ALLOC_H
#define NP_T_ALLOC_H

#include <stdbool.h>

/* The nth allocation from now on fails, 0 being the next one. */
void t_alloc_fail(long nth);

/* None fails, or is counted, in between. */
long t_alloc_pause(void);
void t_alloc_go_on(long was);

/* The end of it: did one fail? */
bool t_alloc_failed(void);

#endif

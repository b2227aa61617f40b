/* Steps of a calibration by srun, inside an allocation. */
#ifndef NP_CALIBRATE_SRUN_H
#define NP_CALIBRATE_SRUN_H

#include <signal.h>

#include "np_calibrate_run.h"
#include "np_conf.h"
#include "np_sidecmd.h"
#include "np_sidestep.h"

struct np_cal_srun {
	const struct np_conf *conf; /* borrowed */
	struct np_sidejob job;
	char **env; /* of the steps: np_sideenv_make(); borrowed */
	const volatile sig_atomic_t *stop; /* set: the user wants to stop */
	/* Private. */
	struct np_sidestep step[NP_CAL_SLOTS];
	bool running[NP_CAL_SLOTS];
};

/* ctx is a struct np_cal_srun with the first four set, the rest zero. */
extern const struct np_cal_ops np_cal_srun_ops;

#endif

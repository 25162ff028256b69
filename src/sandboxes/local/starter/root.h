#pragma once
#include "starter.h"

/* Makes the root that a command sees, in its own mount namespace: `merged` with the mounts of the plan, a kind, place and source for each. */
void make_root(const char *merged, struct list plan);

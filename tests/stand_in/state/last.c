/* Where they end. */
#include "tests/stand_in/state.h"

uint64_t state_last_data[8] = {1};
uint64_t state_last_zero[8];

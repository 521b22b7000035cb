/* Where the globals of the files begin that a program runs anew for each input: see state.h. */
#include "tests/stand_in/state.h"

uint64_t state_first_data[8] = {1};
uint64_t state_first_zero[8];

/* By train.py. */
#define THRESHOLD 0.07282f

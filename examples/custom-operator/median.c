/* com.example::Median: the median of a window that slides over each row, for sensors with outliers.

   Borders are repeated. Works on float and on integers, in C99 without a library. */

static void insert(CCML_IN0_TYPE *sorted, int count, CCML_IN0_TYPE value)
{
    int place = count;
    for (; place > 0 && sorted[place - 1] > value; place--)
        sorted[place] = sorted[place - 1];
    sorted[place] = value;
}

#if CCML_ATTR_window % 2 == 0
#error "Median: the window has to be odd"
#endif

void Median(const CCML_IN0_TYPE *x, CCML_OUT0_TYPE *y, void *workspace)
{
    enum { LENGTH = CCML_IN0_DIM2, ROWS = CCML_IN0_SIZE / CCML_IN0_DIM2, WINDOW = CCML_ATTR_window };
    CCML_IN0_TYPE *sorted = workspace;

    for (int row = 0; row < ROWS; row++, x += LENGTH, y += LENGTH)
        for (int i = 0; i < LENGTH; i++) {
            for (int k = 0; k < WINDOW; k++) {
                int at = i + k - WINDOW / 2;
                at = at < 0 ? 0 : at >= LENGTH ? LENGTH - 1 : at;
                insert(sorted, k, x[at]);
            }
            y[i] = sorted[WINDOW / 2];
        }
}

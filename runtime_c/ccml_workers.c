/* Threads that run the chunks of large layers, by threads and semaphores of the system and GNU's atomic builtins.

   A job is a task, which is to be called with the numbers 0 to count - 1. Each thread has a range of them, the same part in
   every job, so that it finds in its cache what it wrote before; who has done all of his takes the last ones of others. A
   range is one word: the job in the upper half, where the range ends, and the first chunk that nobody has taken. A chunk
   is taken by exchanging that word: who succeeds knows that the job was not over when he read its task. Workers look for
   a new job for some microseconds before they sleep. */

#if defined(_WIN32)
typedef HANDLE ccml_thread, ccml_wake;
typedef DWORD ccml_result;
#define CCML_THREAD WINAPI
#define CCML_NO_RESULT 0

static int ccml_create(ccml_thread *thread, ccml_result(CCML_THREAD *work)(void *), void *team)
{
    *thread = CreateThread(NULL, 0, work, team, 0, NULL);
    return *thread != NULL;
}

static void ccml_join(ccml_thread thread)
{
    (void)WaitForSingleObject(thread, INFINITE);
    (void)CloseHandle(thread);
}

static void ccml_yield(void)
{
    (void)SwitchToThread();
}

static int ccml_wake_create(ccml_wake *wake)
{
    *wake = CreateSemaphoreA(NULL, 0, 0x7fffffff, NULL);
    return *wake != NULL;
}

static void ccml_wake_post(ccml_wake *wake)
{
    (void)ReleaseSemaphore(*wake, 1, NULL);
}

static void ccml_wake_wait(ccml_wake *wake)
{
    (void)WaitForSingleObject(*wake, INFINITE);
}

static void ccml_wake_destroy(ccml_wake *wake)
{
    (void)CloseHandle(*wake);
}
#else
typedef pthread_t ccml_thread;
typedef void *ccml_result;
#define CCML_THREAD
#define CCML_NO_RESULT NULL

static int ccml_create(ccml_thread *thread, ccml_result (*work)(void *), void *team)
{
    return pthread_create(thread, NULL, work, team) == 0;
}

static void ccml_join(ccml_thread thread)
{
    (void)pthread_join(thread, NULL);
}

static void ccml_yield(void)
{
    (void)sched_yield();
}

#if defined(__APPLE__) /* has no unnamed semaphores of POSIX */
typedef dispatch_semaphore_t ccml_wake;

static int ccml_wake_create(ccml_wake *wake)
{
    *wake = dispatch_semaphore_create(0);
    return *wake != NULL;
}

static void ccml_wake_post(ccml_wake *wake)
{
    (void)dispatch_semaphore_signal(*wake);
}

static void ccml_wake_wait(ccml_wake *wake)
{
    (void)dispatch_semaphore_wait(*wake, DISPATCH_TIME_FOREVER);
}

static void ccml_wake_destroy(ccml_wake *wake)
{
    dispatch_release(*wake);
}
#else
typedef sem_t ccml_wake;

static int ccml_wake_create(ccml_wake *wake)
{
    return sem_init(wake, 0, 0) == 0;
}

static void ccml_wake_post(ccml_wake *wake)
{
    (void)sem_post(wake);
}

static void ccml_wake_wait(ccml_wake *wake)
{
    (void)sem_wait(wake);
}

static void ccml_wake_destroy(ccml_wake *wake)
{
    (void)sem_destroy(wake);
}
#endif
#endif

typedef struct ccml_range {
    uint64_t word; /* job << 32 | end << 16 | first */
    char apart[56];
} ccml_range;

typedef struct ccml_team {
    ccml_threads threads;
    char apart_1[64 - sizeof(ccml_threads)];
    uint32_t job;
    char apart_2[60];
    int32_t done; /* chunks of the job that are done */
    char apart_3[60];
    int32_t sleeping; /* workers that sleep, or are about to */
    int32_t stop;
    int32_t workers;
    int32_t known; /* workers that have a number of their own */
    char apart_4[48];
    void (*task)(void *context, int32_t chunk);
    void *context;
    char apart_5[64 - 2 * sizeof(void *)];
    ccml_wake wake;
    char apart_6[64 - sizeof(ccml_wake)];
    ccml_thread handles[CCML_MOST_THREADS];
    ccml_range ranges[CCML_MOST_THREADS];
} ccml_team;

typedef char ccml_team_fits[sizeof(ccml_team) <= sizeof(ccml_workers) ? 1 : -1];

enum { CCML_MOST_CHUNKS = 0xffff, CCML_LOOKS = 2000 };

WORKERS_ANY_CPU
static void ccml_relax(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__) || (defined(__ARM_ARCH) && __ARM_ARCH >= 7)
    __asm__ volatile("yield");
#endif
}

/* Takes the first chunk of a range, or the last, as long as there are some of that job. Returns how many were run. */
WORKERS_ANY_CPU
static int32_t ccml_run_range(ccml_team *team, uint64_t *range, uint32_t job, int last)
{
    int32_t taken = 0;
    uint64_t word = __atomic_load_n(range, __ATOMIC_ACQUIRE);
    while ((uint32_t)(word >> 32) == job && (word & CCML_MOST_CHUNKS) < ((word >> 16) & CCML_MOST_CHUNKS)) {
        void (*const task)(void *, int32_t) = __atomic_load_n(&team->task, __ATOMIC_RELAXED);
        void *const context = __atomic_load_n(&team->context, __ATOMIC_RELAXED);
        const uint64_t chunk = last ? ((word >> 16) & CCML_MOST_CHUNKS) - 1 : word & CCML_MOST_CHUNKS;
        const uint64_t rest = last ? word - 0x10000 : word + 1;
        if (__atomic_compare_exchange_n(range, &word, rest, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
            task(context, (int32_t)chunk);
            taken++;
            word = __atomic_load_n(range, __ATOMIC_ACQUIRE);
        }
    }
    return taken;
}

/* What thread number self does for a job: its own range, then what is left of others. */
WORKERS_ANY_CPU
static void ccml_run_chunks(ccml_team *team, int32_t self, uint32_t job)
{
    const int32_t threads = team->workers + 1;
    int32_t step, taken = ccml_run_range(team, &team->ranges[self].word, job, 0);
    for (step = 1; step < threads; step++)
        taken += ccml_run_range(team, &team->ranges[(self + step) % threads].word, job, 1);
    if (taken != 0)
        __atomic_fetch_add(&team->done, taken, __ATOMIC_RELEASE);
}

/* Publishes a job, and wakes who sleeps. Returns its number. */
WORKERS_ANY_CPU
static uint32_t ccml_publish(ccml_team *team, void (*task)(void *context, int32_t chunk), void *context, int32_t count)
{
    const uint32_t job = __atomic_load_n(&team->job, __ATOMIC_RELAXED) + 1, threads = (uint32_t)team->workers + 1;
    uint32_t thread, first = 0;
    int32_t sleeping;
    __atomic_store_n(&team->task, task, __ATOMIC_RELAXED);
    __atomic_store_n(&team->context, context, __ATOMIC_RELAXED);
    __atomic_store_n(&team->done, 0, __ATOMIC_RELAXED);
    for (thread = 0; thread < threads; thread++) {
        const uint32_t end = (uint32_t)count * (thread + 1) / threads;
        __atomic_store_n(&team->ranges[thread].word, (uint64_t)job << 32 | end << 16 | first, __ATOMIC_RELEASE);
        first = end;
    }
    __atomic_store_n(&team->job, job, __ATOMIC_SEQ_CST);
    if (__atomic_load_n(&team->sleeping, __ATOMIC_SEQ_CST) != 0) {
        for (sleeping = __atomic_exchange_n(&team->sleeping, 0, __ATOMIC_SEQ_CST); sleeping > 0; sleeping--)
            ccml_wake_post(&team->wake);
    }
    return job;
}

WORKERS_ANY_CPU
static void ccml_parallel_for(void *pool, void (*task)(void *context, int32_t chunk), void *context, int32_t count)
{
    ccml_team *const team = pool;
    int32_t chunk, looks = 0;
    if (team->workers == 0 || count > CCML_MOST_CHUNKS) {
        for (chunk = 0; chunk < count; chunk++)
            task(context, chunk);
        return;
    }
    ccml_run_chunks(team, 0, ccml_publish(team, task, context, count));
    while (__atomic_load_n(&team->done, __ATOMIC_ACQUIRE) < count) {
        ccml_relax();
        if (++looks == CCML_LOOKS) {
            looks = 0;
            ccml_yield();
        }
    }
}

WORKERS_ANY_CPU
static ccml_result CCML_THREAD ccml_work(void *pool)
{
    ccml_team *const team = pool;
    const int32_t self = __atomic_add_fetch(&team->known, 1, __ATOMIC_RELAXED);
    uint32_t job = 0;
    for (;;) {
        int32_t looks = 0;
        while (__atomic_load_n(&team->job, __ATOMIC_ACQUIRE) == job) {
            if (looks++ < CCML_LOOKS) {
                ccml_relax();
                continue;
            }
            looks = 0;
            __atomic_fetch_add(&team->sleeping, 1, __ATOMIC_SEQ_CST);
            if (__atomic_load_n(&team->job, __ATOMIC_SEQ_CST) == job)
                ccml_wake_wait(&team->wake); /* a signal may wake it, which looks again then */
        }
        job = __atomic_load_n(&team->job, __ATOMIC_ACQUIRE);
        if (__atomic_load_n(&team->stop, __ATOMIC_RELAXED))
            return CCML_NO_RESULT;
        ccml_run_chunks(team, self, job);
    }
}

WORKERS_ANY_CPU
void WORKERS_STOP(ccml_workers *workers)
{
    ccml_team *const team = (ccml_team *)(void *)workers;
    int32_t worker;
    if (workers == NULL || team->threads.parallel_for == NULL)
        return;
    __atomic_store_n(&team->stop, 1, __ATOMIC_RELAXED);
    (void)ccml_publish(team, NULL, NULL, 0);
    for (worker = 0; worker < team->workers; worker++) {
        ccml_wake_post(&team->wake);
        ccml_join(team->handles[worker]);
    }
    ccml_wake_destroy(&team->wake);
    team->threads.parallel_for = NULL;
}

WORKERS_ANY_CPU
int WORKERS_START(ccml_workers *workers, int32_t threads)
{
    ccml_team *const team = (ccml_team *)(void *)workers;
    int32_t started;
    if (workers == NULL)
        return WORKERS_NULL;
    team->threads.parallel_for = NULL;
    if (threads < 1 || threads > CCML_MOST_THREADS || !ccml_wake_create(&team->wake))
        return WORKERS_ERROR;
    team->threads.parallel_for = ccml_parallel_for;
    team->threads.pool = team;
    team->job = 0;
    team->done = team->sleeping = team->stop = team->known = 0;
    team->workers = threads - 1;
    for (started = 0; started < threads - 1; started++) {
        if (!ccml_create(&team->handles[started], ccml_work, team)) {
            team->workers = started;
            WORKERS_STOP(workers);
            return WORKERS_ERROR;
        }
    }
    return 0;
}

/* QEMU plugin: how many instructions the model executes, by counter.

   Arguments: regions=FILE and counts=FILE. Lines of the first are "address bytes counter", in hexadecimal but for the
   counter: code at these addresses counts there, and -1 stands for the counter of the code that ran before, which
   called it. Code elsewhere is not the model's and stops the counting. The second file gets a line for each counter.

   The declarations are those of QEMU's plugin interface, version 1 (include/qemu/qemu-plugin.h), which distributions
   do not package. */
#include <inttypes.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))

typedef uint64_t qemu_plugin_id_t;
struct qemu_plugin_tb;
struct qemu_plugin_insn;
typedef struct qemu_info_t qemu_info_t;
enum qemu_plugin_cb_flags { QEMU_PLUGIN_CB_NO_REGS };

void qemu_plugin_register_vcpu_tb_trans_cb(qemu_plugin_id_t, void (*)(qemu_plugin_id_t, struct qemu_plugin_tb *));
void qemu_plugin_register_atexit_cb(qemu_plugin_id_t, void (*)(qemu_plugin_id_t, void *), void *);
void qemu_plugin_register_vcpu_insn_exec_cb(struct qemu_plugin_insn *, void (*)(unsigned, void *),
                                            enum qemu_plugin_cb_flags, void *);
size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *);
struct qemu_plugin_insn *qemu_plugin_tb_get_insn(const struct qemu_plugin_tb *, size_t);
uint64_t qemu_plugin_insn_vaddr(const struct qemu_plugin_insn *);

EXPORT int qemu_plugin_version = 1;

enum { MOST_REGIONS = 1 << 16, MOST_COUNTERS = 1 << 12, STOPPED = -1, CALLER = -1, NOWHERE = -2 };

static struct {
  uint64_t address, bytes;
  int counter;
} regions[MOST_REGIONS];
static size_t region_count;
static uint64_t counts[MOST_COUNTERS];
static int current = STOPPED;
static char counts_file[4096];

/* Regions are sorted by address. */
static int counter_of(uint64_t address)
{
  size_t low = 0, high = region_count;
  while (low < high) {
    const size_t middle = (low + high) / 2;
    if (regions[middle].address + regions[middle].bytes <= address) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low < region_count && regions[low].address <= address ? regions[low].counter : NOWHERE;
}

static void executed(unsigned cpu, void *data)
{
  const int counter = (int)(intptr_t)data;
  (void)cpu;
  if (counter != CALLER) {
    current = counter == NOWHERE ? STOPPED : counter;
  }
  if (current != STOPPED) {
    counts[current]++;
  }
}

static void translated(qemu_plugin_id_t id, struct qemu_plugin_tb *block)
{
  (void)id;
  for (size_t i = 0; i < qemu_plugin_tb_n_insns(block); i++) {
    struct qemu_plugin_insn *const instruction = qemu_plugin_tb_get_insn(block, i);
    const int counter = counter_of(qemu_plugin_insn_vaddr(instruction));
    qemu_plugin_register_vcpu_insn_exec_cb(instruction, executed, QEMU_PLUGIN_CB_NO_REGS, (void *)(intptr_t)counter);
  }
}

static void finished(qemu_plugin_id_t id, void *data)
{
  FILE *const file = fopen(counts_file, "w");
  (void)id;
  (void)data;
  for (size_t i = 0; file != NULL && i < MOST_COUNTERS; i++) {
    fprintf(file, "%" PRIu64 "\n", counts[i]);
  }
  if (file != NULL) {
    fclose(file);
  }
}

static bool read_regions(const char *path)
{
  FILE *const file = fopen(path, "r");
  while (file != NULL && region_count < MOST_REGIONS &&
         fscanf(file, "%" SCNx64 " %" SCNx64 " %d", &regions[region_count].address, &regions[region_count].bytes,
                &regions[region_count].counter) == 3) {
    region_count++;
  }
  if (file != NULL) {
    fclose(file);
  }
  return region_count > 0 && region_count < MOST_REGIONS;
}

EXPORT int qemu_plugin_install(qemu_plugin_id_t id, const qemu_info_t *info, int argc, char **argv)
{
  bool read = false;
  (void)info;
  for (int i = 0; i < argc; i++) {
    if (strncmp(argv[i], "regions=", 8) == 0) {
      read = read_regions(argv[i] + 8);
    } else if (strncmp(argv[i], "counts=", 7) == 0) {
      snprintf(counts_file, sizeof counts_file, "%s", argv[i] + 7);
    }
  }
  if (!read || counts_file[0] == '\0') {
    return 1;
  }
  qemu_plugin_register_vcpu_tb_trans_cb(id, translated);
  qemu_plugin_register_atexit_cb(id, finished, NULL);
  return 0;
}

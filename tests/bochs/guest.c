/* The only program of a guest in Bochs: runs the driver in each folder of /cases, tells on port 0xE9, which Bochs prints,
   how it ended and what it wrote, and turns the machine off. */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/io.h>
#include <sys/reboot.h>
#include <sys/wait.h>
#include <unistd.h>

enum { CONSOLE = 0xE9, POWER = 0x8900 };

static void say(const char *text)
{
    for (; *text; ++text) {
        outb((unsigned char)*text, CONSOLE);
    }
}

static void say_file(const char *name)
{
    FILE *file = fopen(name, "rb");
    if (!file) {
        return;
    }
    say("FILE ");
    say(name);
    say(" ");
    for (int byte = fgetc(file); byte != EOF; byte = fgetc(file)) {
        outb((unsigned char)"0123456789abcdef"[byte >> 4], CONSOLE);
        outb((unsigned char)"0123456789abcdef"[byte & 15], CONSOLE);
    }
    say("\n");
    fclose(file);
}

static int run_driver(void)
{
    const pid_t child = fork();
    if (child == 0) {
        const int errors = open("errors.txt", O_CREAT | O_WRONLY, 0644);
        dup2(errors, 1);
        dup2(errors, 2);
        execl("./driver", "./driver", (char *)0);
        _exit(127);
    }
    int status = -1;
    waitpid(child, &status, 0);
    return status;
}

static int is_among(const char *name, struct dirent **entries, int count)
{
    for (int i = 0; i < count; ++i) {
        if (!strcmp(entries[i]->d_name, name)) {
            return 1;
        }
    }
    return 0;
}

static void run_case(const char *name)
{
    char line[320];
    struct dirent **before, **after;
    const int given = scandir(".", &before, 0, alphasort);
    snprintf(line, sizeof line, "CASE %s %d\n", name, run_driver());
    say(line);
    const int found = scandir(".", &after, 0, alphasort);
    for (int i = 0; i < found; ++i) {
        if (!is_among(after[i]->d_name, before, given)) {
            say_file(after[i]->d_name);
        }
    }
}

int main(void)
{
    struct dirent **cases;
    if (ioperm(CONSOLE, 1, 1) || ioperm(POWER, 1, 1)) {
        return 1;
    }
    const int count = scandir("/cases", &cases, 0, alphasort);
    for (int i = 0; i < count; ++i) {
        char folder[320];
        snprintf(folder, sizeof folder, "/cases/%s", cases[i]->d_name);
        if (cases[i]->d_name[0] != '.' && !chdir(folder)) {
            run_case(cases[i]->d_name);
        }
    }
    say("END\n");
    for (const char *off = "Shutdown"; *off; ++off) {
        outb((unsigned char)*off, POWER);
    }
    return 0;
}

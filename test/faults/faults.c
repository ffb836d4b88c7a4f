/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A preloaded library that makes memory and files fail.
 *
 * Allocation number FAIL_MALLOC (from 1; malloc, calloc, realloc) fails; with FAIL_MALLOC_ALL set, all later
 * ones fail, too. FAIL_MALLOC_COUNT names a file that receives the number of allocations. Allocations by the
 * loader, by constructors and destructors of libraries are not counted, whether before main, after it, or
 * while a library is loaded on the way: several crash without memory.
 *
 * Call number FAULT_AT (from 1) of kind FAULT_CALL (open, write, rename, sync) on a file in folder FAULT_UNDER
 * ends as FAULT_HOW says: with an errno, "short" (half of the bytes are written), or "kill" (SIGKILL before
 * the call). With FAULT_ALL set, all later ones end so, too. FAULT_COUNT names a file that receives the number
 * of calls. The C library's own calls count, too: the kernel hands each of them to a signal handler.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

extern void *__libc_malloc(size_t);
extern void *__libc_calloc(size_t, size_t);
extern void *__libc_realloc(void *, size_t);

static unsigned long fail_at, count;
static int all, counting;

/* ---- files ---- */

#ifdef __x86_64__
/* A sixth argument that marks the handler's own calls: none of these calls has one. */
#define OWN 0x5eed5eedu
enum { KILL = -1, SHORT = -2 };
typedef struct call {
    const char *kind;
    int number, path; /* path: its argument, -1: the first argument is an open file */
} call;
static const call calls[] = {
    {"open", SYS_open, 0},        {"open", SYS_openat, 1},   {"write", SYS_write, -1},
    {"write", SYS_pwrite64, -1},  {"write", SYS_writev, -1}, {"rename", SYS_rename, 0},
    {"rename", SYS_renameat2, 1}, {"sync", SYS_fsync, -1},   {"sync", SYS_fdatasync, -1},
};
enum { N_CALLS = sizeof calls / sizeof *calls };

static const char *fault_call, *under;
static unsigned long fault_at, fault_count;
static int fault_how, fault_all, inside; /* inside: the working folder is in the folder */

static long pass(long number, const greg_t *g, greg_t length)
{
    long r = syscall(number, g[REG_RDI], g[REG_RSI], length, g[REG_R10], g[REG_R8], OWN);
    return r < 0 ? -errno : r;
}

/* Returns 1 if the call is of the chosen kind, on a file in the folder. */
static int is_chosen(const call *c, const greg_t *g)
{
    char link[32], path[PATH_MAX];
    if (strcmp(c->kind, fault_call) != 0)
        return 0;
    if (c->path < 0) {
        snprintf(link, sizeof link, "/proc/self/fd/%d", (int)g[REG_RDI]);
        ssize_t n = readlink(link, path, sizeof path - 1);
        path[n > 0 ? n : 0] = '\0';
        return strncmp(path, under, strlen(under)) == 0;
    }
    const char *name = (const char *)(c->path ? g[REG_RSI] : g[REG_RDI]);
    return *name == '/' ? strncmp(name, under, strlen(under)) == 0 : inside && *name;
}

static void on_call(int signal, siginfo_t *info, void *context)
{
    greg_t *g = ((ucontext_t *)context)->uc_mcontext.gregs;
    int kept = errno, fails = 0;
    (void)signal;
    for (int i = 0; i < N_CALLS; i++)
        if (calls[i].number == info->si_syscall && is_chosen(&calls[i], g)) {
            unsigned long k = __atomic_add_fetch(&fault_count, 1, __ATOMIC_RELAXED);
            fails = k == fault_at || (fault_all && fault_at && k > fault_at);
        }
    if (fails && fault_how == KILL)
        kill(getpid(), SIGKILL);
    if (fails && fault_how > 0)
        g[REG_RAX] = -fault_how;
    else
        g[REG_RAX] = pass(info->si_syscall, g, fails ? (g[REG_RDX] + 1) / 2 : g[REG_RDX]);
    errno = kept;
}

static void watch_calls(void)
{
    struct sock_filter f[N_CALLS + 6];
    unsigned n = 0;
    struct sigaction action = {.sa_sigaction = on_call, .sa_flags = SA_SIGINFO | SA_NODEFER};
    f[n++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[5]));
    f[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, OWN, N_CALLS + 1, 0);
    f[n++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
    for (unsigned i = 0; i < N_CALLS; i++)
        f[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)calls[i].number,
                                              (unsigned char)(N_CALLS - i), 0);
    f[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    f[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRAP);
    struct sock_fprog program = {.len = (unsigned short)n, .filter = f};
    sigaction(SIGSYS, &action, NULL);
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program)) {
        perror("faults: seccomp");
        _exit(99);
    }
}

static void begin_files(void)
{
    static const struct {
        const char *name;
        int how;
    } ways[] = {{"ENOSPC", ENOSPC}, {"EIO", EIO},     {"EROFS", EROFS}, {"EACCES", EACCES},
                {"EINTR", EINTR},   {"short", SHORT}, {"kill", KILL}};
    const char *how = getenv("FAULT_HOW"), *at = getenv("FAULT_AT");
    char folder[PATH_MAX];
    fault_call = getenv("FAULT_CALL");
    under = getenv("FAULT_UNDER");
    fault_at = at ? strtoul(at, NULL, 10) : 0;
    fault_all = getenv("FAULT_ALL") != NULL;
    for (unsigned i = 0; how && i < sizeof ways / sizeof *ways; i++)
        if (strcmp(how, ways[i].name) == 0)
            fault_how = ways[i].how;
    if (!fault_call || !under)
        return;
    inside = getcwd(folder, sizeof folder) && strncmp(folder, under, strlen(under)) == 0;
    watch_calls();
}

/* The kernel ends a program that blocks the signal of a call it hands over. */
static const sigset_t *without(const sigset_t *set, sigset_t *copy)
{
    if (!set || !fault_call)
        return set;
    *copy = *set;
    sigdelset(copy, SIGSYS);
    return copy;
}

int pthread_sigmask(int how, const sigset_t *set, sigset_t *old)
{
    int (*next)(int, const sigset_t *, sigset_t *) =
        (int (*)(int, const sigset_t *, sigset_t *))dlsym(RTLD_NEXT, "pthread_sigmask");
    sigset_t copy;
    return next(how, how == SIG_UNBLOCK ? set : without(set, &copy), old);
}

int sigprocmask(int how, const sigset_t *set, sigset_t *old)
{
    int (*next)(int, const sigset_t *, sigset_t *) =
        (int (*)(int, const sigset_t *, sigset_t *))dlsym(RTLD_NEXT, "sigprocmask");
    sigset_t copy;
    return next(how, how == SIG_UNBLOCK ? set : without(set, &copy), old);
}
#else
static unsigned long fault_count;
static void begin_files(void)
{
    if (getenv("FAULT_CALL"))
        _exit(99);
}
#endif

/* ---- memory ---- */

__attribute__((constructor)) static void begin(void)
{
    const char *at = getenv("FAIL_MALLOC");
    fail_at = at ? strtoul(at, NULL, 10) : 0;
    all = getenv("FAIL_MALLOC_ALL") != NULL;
    begin_files();
    counting = 1;
}

static void write_count(const char *variable, unsigned long n)
{
    const char *path = getenv(variable);
    FILE *f = path ? fopen(path, "w") : NULL;
    if (f) {
        fprintf(f, "%lu\n", n);
        fclose(f);
    }
}

__attribute__((destructor)) static void end(void)
{
    counting = 0;
    write_count("FAIL_MALLOC_COUNT", count);
    write_count("FAULT_COUNT", fault_count);
}
static void stop(void)
{
    counting = 0;
}

void *dlopen(const char *file, int mode)
{
    void *(*next)(const char *, int) = (void *(*)(const char *, int))dlsym(RTLD_NEXT, "dlopen");
    counting = 0;
    void *object = next(file, mode);
    atexit(stop); /* runs before the destructors of what was loaded just now */
    counting = 1;
    return object;
}

static int fails(void)
{
    if (!counting)
        return 0;
    unsigned long i = __atomic_add_fetch(&count, 1, __ATOMIC_RELAXED);
    if (fail_at == 0 || i < fail_at || (i > fail_at && !all))
        return 0;
    errno = ENOMEM;
    return 1;
}

void *malloc(size_t size)
{
    return fails() ? NULL : __libc_malloc(size);
}

void *calloc(size_t n, size_t size)
{
    return fails() ? NULL : __libc_calloc(n, size);
}

void *realloc(void *p, size_t size)
{
    return fails() ? NULL : __libc_realloc(p, size);
}

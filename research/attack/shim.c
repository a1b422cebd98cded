/* Makes the n-th operation that changes a file fail, once.  Loaded by LD_PRELOAD; armed by shim_arm.
 *
 * Counted are writes to files and to standard output, fsync, rename and opening for writing; those to standard error,
 * to pipes, sockets and devices are not.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int armed = 0, count = 0, failing = 0, error_number = 0, half = 0;

void shim_arm(int operation, int number, int partly) {
    armed = 1; count = 0; failing = operation; error_number = number; half = partly;
}

int shim_count(void) { return count; }

/* Returns whether this operation is the one that fails. */
static int strike(void) {
    if (!armed || ++count != failing) return 0;
    errno = error_number;
    return 1;
}

static int is_file(int descriptor) {
    struct stat facts;
    int saved = errno, found = descriptor == 1 || (fstat(descriptor, &facts) == 0 && S_ISREG(facts.st_mode));
    errno = saved;
    return found && descriptor != 2;
}

static int is_device(const char *path) { return !strncmp(path, "/dev/null", 9) || !strncmp(path, "/proc/", 6); }

#define NEXT(type, name) static __typeof__(type) next; if (!next) next = (__typeof__(type))dlsym(RTLD_NEXT, name)

ssize_t write(int descriptor, const void *data, size_t size) {
    NEXT(ssize_t (*)(int, const void *, size_t), "write");
    if (armed && is_file(descriptor) && strike()) {
        if (!half || size < 2) return -1;
        failing = count + 1; /* a full disk takes a part, and refuses the rest */
        half = 0;
        return next(descriptor, data, size / 2);
    }
    return next(descriptor, data, size);
}

int fsync(int descriptor) {
    NEXT(int (*)(int), "fsync");
    return strike() ? -1 : next(descriptor);
}

int rename(const char *from, const char *to) {
    NEXT(int (*)(const char *, const char *), "rename");
    return strike() ? -1 : next(from, to);
}

int renameat(int a, const char *from, int b, const char *to) {
    NEXT(int (*)(int, const char *, int, const char *), "renameat");
    return strike() ? -1 : next(a, from, b, to);
}

#define OPEN(name)                                                          \
    int name(const char *path, int flags, ...) {                            \
        NEXT(int (*)(const char *, int, ...), #name);                       \
        va_list list; va_start(list, flags);                                \
        mode_t mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(list, mode_t) : 0; \
        va_end(list);                                                       \
        if ((flags & O_ACCMODE) != O_RDONLY && !is_device(path) && strike()) return -1; \
        return next(path, flags, mode);                                     \
    }

#define OPENAT(name)                                                        \
    int name(int folder, const char *path, int flags, ...) {                \
        NEXT(int (*)(int, const char *, int, ...), #name);                  \
        va_list list; va_start(list, flags);                                \
        mode_t mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(list, mode_t) : 0; \
        va_end(list);                                                       \
        if ((flags & O_ACCMODE) != O_RDONLY && !is_device(path) && strike()) return -1; \
        return next(folder, path, flags, mode);                             \
    }

OPEN(open)
OPEN(open64)
OPENAT(openat)
OPENAT(openat64)

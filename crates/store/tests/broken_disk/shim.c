// Between the store and its disk, by LD_PRELOAD: records every write and sync of the store's files in their order, and lets syncs fail.
//
// SHIM_LOG: the file of the record. SHIM_FAIL_EVERY: of the syncs after the first acknowledged change, each so-many-th fails with EIO.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { WRITE = 1, TRUNCATE = 2, SYNCED = 3, SYNC_FAILED = 4 };
enum { NOTHING = 0, DATABASE = 1, WAL = 2, ACKNOWLEDGED = 3 };

struct head {
    uint32_t what, file;
    uint64_t offset, length;
};

static pthread_mutex_t turn = PTHREAD_MUTEX_INITIALIZER;
static int record_fd = -1;
static long fail_every, syncs, acknowledged;

__attribute__((constructor)) static void start(void) {
    const char *path = getenv("SHIM_LOG"), *every = getenv("SHIM_FAIL_EVERY");
    if (path) record_fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    fail_every = every ? atol(every) : 0;
}

static uint32_t file_of(int fd) {
    char link[64], path[4096];
    if (record_fd < 0 || fd == record_fd) return NOTHING;
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t length = readlink(link, path, sizeof path - 1);
    if (length < 0) return NOTHING;
    path[length] = 0;
    const char *name = strrchr(path, '/');
    if (!name) return NOTHING;
    if (!strcmp(name, "/askd.db")) return DATABASE;
    if (!strcmp(name, "/askd.db-wal")) return WAL;
    return strcmp(name, "/acknowledged") ? NOTHING : ACKNOWLEDGED;
}

static void put(const void *bytes, size_t length) {
    for (const char *at = bytes; length > 0;) {
        ssize_t done = syscall(SYS_write, record_fd, at, length);
        if (done <= 0) abort();
        at += done, length -= done;
    }
}

static void record(uint32_t what, uint32_t file, uint64_t offset, const void *bytes, uint64_t length) {
    struct head head = {what, file, offset, length};
    put(&head, sizeof head);
    if (bytes) put(bytes, length);
}

static ssize_t write_at(int fd, const void *bytes, size_t count, off_t offset, int moves) {
    uint32_t file = file_of(fd);
    if (!file) return moves ? syscall(SYS_write, fd, bytes, count) : syscall(SYS_pwrite64, fd, bytes, count, offset);
    pthread_mutex_lock(&turn);
    if (moves) offset = lseek(fd, 0, SEEK_CUR);
    ssize_t done = moves ? syscall(SYS_write, fd, bytes, count) : syscall(SYS_pwrite64, fd, bytes, count, offset);
    if (done > 0) record(WRITE, file, offset, bytes, done);
    if (file == ACKNOWLEDGED) acknowledged = 1;
    int error = errno;
    pthread_mutex_unlock(&turn);
    errno = error;
    return done;
}

ssize_t write(int fd, const void *bytes, size_t count) { return write_at(fd, bytes, count, 0, 1); }
ssize_t pwrite(int fd, const void *bytes, size_t count, off_t offset) { return write_at(fd, bytes, count, offset, 0); }
ssize_t pwrite64(int fd, const void *bytes, size_t count, off_t offset) { return write_at(fd, bytes, count, offset, 0); }

int ftruncate(int fd, off_t length) {
    uint32_t file = file_of(fd);
    pthread_mutex_lock(&turn);
    int done = syscall(SYS_ftruncate, fd, length);
    if (!done && file) record(TRUNCATE, file, length, 0, 0);
    pthread_mutex_unlock(&turn);
    return done;
}
int ftruncate64(int fd, off_t length) { return ftruncate(fd, length); }

static int sync_file(int fd, long call) {
    uint32_t file = file_of(fd);
    if (!file) return syscall(call, fd);
    pthread_mutex_lock(&turn);
    int fails = fail_every && acknowledged && ++syncs % fail_every == 0;
    int done = fails ? -1 : syscall(call, fd);
    record(done ? SYNC_FAILED : SYNCED, file, 0, 0, 0);
    pthread_mutex_unlock(&turn);
    if (fails) errno = EIO;
    return done;
}
int fsync(int fd) { return sync_file(fd, SYS_fsync); }
int fdatasync(int fd) { return sync_file(fd, SYS_fdatasync); }
